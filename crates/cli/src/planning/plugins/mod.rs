//! Plug-ins: executables of third parties, named by a `plumb-plugin.toml` on the plug-in path.

pub mod cache;
pub mod manifest;
pub mod rules;
