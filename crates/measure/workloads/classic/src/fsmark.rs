//! `classic.fsmark`: files created by fs_mark.

use std::path::{Path, PathBuf};

use plumb_classics::Format;
use plumb_model::{Better, Description, Metric, Parameter, Ready};
use plumb_protocol::{Failure, Held, Start, StartError};

use plumb_workload_kit::declare::{between, bytes, choice, integer, reported, within};
use plumb_workload_kit::spawn::find_program;

use crate::laid_out;
use crate::named::{ToolNames, value_names};
use crate::tool::{Call, Tool};
use crate::version;

#[derive(Clone)]
pub(crate) struct FsMark;

impl Tool for FsMark {
    fn named(&self) -> ToolNames {
        ToolNames {
            id: "classic.fsmark",
            summary: "fs_mark: creates files and syncs each",
            manual: include_str!("fsmark.md"),
            program: "fs_mark",
            package: "fsmark",
            format: Some(Format::FsMark),
            prints: "rate",
            values: const { &value_names("rate") },
        }
    }

    fn metric(&self) -> Metric {
        reported(
            "rate",
            "files/s",
            Better::Higher,
            "files created per second, all threads together",
        )
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            between(1, 1 << 18, integer("files", "files", 1000, "files per thread (-n)")),
            between(0, 1 << 20, bytes("size", 0, "size of each file (-s)")),
            choice("sync", &["fsync", "none"], "fsync of each file before it is closed (-S)"),
            integer("threads", "threads", 1, "threads (-t)"),
        ]
    }

    fn describe(&self, description: Description) -> Description {
        Description { fixture: Some(Vec::new()), ..description }
    }

    /// It says its version only when it works: on one its own file.
    fn version(&self, path: &Path) -> Result<String, StartError> {
        let folder = FsMarkFolder::create(
            &std::env::temp_dir(),
            &format!("plumb-fsmark-{}", std::process::id()),
        )?;
        let into = format!("--chdir={}", folder.word());
        let program = path.display().to_string();
        let words = [&into, &program, "-d", ".", "-l", "log", "-n", "1", "-s", "0"];
        version::after(&find_program("env")?, &words, "Version ")
    }

    fn call(&self, start: &Start, _version: &str) -> Result<Call, StartError> {
        let sync = if start.text("sync") == "fsync" { "1" } else { "0" };
        let files = start.size("files").to_string();
        let size = start.size("size").to_string();
        let threads = within(start, "threads", 1, 64)?.to_string();
        // Names as long as plumb's.
        let names = ["-p", "16", "-r", "10"];
        let options =
            ["-d", ".", "-l", "log", "-n", &files, "-s", &size, "-t", &threads, "-S", sync];
        let words = options.into_iter().chain(names);
        // It takes no path of 40 bytes or more.
        let folder = Some(laid_out::path(start)?.to_owned());
        Ok(Call { folder, ..Call::with(words) })
    }

    fn prepare(&self, _path: &Path, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        let folder = FsMarkFolder::create(Path::new(&start.dir), "classic-fsmark")?;
        let endpoints = [("file".to_owned(), folder.word())].into();
        Ok((Ready { endpoints, ..Ready::default() }, Box::new(folder)))
    }
}

/// The folder that it works in, with its log. Dropping it removes both.
struct FsMarkFolder(PathBuf);

impl FsMarkFolder {
    fn create(dir: &Path, name: &str) -> Result<Self, StartError> {
        let path = dir.join(name);
        let made = std::fs::create_dir(&path);
        made.map_err(|error| Failure::io(format!("creating {}", path.display()), &error))?;
        Ok(Self(path))
    }

    fn word(&self) -> String {
        self.0.display().to_string()
    }
}

impl Held for FsMarkFolder {
    fn clean(self: Box<Self>) -> Result<(), Failure> {
        let removed = std::fs::remove_dir_all(&self.0);
        removed.map_err(|error| Failure::io(format!("removing {}", self.0.display()), &error))
    }
}

impl Drop for FsMarkFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
