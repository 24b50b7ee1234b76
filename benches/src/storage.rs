//! The storage workloads against fio and bonnie++: figures on the same file, and work a second of CPU time.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use plumb_protocol::UsageMeter;
use serde_json::Value;

use crate::BenchResult;
use crate::pairs::{self, Done, PairRow, SECONDS, run};
use crate::shares::TemporaryFolder;

const ROWS: [PairRow; 6] = [
    PairRow {
        title: "random 4 KiB reads, direct, depth 32; fio, io_uring",
        unit: "ops/s",
        ours: |plumb, folder| {
            let words = "storage.random -p engine=io_uring -p depth=32";
            on_same_file(plumb, folder, words, "rate")
        },
        classic: |_, folder| {
            let words = "--ioengine=io_uring --rw=randread --bs=4k --iodepth=32";
            fio(&folder.join("fio.dat"), words, "iops")
        },
    },
    PairRow {
        title: "sequential 1 MiB reads, direct, depth 8, plumb's buffers in huge pages; fio, io_uring",
        unit: "B/s",
        ours: |plumb, folder| {
            let words = "storage.sequential -p engine=io_uring -p depth=8 -p pages=huge";
            on_same_file(plumb, folder, words, "bandwidth")
        },
        classic: |_, folder| {
            let words = "--ioengine=io_uring --rw=read --bs=1m --iodepth=8";
            fio(&folder.join("fio.dat"), words, "bw_bytes")
        },
    },
    PairRow {
        title: "random 4 KiB reads in memory, one by one; fio, psync",
        unit: "ops/s",
        ours: |plumb, folder| {
            let words = "storage.random -p engine=psync -p place=memory -p size=256MiB";
            run(plumb, folder, words, "rate")
        },
        classic: |_, _| in_memory("--ioengine=psync --rw=randread --bs=4k"),
    },
    PairRow {
        title: "random 4 KiB reads in memory, depth 32; fio, io_uring",
        unit: "ops/s",
        ours: |plumb, folder| {
            run(
                plumb,
                folder,
                "storage.random -p engine=io_uring -p depth=32 -p place=memory -p size=256MiB",
                "rate",
            )
        },
        classic: |_, _| in_memory("--ioengine=io_uring --rw=randread --bs=4k --iodepth=32"),
    },
    PairRow {
        title: "65,536 empty files created, ext4 in memory; bonnie++",
        unit: "files/s",
        ours: |plumb, folder| {
            let disk = BenchDisk::in_memory(folder)?;
            run(plumb, &disk.0, "storage.files -p files=65536", "rate")
        },
        classic: |_, folder| bonnie(&BenchDisk::in_memory(folder)?.0, 64),
    },
    PairRow {
        title: "262,144 empty files created, tmpfs; bonnie++",
        unit: "files/s",
        ours: |plumb, _| run(plumb, Path::new("/dev/shm"), "storage.files -p files=262144", "rate"),
        classic: |_, _| bonnie(Path::new("/dev/shm"), 256),
    },
];

/// Its own filesystem for each process: one without a journal remembers what was deleted for minutes, and looks for
/// room the longer for it.
struct BenchDisk(PathBuf);

impl BenchDisk {
    fn in_memory(folder: &Path) -> BenchResult<Self> {
        let image = Path::new("/dev/shm/plumb-benches.img");
        let disk = Self(folder.join("disk"));
        std::fs::create_dir_all(&disk.0)?;
        File::create(image)?.set_len(4 << 30)?;
        let made = succeed(
            "mkfs.ext4",
            &["-q".as_ref(), "-N".as_ref(), "1000000".as_ref(), image.as_ref()],
        );
        let words = ["-o".as_ref(), "loop".as_ref(), image.as_ref(), disk.0.as_ref()];
        let mounted = made.and_then(|()| succeed("mount", &words));
        // The mount holds it.
        std::fs::remove_file(image)?;
        mounted.map(|()| disk)
    }
}

