//! `medium=…+dm-crypt+…`.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use plumb_machine::Root;
use plumb_protocol::StartError;
use plumb_workload_kit::tool::{run, tool};

use crate::building::{Building, failed};
use crate::layer::{AesKey, LayerBase, LayerOption, LayerSurface, MediumLayer};
use crate::needs::{MissingNeed, has_module, no_program};

/// The layer `dm-crypt`: what it lies on, what it gives, and how it is built.
pub const LAYER: MediumLayer = MediumLayer {
    name: "dm-crypt",
    summary: "encrypts the device below with AES-XTS",
    takes: LayerOption::KeySize,
    manual: include_str!("dm_crypt.md"),
    on: LayerBase::Device,
    gives: LayerSurface::Device,
    missing,
    lay,
};

fn missing(root: &Root) -> Option<MissingNeed> {
    let mapper = root.path("/sys/class/misc/device-mapper").exists() || has_module(root, "dm-mod");
    if !mapper {
        let fix = "boot a kernel with CONFIG_DM_CRYPT, or encrypt files instead: ram+ext4+fscrypt, ram+ext4+gocryptfs";
        return Some(MissingNeed::new("this kernel has no device mapper, so no dm-crypt", fix));
    }
    no_program("cryptsetup", "cryptsetup-bin")
}

fn lay(building: &mut Building<'_>, option: &str) -> Result<(), StartError> {
    let bits = AesKey::of_option(option).unwrap_or_default().xts_bits();
    let mut key = vec![0; bits / 8];
    rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| StartError::Failed(format!("can't make a random key: {error}")))?;
    let name = format!("plumb-{}-{}", std::process::id(), building.index);
    let mut open = tool("cryptsetup");
    open.args(["open", "--type", "plain", "--cipher", "aes-xts-plain64"]);
    open.args(["--key-size", &bits.to_string(), "--key-file", "-", "--batch-mode"])
        .arg(&building.surface)
        .arg(&name);
    run(&mut open, &key)?;
    // Held here, and by what is mounted on it: from now on it goes with the last of them, whoever is killed.
    let named = PathBuf::from(format!("/dev/mapper/{name}"));
    let held = device_of(&named).and_then(|node| Ok((File::open(&node)?, node)));
    // This takes the name away at once, and the device when nobody has it open any more.
    let closed = run(tool("cryptsetup").args(["close", "--deferred", &name]), &[]);
    let (device, node) = held.map_err(|error| failed(&named, &error))?;
    building.keep(device);
    closed?;
    building.surface = node;
    Ok(())
}

/// The kernel's own node of a mapping, which stays for as long as the device does.
fn device_of(named: &Path) -> io::Result<PathBuf> {
    let minor = rustix::fs::minor(named.metadata()?.rdev());
    Ok(PathBuf::from(format!("/dev/dm-{minor}")))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::device_of;

    #[test]
    fn a_mapping_is_found_by_its_number() {
        // The fifth of its kind, whatever its kind.
        assert_eq!(device_of(Path::new("/dev/zero")).unwrap(), Path::new("/dev/dm-5"));
        assert!(device_of(Path::new("/dev/no-such-mapping")).is_err());
    }
}
