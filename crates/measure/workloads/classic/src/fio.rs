//! `classic.fio`: fio reads blocks at random.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use plumb_classics::Format;
use plumb_model::{Better, Description, Metric, Parameter, Ready};
use plumb_protocol::{Failure, Held, Start, StartError};

use plumb_workload_kit::declare::{bytes, choice, integer, reported, within};

use crate::named::{Named, value_names};
use crate::tool::{Call, Tool};
use crate::version;

/// The file that it lays out.
const FILE: &str = "classic-fio";

#[derive(Clone)]
pub(crate) struct Fio;

impl Tool for Fio {
    fn named(&self) -> Named {
        Named {
            id: "classic.fio",
            summary: "fio: reads blocks at random offsets of a file",
            manual: include_str!("fio.md"),
            program: "fio",
            package: "fio",
            format: Format::Fio,
            values: const { &value_names("rate") },
        }
    }

    fn metric(&self) -> Metric {
        reported("rate", "ops/s", Better::Higher, "blocks read a second (IOPS)")
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            bytes("size", 64 << 20, "size of the file (--size)"),
            bytes("block", 4096, "bytes of one read (--bs)"),
            integer("depth", "blocks", 1, "blocks in flight at a time (--iodepth)"),
            choice("engine", &["io_uring", "psync"], "how blocks are asked for (--ioengine)"),
            integer("seconds", "seconds", 1, "how long one process reads (--runtime)"),
        ]
    }

    fn describe(&self, description: Description) -> Description {
        Description { fixture: Some(vec!["size".into()]), ..description }
    }

    fn version(&self, path: &Path) -> Result<String, StartError> {
        version::after(path, &["--version"], "fio-")
    }

    fn call(&self, start: &Start, _version: &str) -> Result<Call, StartError> {
        let path = start.endpoints.get("file");
        let path = path.ok_or_else(|| StartError::Failed("the file was not laid out".into()))?;
        let mut words = job(Path::new(path), within(start, "size", 1 << 20, usize::MAX)?);
        let block = within(start, "block", 512, 1 << 30)?;
        let (depth, seconds) = (within(start, "depth", 1, 4096)?, within(start, "seconds", 1, 60)?);
        let engine = start.text("engine");
        let options = [
            format!("--bs={block}"),
            format!("--iodepth={depth}"),
            format!("--ioengine={engine}"),
            format!("--runtime={seconds}"),
        ];
        words.extend(options.map(OsString::from));
        let fixed = ["--time_based", "--norandommap", "--randrepeat=0", "--output-format=json"];
        words.extend(fixed.map(OsString::from));
        Ok(Call::with(words))
    }

    /// fio lays out its own file, with data that do not compress.
    fn prepare(&self, path: &Path, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        let size = within(start, "size", 1 << 20, usize::MAX)?;
        let file = LaidOut(Path::new(&start.dir).join(FILE));
        let output = std::process::Command::new(path)
            .args(job(&file.0, size))
            .args(["--create_only=1", "--ioengine=psync"])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Failure::io("starting fio", &error))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(Failure(format!("fio could not lay out its file: {said}")).into());
        }
        let endpoints = [("file".to_owned(), file.0.display().to_string())].into();
        let ready = Ready { endpoints, bytes_on_disk: size as u64, ..Ready::default() };
        Ok((ready, Box::new(file)))
    }
}

/// What the lay-out and the reads have in common.
fn job(file: &Path, size: usize) -> Vec<OsString> {
    let mut name = OsString::from("--filename=");
    // A colon would part two names.
    name.push(file.display().to_string().replace(':', "\\:"));
    let words = ["--name=classic", "--rw=randread", "--direct=1"].map(OsString::from);
    words.into_iter().chain([name, format!("--size={size}").into()]).collect()
}

/// The file. Dropping it removes it.
struct LaidOut(PathBuf);

impl Held for LaidOut {
    fn clean(self: Box<Self>) -> Result<(), Failure> {
        std::fs::remove_file(&self.0).map_err(|error| Failure::io("removing fio's file", &error))
    }
}

impl Drop for LaidOut {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
