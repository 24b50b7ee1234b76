//! A machine of files, for tests that must not depend on this one.

use std::fs;
use std::path::PathBuf;

use crate::common::{ProgramOutput, TestEnvironment, ran};

/// A machine of files below a place, and plumb on it.
pub struct MachineTree<'p> {
    place: &'p TestEnvironment,
    /// The folder with its files.
    pub root: PathBuf,
}

impl<'p> MachineTree<'p> {
    /// With the settings that most tests need.
    pub fn new(place: &'p TestEnvironment) -> Self {
        let tree = Self { place, root: place.root().join("machine") };
        tree.put("proc/sys/kernel/random/boot_id", "5ea1ed\n");
        tree.put("proc/sys/vm/swappiness", "60\n");
        tree.put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
        tree
    }

    /// Writes a file of the machine.
    pub fn put(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// What a file of the machine holds.
    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }

    /// plumb on this machine.
    pub fn plumb(&self, arguments: &str) -> std::process::Command {
        let mut command = self.place.marked(arguments);
        command.env("PLUMB_ROOT", &self.root);
        command
    }

    /// Runs plumb on this machine.
    pub fn run(&self, arguments: &str) -> ProgramOutput {
        ran(&mut self.plumb(arguments)).unwrap()
    }
}
