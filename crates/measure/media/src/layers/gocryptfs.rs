//! `medium=…+gocryptfs`.

use plumb_protocol::StartError;
use plumb_workload_kit::tool::{run, tool};

use crate::building::{Building, failed};
use crate::layer::{LayerBase, LayerOption, LayerSurface, MediumLayer};
use crate::needs::{no_file, no_program};

/// The layer `gocryptfs`: what it lies on, what it gives, and how it is built.
pub const LAYER: MediumLayer = MediumLayer {
    name: "gocryptfs",
    summary: "encrypts files in user space with AES-256-GCM, through FUSE",
    takes: LayerOption::Nothing,
    manual: include_str!("gocryptfs.md"),
    on: LayerBase::Folder,
    gives: LayerSurface::Folder,
    missing: |root| {
        no_program("gocryptfs", "gocryptfs")
            .or_else(|| no_program("fusermount", "fuse3"))
            .or_else(|| no_file(root, "/dev/fuse", "fuse", "use another layer: ram+ext4+fscrypt"))
    },
    lay,
};

fn lay(building: &mut Building<'_>, _option: &str) -> Result<(), StartError> {
    let keys = building.folder("gocryptfs-keys")?;
    let password = keys.join("password");
    // It protects nothing: what is encrypted is made here and removed.
    std::fs::write(&password, format!("{:032x}\n", building.start.seed))
        .map_err(|error| failed(&password, &error))?;
    let encrypted = building.surface.join("encrypted-files");
    std::fs::create_dir(&encrypted).map_err(|error| failed(&encrypted, &error))?;
    let mut init = tool("gocryptfs");
    init.args(["-init", "-q", "-scryptn", "10", "-passfile"]).arg(&password);
    run(init.arg(&encrypted), &[])?;
    let folder = building.folder("gocryptfs")?;
    let mut serve = tool("gocryptfs");
    serve.args(["-fg", "-q", "-passfile"]).arg(&password).arg(&encrypted).arg(&folder);
    building.serve(&mut serve, folder)
}
