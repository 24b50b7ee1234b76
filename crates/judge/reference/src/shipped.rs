//! The references that plumb ships: figures that pages printed. Populations that nobody measured are not among them.

use crate::file::{Reference, ReferenceError};

/// All of them, by name. A file is listed here or not read.
pub const SHIPPED: &[(&str, &str)] = &[
    ("app-engine-datastore", include_str!("../references/app-engine-datastore.toml")),
    ("bifferboard-2009", include_str!("../references/bifferboard-2009.toml")),
    ("efs", include_str!("../references/efs.toml")),
    ("iscsi-1mbit", include_str!("../references/iscsi-1mbit.toml")),
    ("iscsi-3mbit", include_str!("../references/iscsi-3mbit.toml")),
    ("languages-2016", include_str!("../references/languages-2016.toml")),
    ("languages-2016-q3", include_str!("../references/languages-2016-q3.toml")),
    ("linode-360-2010", include_str!("../references/linode-360-2010.toml")),
    ("linode-control-2010", include_str!("../references/linode-control-2010.toml")),
    ("luks-ram-disk-2022", include_str!("../references/luks-ram-disk-2022.toml")),
    ("pentium-dual-core-2009", include_str!("../references/pentium-dual-core-2009.toml")),
    ("rrdtool-2010", include_str!("../references/rrdtool-2010.toml")),
];

/// The shipped reference of this name; None if there is none.
///
/// # Errors
/// When its file is faulty, which a test excludes.
#[must_use]
pub fn shipped(name: &str) -> Option<Result<Reference, ReferenceError>> {
    SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, text)| Reference::parse(text))
}
