//! `classic.fio` and `classic.fiosequential`: fio reads or writes blocks at random, or one after the other.

use std::ffi::OsString;
use std::path::Path;

use plumb_classics::Format;
use plumb_model::{Better, Description, Metric, Parameter, Ready};
use plumb_protocol::{Failure, Held, Start, StartError};

use plumb_workload_kit::declare::{
    between, bytes, choice, integer, reported, shared, time_bound, within,
};
use plumb_workload_kit::ended;

use crate::laid_out::{self, LaidOut};
use crate::named::{ToolNames, value_names};
use crate::tool::{Call, Tool};
use crate::version;

/// The file that it lays out.
const FILE: &str = "classic-fio";

/// The job of fio.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fio {
    /// Blocks of a file at random; its figure is operations per second.
    Random,
    /// Blocks of a file one after the other; its figure is bytes per second.
    Sequential,
    /// The same block of a file repeatedly, synchronously, by many jobs with a file each.
    OneBlock,
    /// Blocks one after the other, each synced.
    Log,
}

fn block_size(name: &str, default: u64) -> Parameter {
    bytes(name, default, "size of one read or write (--bs)")
}

fn operation(words: &[&str]) -> Parameter {
    choice("operation", words, "operation on each block (--rw)")
}

impl Tool for Fio {
    fn named(&self) -> ToolNames {
        let (id, summary, manual) = match self {
            Self::Random => (
                "classic.fio",
                "fio: reads or writes blocks at random offsets of a file",
                include_str!("fio.md"),
            ),
            Self::Sequential => (
                "classic.fiosequential",
                "fio: reads or writes a file block by block",
                include_str!("fiosequential.md"),
            ),
            Self::OneBlock => (
                "classic.fiooneblock",
                "fio: reads or writes one block of a file repeatedly",
                include_str!("fiooneblock.md"),
            ),
            Self::Log => (
                "classic.fiolog",
                "fio: writes a file block by block and syncs each",
                include_str!("fiolog.md"),
            ),
        };
        let (prints, values) = match self {
            Self::Sequential => ("bandwidth", const { &value_names("bandwidth") }),
            _ => ("rate", const { &value_names("rate") }),
        };
        let program = "fio";
        let package = "fio";
        let format = Some(Format::Fio);
        ToolNames { id, summary, manual, program, package, format, prints, values }
    }

    fn metric(&self) -> Metric {
        match self {
            Self::Random => reported("rate", "ops/s", Better::Higher, "blocks per second (IOPS)"),
            Self::Sequential => reported("bandwidth", "B/s", Better::Higher, "bytes per second"),
            Self::OneBlock => {
                reported("rate", "ops/s", Better::Higher, "operations of all jobs together")
            }
            Self::Log => {
                reported("rate", "commits/s", Better::Higher, "blocks per second, each synced")
            }
        }
    }

    fn parameters(&self) -> Vec<Parameter> {
        let time = between(
            100_000_000,
            60_000_000_000,
            time_bound("time", 1_000_000_000, "how long one process runs (--runtime)"),
        );
        let size =
            between(1 << 20, usize::MAX, bytes("size", 64 << 20, "size of the file (--size)"));
        match self {
            Self::Random | Self::Sequential => vec![
                size,
                block_size("block", if *self == Self::Random { 4096 } else { 1 << 20 }),
                operation(&["read", "write"]),
                between(
                    1,
                    4096,
                    integer(
                        "depth",
                        "blocks",
                        if *self == Self::Random { 1 } else { 8 },
                        "blocks in flight (--iodepth)",
                    ),
                ),
                choice("engine", &["io_uring", "psync"], "I/O interface (--ioengine)"),
                choice("pages", &["system", "huge"], "pages of the buffers (--mem, --iomem_align)"),
                time,
            ],
            Self::OneBlock => vec![
                block_size("block", 4096),
                operation(&["write", "read"]),
                between(
                    1,
                    1024,
                    integer("workers", "workers", 1, "jobs, each with a separate file (--numjobs)"),
                ),
                time,
            ],
            Self::Log => vec![size, block_size("record", 4096), time],
        }
    }

    fn describe(&self, description: Description) -> Description {
        let fixture = self.has_file().then(|| vec!["size".into()]);
        let fixture_of = match self {
            // What fio writes are other bytes than those that plumb reads expect.
            Self::Random => Some(shared("storage.random", &[("operation", "read")])),
            Self::Sequential => Some(shared("storage.sequential", &[("operation", "read")])),
            Self::OneBlock | Self::Log => None,
        };
        Description { fixture, fixture_of, ..description }
    }