/// Runs a program; one that fails is an error.
fn succeed(program: &str, words: &[&OsStr]) -> BenchResult<()> {
    let status = Command::new(program).args(words).status()?;
    if status.success() { Ok(()) } else { Err(format!("{program}: {status}").into()) }
}

impl Drop for BenchDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Measures the rows.
pub fn bench(plumb: &Path) -> BenchResult<String> {
    Ok(format!(
        "{} 256 MiB files, in the temporary folder or in memory; CPU time includes fio's kernel threads.\n\n{}",
        pairs::note(),
        pairs::table(&ROWS, plumb)?
    ))
}

/// One invocation on the file that fio reads: files of the same size are not alike fast.
fn on_same_file(plumb: &Path, folder: &Path, words: &str, metric: &str) -> BenchResult<Done> {
    let file = folder.join("fio.dat");
    fio_command(&file, &["--create_only=1"]).output()?;
    let words = format!("{words} -p direct=yes -p size=256MiB -p file={}", file.display());
    run(plumb, folder, &words, metric)
}

/// One job on a file in memory, which is removed.
fn in_memory(words: &str) -> BenchResult<Done> {
    let folder = TemporaryFolder::at(Path::new("/dev/shm"))?;
    fio(&folder.0.join("fio.dat"), words, "iops")
}

/// CPU time is that of all its processes with the kernel's threads that work for them, which fio itself does not count,
/// less that of its start.
fn fio(file: &Path, words: &str, figure: &str) -> BenchResult<Done> {
    let words: Vec<&str> = words.split_whitespace().collect();
    let start_only = [&words[..], &["--create_only=1"]].concat();
    // The first start writes the file; the second one is what every start costs.
    fio_and_cpu(file, &start_only)?;
    let (_, start) = fio_and_cpu(file, &start_only)?;
    let (printed, cpu) = fio_and_cpu(file, &words)?;
    let document: Value = serde_json::from_slice(&printed)?;
    let read = &document["jobs"][0]["read"];
    let seconds = fio_figure(&read["runtime"])? / 1000.0;
    Ok(Done { rate: fio_figure(&read[figure])?, cpu: (cpu - start) / seconds })
}

/// The output of fio, and its CPU time in seconds.
fn fio_and_cpu(file: &Path, words: &[&str]) -> BenchResult<(Vec<u8>, f64)> {
    let meter = UsageMeter::start(&[]);
    let output = fio_command(file, words).output()?;
    let usage = meter.finish(&[]);
    Ok((output.stdout, Duration::from_nanos(usage.user_ns + usage.system_ns).as_secs_f64()))
}

fn fio_figure(value: &Value) -> BenchResult<f64> {
    Ok(value.as_f64().ok_or("fio printed no figure")?)
}

fn fio_command(file: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("fio");
    command.args(["--name=bench", "--direct=1", "--size=256m", "--time_based", "--bs=4k"]);
    command.args([&format!("--runtime={SECONDS}"), "--norandommap", "--randrepeat=0"]);
    command.arg("--output-format=json").args(words);
    command.arg(format!("--filename={}", file.display()));
    command
}

/// The creation of a pass without a file of blocks.
fn bonnie(folder: &Path, thousands: u32) -> BenchResult<Done> {
    let output = Command::new("bonnie++")
        .args(["-u", "root", "-r", "0", "-s", "0", "-q", "-n"])
        .arg(thousands.to_string())
        .arg("-d")
        .arg(folder)
        .stderr(Stdio::null())
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let fields: Vec<&str> = text.trim().split(',').collect();
    Ok(Done { rate: bonnie_figure(&fields, 26)?, cpu: bonnie_figure(&fields, 27)? / 100.0 })
}

fn bonnie_figure(fields: &[&str], index: usize) -> BenchResult<f64> {
    let field = fields.get(index).ok_or("bonnie++ printed no CSV")?;
    Ok(field.parse::<f64>().map_err(|_| format!("bonnie++ rated nothing: `{field}`"))?)
}
