//! /proc/PID: what the measured process itself did.

use plumb_machine::Root;

use crate::counter_buffer::{CounterBuffer, CounterField, PutValue};
use crate::files::{OpenFile, numbers};
use crate::monitor::{CounterSource, FAST_HZ, Monitor};

/// The monitor `worker`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "worker",
    summary: "CPU time, time waiting for a CPU, faults, switches, migrations and I/O of the worker",
    manual: include_str!("worker.md"),
    default_hz: Some(FAST_HZ),
    slow: false,
    parsers: &[
        |_, text, put| stat(text, put),
        |_, text, put| schedstat(text, put),
        |_, text, put| status(text, put),
        |_, text, put| io(text, put),
        |_, text, put| sched(text, put),
    ],
    open: |root| {
        Ok(Box::new(WorkerSource { root: root.clone(), files: Vec::new(), buffer: Vec::new() }))
    },
};

type WorkerParser = fn(&str, &mut PutValue<'_>);

/// The files of the measured process, opened once.
struct WorkerSource {
    root: Root,
    files: Vec<(OpenFile, WorkerParser)>,
    buffer: Vec<u8>,
}

/// The files, with what reads them. The kernel may lack all but the first.
const FILES: [(&str, WorkerParser); 5] =
    [("stat", stat), ("schedstat", schedstat), ("status", status), ("io", io), ("sched", sched)];

impl CounterSource for WorkerSource {
    fn attach(&mut self, worker: Option<u32>) -> Result<(), String> {
        self.files.clear();
        let Some(pid) = worker else { return Ok(()) };
        for (file, parse) in FILES {
            match OpenFile::open(&self.root, &format!("/proc/{pid}/{file}")) {
                Ok(kept) => self.files.push((kept, parse)),
                Err(why) if self.files.is_empty() => return Err(why),
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn read(&mut self, counters: &mut CounterBuffer) -> Result<(), String> {
        for (index, (file, parse)) in self.files.iter().enumerate() {
            match file.text(&mut self.buffer) {
                Ok(text) => parse(&text, &mut |field, value| counters.put(field, value)),
                Err(why) if index == 0 => return Err(why),
                // What a process may not see of another (io) shows only when it is read.
                Err(_) => {}
            }
        }
        Ok(())
    }
}

/// `PID (NAME) S …`: the name may hold anything. Fields are counted from 1 as in proc(5).
pub fn stat(text: &str, put: &mut PutValue<'_>) {
    let Some((_, rest)) = text.rsplit_once(')') else { return };
    for (word, number) in rest.split_ascii_whitespace().zip(3..) {
        let Ok(value) = word.parse() else { continue };
        match number {
            10 => put(CounterField::counter("minor_faults", ""), value),
            12 => put(CounterField::counter("major_faults", ""), value),
            14 => put(CounterField::counter("user", "tick"), value),
            15 => put(CounterField::counter("system", "tick"), value),
            20 => return put(CounterField::gauge("threads", ""), value),
            _ => {}
        }
    }
}

/// Time on a CPU and time waiting for one, in nanoseconds, and how often: of the first thread.
pub fn schedstat(text: &str, put: &mut PutValue<'_>) {
    for ((name, unit), value) in
        [("run", "ns"), ("wait", "ns"), ("slices", "")].into_iter().zip(numbers(text))
    {
        put(CounterField::counter(name, unit), value);
    }
}

/// Lines of /proc/PID/status, as in `voluntary_ctxt_switches: 3`.
pub fn status(text: &str, put: &mut PutValue<'_>) {
    for line in text.lines() {
        let Some((key, rest)) = line.split_once(':') else { continue };
        let name = match key {
            "voluntary_ctxt_switches" => "voluntary_switches",
            "nonvoluntary_ctxt_switches" => "involuntary_switches",
            _ => continue,
        };
        numbers(rest).take(1).for_each(|n| put(CounterField::counter(name, ""), n));
    }
}

/// `read_bytes: 4096`: what came from or went to devices.
pub fn io(text: &str, put: &mut PutValue<'_>) {
    for line in text.lines() {
        let Some((key, rest)) = line.split_once(':') else { continue };
        let name = match key {
            "read_bytes" => "read",
            "write_bytes" => "written",
            _ => continue,
        };
        numbers(rest).take(1).for_each(|n| put(CounterField::counter(name, "B"), n));
    }
}

/// `se.nr_migrations    :      2`, if the kernel was built with CONFIG_SCHED_DEBUG.
pub fn sched(text: &str, put: &mut PutValue<'_>) {
    let line = text.lines().find_map(|line| line.strip_prefix("se.nr_migrations"));
    if let Some((_, rest)) = line.and_then(|line| line.split_once(':')) {
        numbers(rest).take(1).for_each(|n| put(CounterField::counter("migrations", ""), n));
    }
}

#[cfg(test)]
mod tests {
    use super::{io, sched, stat, status};
    use crate::counter_buffer::parsed;

    #[test]
    fn the_name_of_a_process_may_hold_anything() {
        let text = "7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 3 0 25 11 0 0 20 0 4 0 99 1 1\n";
        let found = parsed(|put| stat(text, put));
        let names: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        assert_eq!(
            names,
            [
                ("minor_faults", 100),
                ("major_faults", 3),
                ("user", 25),
                ("system", 11),
                ("threads", 4)
            ]
        );
        assert!(parsed(|put| stat("7 (a", put)).is_empty());
    }

    #[test]
    fn switches_bytes_and_migrations_are_found_by_name() {
        let text = "Name:\tx\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        assert_eq!(parsed(|put| status(text, put)).len(), 2);
        assert_eq!(
            parsed(|put| io("rchar: 9\nread_bytes: 4096\n", put)),
            [("read".to_owned(), 4096)]
        );
        let text = "x (1, #threads: 1)\nse.nr_migrations            :     12\n";
        assert_eq!(parsed(|put| sched(text, put)), [("migrations".to_owned(), 12)]);
    }
}
