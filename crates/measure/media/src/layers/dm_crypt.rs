//! `medium=…+dm-crypt+…`.

use std::fs::File;
use std::path::PathBuf;

use plumb_machine::Root;
use plumb_protocol::StartError;
use plumb_workload_kit::tool::{run, tool};

use crate::building::{Building, failed};
use crate::layer::{Gives, Layer, On, Takes};
use crate::needs::{Missing, has_module, no_program};

/// Bytes of a key of AES-256-XTS.
const KEY: usize = 64;

/// This layer.
pub const LAYER: Layer = Layer {
    name: "dm-crypt",
    summary: "encrypts the device below, AES-256-XTS",
    takes: Takes::Nothing,
    manual: include_str!("dm_crypt.md"),
    on: On::Device,
    gives: Gives::Device,
    missing,
    lay,
};

fn missing(root: &Root) -> Option<Missing> {
    let mapper = root.path("/sys/class/misc/device-mapper").exists() || has_module(root, "dm-mod");
    let no_mapper = || {
        let fix = "boot a kernel with CONFIG_DM_CRYPT, or encrypt above: ram+ext4+fscrypt, ram+ext4+gocryptfs";
        Missing::new("this kernel has no device mapper, so no dm-crypt", fix)
    };
    (!mapper).then(no_mapper).or_else(|| no_program("cryptsetup", "cryptsetup-bin"))
}

fn lay(building: &mut Building<'_>, _option: &str) -> Result<(), StartError> {
    let mut key = [0; KEY];
    rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| StartError::Failed(format!("no random key: {error}")))?;
    let name = format!("plumb-{}-{}", std::process::id(), building.index);
    let mut open = tool("cryptsetup");
    open.args(["open", "--type", "plain", "--cipher", "aes-xts-plain64", "--key-size", "512"]);
    open.args(["--key-file", "-", "--batch-mode"]).arg(&building.surface).arg(&name);
    run(&mut open, &key)?;
    let node = PathBuf::from(format!("/dev/mapper/{name}"));
    // Held here, and by what is mounted on it: from now on it goes with the last of them, whoever is killed.
    let held = File::open(&node).map_err(|error| failed(&node, &error));
    let closed = run(tool("cryptsetup").args(["close", "--deferred", &name]), &[]);
    building.keep(held?);
    closed?;
    building.surface = node;
    Ok(())
}
