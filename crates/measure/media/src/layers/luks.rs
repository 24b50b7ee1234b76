//! `medium=…+luks+…`.

use std::fs::File;

use plumb_machine::Root;
use plumb_protocol::StartError;
use plumb_workload_kit::loop_device;
use plumb_workload_kit::tool::{run, tool};

use crate::building::{Building, failed};
use crate::layer::{AesKey, LayerBase, LayerOption, LayerSurface, MediumLayer};
use crate::needs::{MissingNeed, no_file, no_program};

/// The layer `luks`: what it lies on, what it gives, and how it is built.
pub const LAYER: MediumLayer = MediumLayer {
    name: "luks",
    summary: "encrypts the device below in user space with LUKS (AES-XTS)",
    takes: LayerOption::KeySize,
    manual: include_str!("luks.md"),
    on: LayerBase::Device,
    gives: LayerSurface::Device,
    missing,
    lay,
};

fn missing(root: &Root) -> Option<MissingNeed> {
    [("cryptsetup", "cryptsetup-bin"), ("nbdkit", "nbdkit"), ("nbdfuse", "libnbd-bin")]
        .into_iter()
        .find_map(|(name, package)| no_program(name, package))
        .or_else(|| no_file(root, "/dev/fuse", "fuse", "use another layer: ram+ext4+fscrypt"))
        .or_else(|| {
            no_file(root, "/dev/loop-control", "loop", "use another layer: zram+ext4+fscrypt")
        })
}

fn lay(building: &mut Building<'_>, option: &str) -> Result<(), StartError> {
    let keys = building.folder("luks-keys")?;
    let passphrase = format!("{:032x}", building.start.seed);
    let file = keys.join("passphrase");
    // It protects nothing: what is encrypted is made here and removed.
    std::fs::write(&file, &passphrase).map_err(|error| failed(&file, &error))?;
    let mut format = tool("cryptsetup");
    format.args(["luksFormat", "--batch-mode", "--type", "luks1", "--cipher", "aes-xts-plain64"]);
    let bits = AesKey::of_option(option).unwrap_or_default().xts_bits().to_string();
    format.args(["--key-size", &bits, "--pbkdf-force-iterations", "1000", "--key-file", "-"]);
    run(format.arg(&building.surface), passphrase.as_bytes())?;

    let socket = keys.join("socket");
    let mut nbdkit = tool("nbdkit");
    nbdkit.args(["--foreground", "--exit-with-parent", "--unix"]).arg(&socket);
    nbdkit.args(["--filter=luks", "file"]).arg(&building.surface);
    nbdkit.arg(format!("passphrase=+{}", file.display()));
    building.daemon(&mut nbdkit, || socket.exists(), "is not listening")?;
    let folder = building.folder("luks")?;
    let mut nbdfuse = tool("nbdfuse");
    nbdfuse.arg(&folder).arg("--unix").arg(&socket);
    building.serve(&mut nbdfuse, folder)?;

    let disk = building.surface.join("nbd");
    let opened = File::options().read(true).write(true).open(&disk);
    let device = opened.and_then(|disk| loop_device::over(&disk));
    let (device, node) = device.map_err(|error| failed(&disk, &error))?;
    building.keep(device);
    building.surface = node;
    Ok(())
}
