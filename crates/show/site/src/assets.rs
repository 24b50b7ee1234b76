//! What every page loads: made from `web/` and committed, so that building plumb takes Rust alone.

/// The script, a classic one.
pub const SCRIPT: &[u8] = include_bytes!("../../../../web/dist/plumb.js");
/// The style sheet, for light and dark.
pub const STYLE: &[u8] = include_bytes!("../../../../web/dist/plumb.css");
