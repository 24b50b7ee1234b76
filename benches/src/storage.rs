//! The storage workloads against fio and bonnie++: figures on the same file, and work a second of CPU time.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Outcome;
use crate::page::{median, ratio};
use crate::shares::Folder;

/// Pairs of each row; the sides take turns in who is first.
const PAIRS: usize = 8;

/// What one process did.
#[derive(Clone, Copy)]
struct Done {
    /// Work a second.
    rate: f64,
    /// CPU time over wall time.
    cpu: f64,
}

/// One side of a row, in a folder.
type Side = fn(&Path, &Path) -> Outcome<Done>;

/// What is compared: a title, ours, the classic's, and what stands for work.
struct Row {
    title: &'static str,
    unit: &'static str,
    ours: Side,
    classic: Side,
}

const ROWS: [Row; 5] = [
    Row {
        title: "random reads of 4 KiB, depth 32, past the page cache; fio, io_uring",
        unit: "ops/s",
        ours: |plumb, folder| {
            run(
                plumb,
                folder,
                "storage.random -p engine=io_uring -p depth=32 -p direct=yes -p size=256MiB",
                "rate",
            )
        },
        classic: |_, folder| {
            fio(&folder.join("fio.dat"), "--rw=randread --bs=4k --iodepth=32", "iops")
        },
    },
    Row {
        title: "sequential reads of 1 MiB, depth 8, past the page cache; fio, io_uring",
        unit: "B/s",
        ours: |plumb, folder| {
            run(
                plumb,
                folder,
                "storage.sequential -p engine=io_uring -p depth=8 -p direct=yes -p size=256MiB",
                "bandwidth",
            )
        },
        classic: |_, folder| {
            fio(&folder.join("fio.dat"), "--rw=read --bs=1m --iodepth=8", "bw_bytes")
        },
    },
    Row {
        title: "random reads of 4 KiB, depth 32, of a file in memory; fio, io_uring",
        unit: "ops/s",
        ours: |plumb, folder| {
            run(
                plumb,
                folder,
                "storage.random -p engine=io_uring -p depth=32 -p place=memory -p size=256MiB",
                "rate",
            )
        },
        classic: |_, _| in_memory("--rw=randread --bs=4k --iodepth=32"),
    },
    Row {
        title: "65,536 empty files created; bonnie++, files alone",
        unit: "files/s",
        ours: |plumb, folder| run(plumb, folder, "storage.files -p files=65536", "rate"),
        classic: |_, folder| bonnie(folder),
    },
    Row {
        title: "65,536 empty files created, on tmpfs; bonnie++, files alone",
        unit: "files/s",
        ours: |plumb, _| run(plumb, Path::new("/dev/shm"), "storage.files -p files=65536", "rate"),
        classic: |_, _| bonnie(Path::new("/dev/shm")),
    },
];

/// Measures the rows.
pub fn bench(plumb: &Path) -> Outcome<String> {
    let mut table = "| what; classic | classic reads | plumb reads | plumb over classic | work a CPU second, plumb over classic |\n\
                     | --- | --: | --: | --- | --- |\n"
        .to_owned();
    for row in &ROWS {
        let line = line(row, plumb)?;
        // Rows of bonnie++ take minutes.
        eprint!("{line}");
        table.push_str(&line);
    }
    Ok(format!(
        "{PAIRS} pairs of processes of a second each, one after the other, in turns who is first; files of 256 MiB in the folder for \
         temporary files, or in memory. CPU time is that of the processes, in user mode and in the kernel.\n\n{table}"
    ))
}

fn line(row: &Row, plumb: &Path) -> Outcome<String> {
    let folder = Folder::new()?;
    let (mut ours, mut classic) = (Vec::new(), Vec::new());
    for pair in 0..PAIRS {
        if pair % 2 == 0 {
            ours.push((row.ours)(plumb, &folder.0)?);
            classic.push((row.classic)(plumb, &folder.0)?);
        } else {
            classic.push((row.classic)(plumb, &folder.0)?);
            ours.push((row.ours)(plumb, &folder.0)?);
        }
    }
    let over = |of: fn(&Done) -> f64| {
        let logs = ours.iter().zip(&classic).map(|(ours, classic)| (of(ours) / of(classic)).ln());
        ratio(&logs.collect::<Vec<_>>())
    };
    let rates = |side: &[Done]| median(&side.iter().map(|it| it.rate).collect::<Vec<_>>());
    Ok(format!(
        "| {} | {:.3e} {unit} | {:.3e} {unit} | {} | {} |\n",
        row.title,
        rates(&classic),
        rates(&ours),
        over(|it| it.rate),
        over(|it| it.rate / it.cpu),
        unit = row.unit,
    ))
}

/// One invocation of a workload.
fn run(plumb: &Path, folder: &Path, words: &str, metric: &str) -> Outcome<Done> {
    let store = Folder::named("store")?;
    let output = Command::new(plumb)
        .arg("run")
        .args(words.split_whitespace())
        .args(["--max-invocations", "1", "--min-invocations", "1", "--invocation-time", "1s"])
        .args(["--no-lock", "--quiet", "--json", "--prepare", "none", "--dir"])
        .arg(folder)
        .arg("--store")
        .arg(store.0.join("store.db"))
        .stderr(Stdio::inherit())
        .output()?;
    let document: Value = serde_json::from_slice(&output.stdout)?;
    let results = document["results"].as_array().ok_or("no results")?;
    let found = results.iter().find(|it| it["metric"] == metric).ok_or("no such metric")?;
    let number = |of: &Value| of.as_f64().ok_or("a figure is missing");
    let cpu = number(&found["cpu"]["user"])? + number(&found["cpu"]["system"])?;
    Ok(Done { rate: number(&found["estimate"])?, cpu })
}

/// One job on a file in memory, which is removed.
fn in_memory(words: &str) -> Outcome<Done> {
    let folder = Folder::at(Path::new("/dev/shm"))?;
    fio(&folder.0.join("fio.dat"), words, "iops")
}

fn fio(file: &Path, words: &str, figure: &str) -> Outcome<Done> {
    let output = Command::new("fio")
        .args([
            "--name=bench",
            "--direct=1",
            "--ioengine=io_uring",
            "--size=256m",
            "--runtime=1",
            "--time_based",
        ])
        .args(["--norandommap", "--randrepeat=0", "--output-format=json"])
        .args(words.split_whitespace())
        .arg(format!("--filename={}", file.display()))
        .output()?;
    let document: Value = serde_json::from_slice(&output.stdout)?;
    let job = &document["jobs"][0];
    let number = |of: &Value| of.as_f64().ok_or("fio printed no figure");
    let cpu = (number(&job["usr_cpu"])? + number(&job["sys_cpu"])?) / 100.0;
    Ok(Done { rate: number(&job["read"][figure])?, cpu })
}

/// The creation of a pass without a file of blocks.
fn bonnie(folder: &Path) -> Outcome<Done> {
    let output = Command::new("bonnie++")
        .args(["-u", "root", "-r", "0", "-s", "0", "-n", "64", "-q", "-d"])
        .arg(folder)
        .stderr(Stdio::null())
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let fields: Vec<&str> = text.trim().split(',').collect();
    let number = |at: usize| -> Outcome<f64> {
        let field = fields.get(at).ok_or("bonnie++ printed no CSV")?;
        Ok(field.parse::<f64>().map_err(|_| format!("bonnie++ rated nothing: `{field}`"))?)
    };
    Ok(Done { rate: number(26)?, cpu: number(27)? / 100.0 })
}
