//! Which one of the machines of its kind this is.

use plumb_model::Host;
use ring::hmac;
use uuid::Uuid;

use crate::root::Root;

/// The application id that separates plumb's hashes of machine ids from those of other programs.
const PLUMB: Uuid = Uuid::from_u128(0x7f0d_5b5e_24c1_4c53_9d3c_5a1e_8f2b_6c47);

/// Where the id is: systemd's file, and D-Bus's if there is none.
const FILES: [&str; 2] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/// The host by its machine id; unknown if it has none, as in most containers.
///
/// The id identifies a machine everywhere and is to be kept confidential (machine-id(5)), so it is hashed
/// as sd_id128_get_machine_app_specific(3) does: HMAC-SHA256 of plumb's id with the machine id as key.
/// `systemd-id128 machine-id --app-specific=7f0d5b5e24c14c539d3c5a1e8f2b6c47` prints the same.
#[must_use]
pub fn host(root: &Root) -> Host {
    let texts = FILES.iter().filter_map(|file| root.text(file));
    // Images of virtual machines are delivered with the word `uninitialized`, or with zeros.
    let mut ids = texts.filter_map(|text| Uuid::try_parse(&text).ok()).filter(|id| !id.is_nil());
    ids.next().map(hashed).unwrap_or_default()
}

fn hashed(id: Uuid) -> Host {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, id.as_bytes()), PLUMB.as_bytes());
    let mut first = [0; 16];
    first.iter_mut().zip(tag.as_ref()).for_each(|(to, byte)| *to = *byte);
    Host::hashed(uuid::Builder::from_random_bytes(first).into_uuid().as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use plumb_model::Host;

    use super::host;
    use crate::root::Root;

    fn of(text: &str) -> Host {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir_all(tree.path().join("etc")).unwrap();
        fs::write(tree.path().join("etc/machine-id"), text).unwrap();
        host(&Root::at(tree.path()))
    }

    #[test]
    fn the_machine_id_is_hashed_as_systemd_does() {
        // systemd-id128 machine-id --app-specific=…, systemd 252, on a host with this id.
        let found = of("4f1c6a9e0b7d43a2b5c8e1f20d937a64\n");
        assert_eq!(found.known(), Some("id1:94ad9ae31a054e90"));
        assert_ne!(found, of("4f1c6a9e0b7d43a2b5c8e1f20d937a65\n"));
    }

    #[test]
    fn what_is_no_machine_id_is_no_host() {
        for text in ["", "\n", "uninitialized\n", "00000000000000000000000000000000\n", "0123\n"] {
            assert_eq!(of(text), Host::default(), "{text:?}");
        }
        assert_eq!(host(&Root::at("/nonexistent")), Host::default());
    }
}