    fn version(&self, path: &Path) -> Result<String, StartError> {
        version::after(path, &["--version"], "fio-")
    }

    fn call(&self, start: &Start, _version: &str) -> Result<Call, StartError> {
        let millis = start.size("time") / 1_000_000;
        let mut words = match self {
            Self::Random | Self::Sequential => self.of_file(start)?,
            Self::OneBlock => {
                let block = within(start, "block", 1, 1 << 20)?;
                let jobs = start.size("workers");
                let rw = start.text("operation");
                let options = format!(
                    "--ioengine=psync --direct=1 --sync=1 --overwrite=1 --thread --group_reporting --unlink=1 \
                     --rw={rw} --bs={block} --size={block} --numjobs={jobs}"
                );
                in_folder(start, &options)
            }
            Self::Log => {
                let record = within(start, "record", 512, 1 << 20)?;
                let size = start.size("size");
                let options = format!(
                    "--ioengine=psync --overwrite=1 --fdatasync=1 --unlink=1 --rw=write --bs={record} --size={size}"
                );
                in_folder(start, &options)
            }
        };
        words.push(format!("--runtime={millis}ms").into());
        words.extend(["--time_based", "--output-format=json"].map(OsString::from));
        Ok(Call::with(words))
    }

    /// fio lays out its own file, with data that do not compress.
    fn prepare(&self, path: &Path, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        let size = start.size("size");
        let file = LaidOut(Path::new(&start.dir).join(FILE));
        let mut fio = std::process::Command::new(path);
        fio.args(job(&file.0, size, "read")).args(["--create_only=1", "--ioengine=psync"]);
        let output =
            ended::output(&mut fio).map_err(|error| Failure::io("starting fio", &error))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(Failure(format!("fio could not lay out its file: {said}")).into());
        }
        Ok(file.ready(size))
    }
}

impl Fio {
    /// Whether it works on one file that is laid out before.
    fn has_file(self) -> bool {
        matches!(self, Self::Random | Self::Sequential)
    }

    /// The job on the file that was laid out.
    fn of_file(self, start: &Start) -> Result<Vec<OsString>, StartError> {
        let path = laid_out::path(start)?;
        let rw = match (self, start.text("operation")) {
            (Self::Random, "write") => "randwrite",
            (Self::Random, _) => "randread",
            (_, "write") => "write",
            _ => "read",
        };
        let mut words = job(Path::new(path), start.size("size"), rw);
        let block = within(start, "block", 512, 1 << 30)?;
        let depth = start.size("depth");
        let engine = start.text("engine");
        let options = [
            format!("--bs={block}"),
            format!("--iodepth={depth}"),
            format!("--ioengine={engine}"),
            "--norandommap".to_owned(),
            "--randrepeat=0".to_owned(),
        ];
        words.extend(options.map(OsString::from));
        if start.text("pages") == "huge" {
            words.extend(huge_pages()?);
        }
        if rw == "write" {
            // Else it touches two cache lines of each sector before each write, plumb one.
            words.push("--scramble_buffers=0".into());
        }
        if engine == "io_uring" {
            // As plumb does: the kernel keeps file and buffers, so that a block costs it less.
            words.extend(["--fixedbufs=1", "--registerfiles=1"].map(OsString::from));
        }
        Ok(words)
    }
}

/// Buffers that begin with a huge page; fio does not ask for one.
fn huge_pages() -> Result<[OsString; 2], StartError> {
    let setting = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    if setting.unwrap_or_default().contains("[always]") {
        Ok(["--mem=mmap", "--iomem_align=2M"].map(OsString::from))
    } else {
        let why = "fio gets huge pages only if the kernel provides them by default";
        Err(StartError::unsupported(why, "as root: --set thp=always"))
    }
}

/// A job on its own files in the target directory, which it removes.
fn in_folder(start: &Start, options: &str) -> Vec<OsString> {
    let folder = format!("--directory={}", start.dir.replace(':', "\\:"));
    let words = ["--name=classic".to_owned(), folder].into_iter();
    words.chain(options.split_whitespace().map(str::to_owned)).map(OsString::from).collect()
}

/// What the lay-out and the measured job have in common.
fn job(file: &Path, size: usize, rw: &str) -> Vec<OsString> {
    let mut name = OsString::from("--filename=");
    // A colon would part two names.
    name.push(file.display().to_string().replace(':', "\\:"));
    let words = ["--name=classic", "--direct=1"].map(OsString::from);
    let more = [name, format!("--size={size}").into(), format!("--rw={rw}").into()];
    words.into_iter().chain(more).collect()
}
