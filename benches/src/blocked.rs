//! A worker that waits for a message between samples measures cold caches: the reason for batches.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::BenchResult;
use crate::page::{median, ratio};

/// Pairs of a batch and a series of single requests.
const PAIRS: usize = 20;
/// Samples of each side of a pair.
const SAMPLES: usize = 200;
/// Length of a sample, in nanoseconds.
const SAMPLE_NS: u64 = 10_000;
/// The point whose cache footprint is typical of a small loop.
const WORKLOAD: &str = "cpu.sieve";

/// Times the same samples in one batch and one by one, alternately.
pub fn bench(plumb: &Path) -> BenchResult<String> {
    let mut worker = WorkerProcess::start(plumb)?;
    let k = worker.calibrate()?;
    let mut logs = Vec::new();
    let mut batches = Vec::new();
    let mut singles = Vec::new();
    for _ in 0..PAIRS {
        let batch = median(&worker.times(&vec![k; SAMPLES])?);
        let mut times = Vec::new();
        for _ in 0..SAMPLES {
            times.extend(worker.times(&[k])?);
            // As long as a worker waits while plumb stores and draws.
            std::thread::sleep(std::time::Duration::from_micros(500));
        }
        let single = median(&times);
        logs.push((single / batch).ln());
        batches.push(batch);
        singles.push(single);
    }
    Ok(format!(
        "`{WORKLOAD}`, samples of about 10 µs, {PAIRS} pairs of {SAMPLES} samples: the median is {:.2} µs in one batch, and {:.2} µs one by \
         one with pauses of 500 µs, **{} times** as long. Batches avoid this.\n",
        median(&batches) / 1e3,
        median(&singles) / 1e3,
        ratio(&logs),
    ))
}

struct WorkerProcess {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    id: u64,
}

impl WorkerProcess {
    fn start(plumb: &Path) -> BenchResult<Self> {
        let mut child = Command::new(plumb)
            .args(["worker", WORKLOAD])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take().ok_or("no stdin")?;
        let stdout = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        let mut worker = Self { child, stdin, stdout, id: 0 };
        worker.ask(json!({"type": "start", "role": "workload", "dir": "/tmp", "seed": 1,
            "params": {"limit": 10_000, "threads": 1, "growth": "push"}}))?;
        Ok(worker)
    }

    fn ask(&mut self, mut request: Value) -> BenchResult<Value> {
        self.id += 1;
        request["id"] = json!(self.id);
        writeln!(self.stdin, "{request}")?;
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        let reply: Value = serde_json::from_str(&line)?;
        match reply["type"].as_str() {
            Some("failed" | "unsupported") => Err(line.into()),
            _ => Ok(reply),
        }
    }

    fn calibrate(&mut self) -> BenchResult<u64> {
        let reply = self.ask(json!({"type": "calibrate", "target_ns": SAMPLE_NS}))?;
        Ok(reply["iterations"].as_u64().unwrap_or(1))
    }

    fn times(&mut self, iterations: &[u64]) -> BenchResult<Vec<f64>> {
        let reply = self.ask(json!({"type": "sample", "iterations": iterations}))?;
        let times = reply["elapsed_ns"].as_array().ok_or("no times")?;
        Ok(times.iter().filter_map(Value::as_f64).collect())
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
