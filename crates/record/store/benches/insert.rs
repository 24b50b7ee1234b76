//! How fast samples are stored, and how much room they take: `cargo bench -p plumb-store`.
//! `PLUMB_BENCH_DIR` names the folder of the store; without it, /dev/shm.

#![expect(clippy::print_stdout, reason = "a benchmark prints its result")]
#![expect(clippy::unwrap_used, reason = "a benchmark has nobody to tell")]

#[path = "../tests/store/events.rs"]
#[expect(dead_code, reason = "the tests use the rest")]
mod events;

use std::path::Path;
use std::time::Instant;

use events::{Script, batch, done, id, work};
use plumb_model::{Event, Ready, Role, Samples, Stamped};
use plumb_store::{Store, Writer};

const INVOCATIONS: u64 = 20;
const BATCHES: u64 = 50;
const SAMPLES: usize = 1000;

fn main() {
    let folder = std::env::var("PLUMB_BENCH_DIR").unwrap_or_else(|_| "/dev/shm".into());
    let timed: (Role, Ready) = (Role::Workload, work("bandwidth", 4096.0));
    report(&folder, "timed", &timed, |start| realistic(start, false));
    report(&folder, "timed + reported value", &timed, |start| realistic(start, true));
}

/// Samples of half a millisecond with gaps, as on a machine of 64 CPUs.
fn realistic(start_ns: u64, value: bool) -> Samples {
    let mut samples = batch(0, SAMPLES);
    let mut now = start_ns;
    for i in 0..SAMPLES {
        samples.start_ns[i] = now;
        samples.elapsed_ns[i] = 500_000 + (i as u64 * 7919) % 50_000;
        samples.iterations[i] = 1234;
        samples.cpu[i] = 17;
        now += samples.elapsed_ns[i] + 60;
    }
    if value {
        samples
            .values
            .insert("p99".into(), samples.elapsed_ns.iter().map(|t| 1.0 / *t as f64).collect());
    }
    samples
}

fn report(folder: &str, what: &str, of: &(Role, Ready), samples: impl Fn(u64) -> Samples) {
    let folder = tempfile::tempdir_in(folder).unwrap();
    let path = folder.path().join("plumb.db");
    let store = Store::open(&path).unwrap();
    let mut writer = store.writer().unwrap();
    for event in &Script::new(id(1), 0, &[]).events {
        writer.take(event).unwrap();
    }
    let before = size(&path);
    let mut seconds = 0.0;
    for n in 0..INVOCATIONS {
        let mut script = Script { run: id(1), events: Vec::new() };
        script.start(id(100 + n), 0, of.0, of.1.clone());
        for b in 0..BATCHES {
            script.batch(id(100 + n), samples((n * BATCHES + b) * 600_000_000));
        }
        script.say(Event::InvocationEnded { invocation: id(100 + n), end: done(3) });
        seconds += take(writer.as_mut(), &script.events);
    }
    drop(writer);
    let start = Instant::now();
    store.record(id(1)).unwrap();
    let read = start.elapsed().as_secs_f64();
    let here = Store::open(folder.path().join("here.db")).unwrap();
    let start = Instant::now();
    here.merge(&path).unwrap();
    let merged = start.elapsed().as_secs_f64();
    drop(store);
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    let total = (INVOCATIONS * BATCHES * SAMPLES as u64) as f64;
    #[expect(clippy::cast_precision_loss, reason = "sizes stay far below 2^53")]
    let bytes = (size(&path) - before) as f64;
    println!(
        "{what}: {:.0} samples/s stored, {:.0} read, {:.0} imported; {:.1} bytes/sample",
        total / seconds,
        total / read,
        total / merged,
        bytes / total
    );
}

fn take(writer: &mut dyn Writer, events: &[Stamped]) -> f64 {
    let start = Instant::now();
    for event in events {
        writer.take(event).unwrap();
    }
    start.elapsed().as_secs_f64()
}

/// Size of the file after a checkpoint.
fn size(path: &Path) -> u64 {
    let db = rusqlite::Connection::open(path).unwrap();
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    std::fs::metadata(path).unwrap().len()
}
