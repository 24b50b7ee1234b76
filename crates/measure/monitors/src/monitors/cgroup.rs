//! plumb's own cgroup: CPU time and throttling, I/O; version 1, 2 or both.

use plumb_machine::cgroup::groups;

use crate::counter_buffer::{CounterField, PutValue};
use crate::files::{OpenFile, Parsed, numbers};
use crate::monitor::{FAST_HZ, Monitor};

/// The monitor `cgroup`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "cgroup",
    summary: "throttling, CPU time and I/O of plumb's own cgroups",
    manual: include_str!("cgroup.md"),
    default_hz: Some(FAST_HZ),
    slow: false,
    parsers: &[parse],
    open: |root| {
        let mut files = Vec::new();
        for (controller, name, of) in FILES {
            // The innermost group has no name of its own in the counters; those above have their level.
            let opened = groups(root, controller)
                .into_iter()
                .filter_map(|group| OpenFile::open(root, &format!("{group}/{name}")).ok());
            files.extend(opened.enumerate().map(|(level, file)| (device(level, of), file)));
        }
        Parsed::all(files, parse, "plumb's cgroups have no cpu.stat or io.stat")
    },
};

/// Controller (none is version 2), file, and the name of what it counts.
const FILES: [(&str, &str, &str); 4] = [
    ("", "cpu.stat", ""),
    ("", "io.stat", "io"),
    ("cpu", "cpu.stat", ""),
    ("blkio", "blkio.throttle.io_service_bytes", "io"),
];

fn device(level: usize, of: &str) -> String {
    match (level, of) {
        (0, of) => of.to_owned(),
        (level, "") => format!("up{level}"),
        (level, of) => format!("up{level}.{of}"),
    }
}

/// `cpu.stat`: `nr_throttled 3`; version 1 of I/O: `8:0 Read 4096`; version 2: `8:0 rbytes=4096 …`.
pub fn parse(of: &str, text: &str, put: &mut PutValue<'_>) {
    let mut sums = [0_u64; 2];
    for line in text.lines() {
        let Some((key, rest)) = line.split_once(' ') else { continue };
        if key.contains(':') {
            add_io(&mut sums, rest);
        } else if let Some((name, unit, nanoseconds)) = cpu_field(key) {
            numbers(rest).take(1).for_each(|n| {
                put(
                    CounterField::counter(name, unit).of(of),
                    if nanoseconds { n / 1000 } else { n },
                );
            });
        }
    }
    if of.ends_with("io") {
        put(CounterField::counter("read", "B").of(of), sums[0]);
        put(CounterField::counter("written", "B").of(of), sums[1]);
    }
}

/// Name, unit, and whether the kernel gives nanoseconds.
fn cpu_field(key: &str) -> Option<(&'static str, &'static str, bool)> {
    Some(match key {
        "nr_periods" => ("periods", "", false),
        "nr_throttled" => ("throttled_periods", "", false),
        "throttled_time" => ("throttled", "us", true),
        "throttled_usec" => ("throttled", "us", false),
        "usage_usec" => ("usage", "us", false),
        "user_usec" => ("user", "us", false),
        "system_usec" => ("system", "us", false),
        _ => return None,
    })
}

fn add_io(sums: &mut [u64; 2], rest: &str) {
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    let mut add = |index: usize, text: &str| {
        sums[index] = sums[index].wrapping_add(text.parse().unwrap_or(0));
    };
    if let [kind, bytes] = words[..] {
        match kind {
            "Read" => return add(0, bytes),
            "Write" => return add(1, bytes),
            _ => {}
        }
    }
    for word in words {
        match word.split_once('=') {
            Some(("rbytes", bytes)) => add(0, bytes),
            Some(("wbytes", bytes)) => add(1, bytes),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::counter_buffer::parsed;

    #[test]
    fn both_versions_give_the_same_counters() {
        let one =
            parsed(|put| parse("", "nr_periods 9\nnr_throttled 3\nthrottled_time 12345678\n", put));
        let two = parsed(|put| {
            parse("", "usage_usec 5\nnr_periods 9\nnr_throttled 3\nthrottled_usec 12345\n", put);
        });
        assert_eq!(one[..], two[1..]);
        let one = parsed(|put| {
            parse("io", "8:0 Read 4096\n8:0 Write 1\n8:0 Total 4097\n8:16 Read 4\nTotal 4101", put);
        });
        let two = parsed(|put| parse("io", "8:0 rbytes=4096 wbytes=1 rios=1\n8:16 rbytes=4", put));
        assert_eq!(one, two);
        assert_eq!(one, [("io.read".to_owned(), 4100), ("io.written".to_owned(), 1)]);
    }
}
