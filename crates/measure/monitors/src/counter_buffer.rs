//! Takes the values of a monitor, reading after reading.

use plumb_model::{Counter, CounterKind, KernelLine, Reading, Trace};

/// Where parsers put what they found.
pub type PutValue<'p> = dyn FnMut(CounterField<'_>, u64) + 'p;

/// A parser: gets the device that the file belongs to and its text, and puts the values that it finds.
pub type CounterParser = fn(&str, &str, &mut PutValue<'_>);

/// The kind of a value.
#[derive(Debug, Clone, Copy)]
pub struct CounterField<'f> {
    /// The device, or empty.
    pub of: &'f str,
    /// Name of the field within its monitor and device.
    pub name: &'f str,
    /// Its unit; empty if it counts events.
    pub unit: &'static str,
    /// The meaning of its value.
    pub kind: CounterKind,
}

impl<'f> CounterField<'f> {
    /// A sum since some moment.
    #[must_use]
    pub fn counter(name: &'f str, unit: &'static str) -> Self {
        Self { of: "", name, unit, kind: CounterKind::Counter }
    }

    /// A level: each reading stands for itself.
    #[must_use]
    pub fn gauge(name: &'f str, unit: &'static str) -> Self {
        Self { kind: CounterKind::Gauge, ..Self::counter(name, unit) }
    }

    /// The same of a device.
    #[must_use]
    pub fn of(self, of: &'f str) -> Self {
        Self { of, ..self }
    }
}

/// A counter with what was kept of it since the invocation began.
#[derive(Debug)]
struct Track {
    of: String,
    name: String,
    counter: Counter,
    kept: Vec<Reading>,
    last: Option<Reading>,
}

impl Track {
    fn is(&self, field: &CounterField<'_>) -> bool {
        self.name == field.name && self.of == field.of
    }

    fn take(&mut self, reading: Reading) {
        let news = self.counter.kind == CounterKind::Gauge
            || self.kept.last().is_none_or(|kept| kept.value != reading.value);
        if news {
            self.kept.push(reading);
        }
        self.last = Some(reading);
    }

    /// What was kept, if it says anything: a gauge, or a counter that moved.
    fn trace(&mut self) -> Option<Trace> {
        let mut readings = std::mem::take(&mut self.kept);
        let last = self.last.take()?;
        let moved = readings.len() > 1;
        if readings.last().is_some_and(|kept| kept.at_ns < last.at_ns) {
            readings.push(last);
        }
        let says = moved || self.counter.kind == CounterKind::Gauge;
        (says && !readings.is_empty()).then(|| Trace { counter: self.counter.clone(), readings })
    }
}

/// All counters of one monitor. Readings put the same counters in the same order nearly always, so
/// each is looked for where the last one left off, and nothing is allocated once all have come.
#[derive(Debug)]
pub struct CounterBuffer {
    monitor: &'static str,
    tracks: Vec<Track>,
    next: usize,
    at_ns: u64,
    lines: Vec<KernelLine>,
}

impl CounterBuffer {
    /// An empty one for a monitor.
    #[must_use]
    pub fn new(monitor: &'static str) -> Self {
        Self { monitor, tracks: Vec::new(), next: 0, at_ns: 0, lines: Vec::new() }
    }

    /// Another reading begins.
    pub fn turn(&mut self, at_ns: u64) {
        (self.at_ns, self.next) = (at_ns, 0);
    }

    /// Takes a value.
    pub fn put(&mut self, field: CounterField<'_>, value: u64) {
        let index = self.find(&field);
        self.next = index + 1;
        self.tracks[index].take(Reading { at_ns: self.at_ns, value });
    }

    /// Takes a line of the kernel's log.
    pub fn line(&mut self, line: KernelLine) {
        self.lines.push(line);
    }

    fn find(&mut self, field: &CounterField<'_>) -> usize {
        // Readings come in the same order each time, so the next track is nearly always the right one.
        if self.tracks.get(self.next).is_some_and(|track| track.is(field)) {
            return self.next;
        }
        self.tracks.iter().position(|track| track.is(field)).unwrap_or_else(|| self.add(field))
    }

    fn add(&mut self, field: &CounterField<'_>) -> usize {
        let of = if field.of.is_empty() { String::new() } else { format!("{}.", field.of) };
        let name = format!("{}.{of}{}", self.monitor, field.name);
        let counter = Counter { name, unit: field.unit.to_owned(), kind: field.kind };
        self.tracks.push(Track {
            of: field.of.to_owned(),
            name: field.name.to_owned(),
            counter,
            kept: Vec::new(),
            last: None,
        });
        self.tracks.len() - 1
    }

    /// Gives what was kept, and starts again with nothing.
    pub fn finish(&mut self) -> (Vec<Trace>, Vec<KernelLine>) {
        let traces = self.tracks.iter_mut().filter_map(Track::trace).collect();
        (traces, std::mem::take(&mut self.lines))
    }
}

/// The values that a parser puts, as text: for tests.
#[cfg(test)]
pub fn parsed(parse: impl FnOnce(&mut PutValue<'_>)) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    parse(&mut |field: CounterField<'_>, value| {
        let of = if field.of.is_empty() { String::new() } else { format!("{}.", field.of) };
        found.push((format!("{of}{}", field.name), value));
    });
    found
}

#[cfg(test)]
mod tests {
    use super::{CounterBuffer, CounterField};
    use plumb_model::Reading;

    #[test]
    fn only_what_moved_is_kept_with_its_ends() {
        let mut buffer = CounterBuffer::new("m");
        for (at_ns, a, b) in [(1, 5, 7), (2, 5, 7), (3, 6, 7), (4, 6, 7)] {
            buffer.turn(at_ns);
            buffer.put(CounterField::counter("a", ""), a);
            buffer.put(CounterField::counter("b", "").of("dev"), b);
        }
        let (traces, _) = buffer.finish();
        assert_eq!(traces.len(), 1);
        assert_eq!(traces[0].counter.name, "m.a");
        let read = |at_ns, value| Reading { at_ns, value };
        assert_eq!(traces[0].readings, [read(1, 5), read(3, 6), read(4, 6)]);
        assert!(buffer.finish().0.is_empty(), "a new invocation starts anew");
    }

    #[test]
    fn gauges_keep_every_reading_and_counters_may_come_in_any_order() {
        let mut buffer = CounterBuffer::new("m");
        let fields = [CounterField::gauge("level", "kB").of("x"), CounterField::counter("n", "")];
        for (at_ns, order) in [(1, [0, 1]), (2, [1, 0])] {
            buffer.turn(at_ns);
            for index in order {
                buffer.put(fields[index], at_ns * 10);
            }
        }
        let (traces, _) = buffer.finish();
        let names: Vec<_> = traces.iter().map(|trace| trace.counter.name.as_str()).collect();
        assert_eq!(names, ["m.x.level", "m.n"]);
        assert!(traces.iter().all(|trace| trace.readings.len() == 2));
    }
}
