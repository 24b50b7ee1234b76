//! The loop that serves a built-in workload as a process: lines in, lines out.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::os::fd::AsFd;

use plumb_model::{Flag, Histogram, Ready, Role, Samples, Usage, trial_samples};

use crate::batch::Batch;
use crate::clock::{self, now_ns};
use crate::distribution::{Distribution, SHORTEST_SAMPLE_NS};
use crate::failure::Failure;
use crate::line::{LineError, LineReader};
use crate::message::{
    MAX_LINE, PROTOCOL, Reply, ReplyLine, Request, RequestLine, SampleReply, Start,
};
use crate::usage::UsageMeter;
use crate::workload::{Held, Instance, StartError, TrialCounts, Workload};

/// Why serving ended early.
#[derive(Debug)]
pub enum ServeError {
    /// The request could not be read or understood.
    Request(String),
    /// The reply could not be written: plumb is gone.
    Reply(std::io::Error),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(why) => write!(f, "bad request: {why}"),
            Self::Reply(error) => write!(f, "could not reply: {error}"),
        }
    }
}

impl std::error::Error for ServeError {}

/// Why work that was asked for has no figure.
struct FailedWork {
    why: String,
    /// Whether it was done, with a wrong result.
    wrong_result: bool,
}

impl From<Failure> for FailedWork {
    fn from(failure: Failure) -> Self {
        Self { why: failure.0, wrong_result: false }
    }
}

impl From<FailedWork> for Reply {
    fn from(FailedWork { why, wrong_result }: FailedWork) -> Self {
        Self::Failed { why, wrong_result }
    }
}

/// Serves `workload` until `stop` or the end of `input`.
///
/// # Errors
/// When a request is malformed or a reply can't be written.
pub fn serve<I: AsFd, O: Write>(
    workload: &dyn Workload,
    input: I,
    output: O,
) -> Result<(), ServeError> {
    let mut served = ServedWorkload {
        workload,
        output,
        instance: None,
        held: Vec::new(),
        iterations_per_ns: None,
        more_iterations: 0.0,
    };
    let mut input = LineReader::new(input, MAX_LINE);
    loop {
        let line = match input.next_line(None) {
            Ok(line) => line,
            Err(LineError::Interrupted) => continue,
            Err(LineError::Closed(_)) => return Ok(()),
            Err(error) => return Err(ServeError::Request(error.to_string())),
        };
        let RequestLine { id, request } =
            serde_json::from_str(&line).map_err(|e| ServeError::Request(format!("{e}: {line}")))?;
        let stop = request == Request::Stop;
        let reply = served.answer(id, request, &mut input)?;
        served.reply(id, reply)?;
        if stop {
            return Ok(());
        }
    }
}

/// A number that the workload does not take. plumb asks for none, but other programs may speak the protocol.
fn out_of_range(workload: &dyn Workload, start: &Start) -> Option<String> {
    workload.describe().parameters.iter().find_map(|parameter| {
        let why = parameter.out_of_range(start.params.get(&parameter.name)?)?;
        Some(format!("parameter `{}`: {why}", parameter.name))
    })
}

struct ServedWorkload<'w, O> {
    workload: &'w dyn Workload,
    output: O,
    instance: Option<Box<dyn Instance>>,
    held: Vec<Box<dyn Held>>,
    iterations_per_ns: Option<f64>,
    /// Iterations that samples get beyond those that they report, as a share of these.
    more_iterations: f64,
}

impl<O: Write> ServedWorkload<'_, O> {
    fn reply(&mut self, id: u64, reply: Reply) -> Result<(), ServeError> {
        write_reply(&mut self.output, id, reply)
    }

    fn answer<I: AsFd>(
        &mut self,
        id: u64,
        request: Request,
        input: &mut LineReader<I>,
    ) -> Result<Reply, ServeError> {
        Ok(match request {
            Request::Hello { .. } => Reply::Hello { protocol: PROTOCOL, max_line: MAX_LINE },
            Request::Describe => Reply::Description { description: self.workload.describe() },
            Request::Prepare(start) => self.prepare(&start),
            Request::Start(start) => self.start(&start),
            Request::Calibrate { target_ns } => self.with_instance(|i| calibrate(i, target_ns)),
            Request::Sample { iterations } => self.sample(id, &iterations),
            Request::Trial { load, duration_ns } => {
                self.with_instance(|i| trial(i, load, duration_ns))
            }
            Request::Stream { interval_ns, duration_ns } => {
                return self.stream(id, interval_ns, duration_ns, input);
            }
            Request::Clean { .. } | Request::Stop => self.end(),
        })
    }

    fn prepare(&mut self, start: &Start) -> Reply {
        if let Some(why) = out_of_range(self.workload, start) {
            return refusal(StartError::Failed(why));
        }
        match self.workload.prepare(start) {
            Ok((ready, held)) => {
                self.held.push(held);
                Reply::Ready(ready)
            }
            Err(error) => refusal(error),
        }
    }

    fn start(&mut self, start: &Start) -> Reply {
        if let Some(why) = out_of_range(self.workload, start) {
            return refusal(StartError::Failed(why));
        }
        if start.role == Role::Server {
            return match self.workload.start_server(start) {
                Ok((ready, held)) => {
                    self.held.push(held);
                    Reply::Ready(ready)
                }
                Err(error) => refusal(error),
            };
        }
        match self.workload.start(start) {
            Ok(started) => {
                let fixed_iterations = started.instance.fixed_iterations();
                let least_iterations = started.instance.least_iterations();
                let shortest_sample_ns = started.instance.shortest_sample_ns();
                if let Some(extra) = start.extra_work.filter(|extra| extra.share > 0.0)
                    && !started.instance.adds_extra_work()
                {
                    if fixed_iterations {
                        return refusal(StartError::unsupported(
                            "extra work cannot be added to a sample of one fixed iteration",
                            "prove the gate with a command, or with a workload of many iterations per sample",
                        ));
                    }
                    self.more_iterations = extra.share;
                }
                self.instance = Some(started.instance);
                Reply::Ready(Ready {
                    clock: Some(clock::source()),
                    fixed_iterations,
                    least_iterations: Some(least_iterations).filter(|least| *least > 1),
                    shortest_sample_ns: Some(shortest_sample_ns).filter(|shortest| *shortest > 0),
                    ..started.ready
                })
            }
            Err(error) => refusal(error),
        }
    }

    /// Takes samples. What the workload says meanwhile goes out at once, as lines of progress before the reply.
    fn sample(&mut self, id: u64, iterations: &[u64]) -> Reply {
        let Some(instance) = self.instance.as_deref_mut() else {
            return failed("not started".into());
        };
        let output = &mut self.output;
        let mut progress = |text: &str| {
            // If plumb is gone, the reply that follows finds out.
            let _ = write_reply(output, id, Reply::Progress { text: text.to_owned() });
        };
        let taken = if self.more_iterations > 0.0 {
            sample_with_extra(instance, iterations, self.more_iterations, &mut progress)
        } else {
            sample(instance, iterations, &mut progress)
        };
        taken.unwrap_or_else(Reply::from)
    }

    fn with_instance(
        &mut self,
        work: impl FnOnce(&mut dyn Instance) -> Result<Reply, FailedWork>,
    ) -> Reply {
        match self.instance.as_deref_mut() {
            Some(instance) => work(instance).unwrap_or_else(Reply::from),
            None => failed("not started".into()),
        }
    }

    fn stream<I: AsFd>(
        &mut self,
        id: u64,
        interval_ns: u64,
        duration_ns: u64,
        input: &mut LineReader<I>,
    ) -> Result<Reply, ServeError> {
        let end = now_ns().saturating_add(duration_ns);
        let mut told = Vec::new();
        // What waits there is `stop`, or the end of plumb: either ends the stream.
        while now_ns() < end && !input.is_ready() {
            let rate = &mut self.iterations_per_ns;
            let reply = match self.instance.as_deref_mut() {
                Some(instance) => interval(instance, interval_ns, rate),
                None => Err(Failure("not started".into()).into()),
            };
            match reply {
                Ok(mut samples) => {
                    // Each rule once.
                    samples.flags.retain(|flag| !told.contains(&flag.flag));
                    told.extend(samples.flags.iter().map(|flag| flag.flag.clone()));
                    self.reply(id, Reply::Samples(samples))?;
                }
                Err(failure) => return Ok(failure.into()),
            }
        }
        Ok(Reply::Done { summary: String::new() })
    }

    fn end(&mut self) -> Reply {
        let finished = self.instance.take().and_then(|mut instance| instance.finish().err());
        // All of them, also after a failure: what is not cleaned here stays on the machine.
        let cleaned = self.held.drain(..).filter_map(|held| held.clean().err());
        let failures: Vec<String> = finished.into_iter().chain(cleaned).map(|f| f.0).collect();
        if failures.is_empty() {
            Reply::Done { summary: String::new() }
        } else {
            failed(failures.join("; "))
        }
    }
}

/// Takes samples of more iterations than they report, by this share.
fn sample_with_extra(
    instance: &mut dyn Instance,
    iterations: &[u64],
    share: f64,
    progress: &mut dyn FnMut(&str),
) -> Result<Reply, FailedWork> {
    let reply = sample(instance, &with_extra(iterations, share)?, progress)?;
    Ok(match reply {
        Reply::Samples(mut taken) => {
            taken.samples.iterations = iterations.to_vec();
            Reply::Samples(taken)
        }
        reply => reply,
    })
}

/// These iterations and as many more as the share says.
fn with_extra(iterations: &[u64], share: f64) -> Result<Vec<u64>, Failure> {
    let mut more = Vec::with_capacity(iterations.len());
    for count in iterations {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a count far below 2^53"
        )]
        let extra = (*count as f64 * share).round() as u64;
        // With fewer, rounding would add another share than was asked for.
        if extra < LEAST_EXTRA {
            return Err(Failure(format!(
                "a sample of {count} iterations is too short to add {share} of them; use longer samples"
            )));
        }
        more.push(count + extra);
    }
    Ok(more)
}

fn write_reply(output: &mut impl Write, id: u64, reply: Reply) -> Result<(), ServeError> {
    let mut line = serde_json::to_vec(&ReplyLine { id, reply })
        .map_err(|error| ServeError::Reply(std::io::Error::other(error)))?;
    line.push(b'\n');
    output.write_all(&line).and_then(|()| output.flush()).map_err(ServeError::Reply)
}

fn failed(why: String) -> Reply {
    Reply::Failed { why, wrong_result: false }
}

fn refusal(error: StartError) -> Reply {
    match error {
        StartError::Unsupported { why, fix } => Reply::Unsupported { why, fix },
        StartError::Failed(why) => failed(why),
    }
}

/// The fewest iterations that are added to a sample, so that rounding changes their share by a twentieth at most.
const LEAST_EXTRA: u64 = 10;

/// A calibrating sample as long as this is not a stall.
const STALL_NS: u64 = 1_000_000_000;

/// Raises k until a sample takes half the target, then scales; if k is fixed, tries it once.
fn calibrate(instance: &mut dyn Instance, target_ns: u64) -> Result<Reply, FailedWork> {
    let mut target_ns = target_ns.max(instance.shortest_sample_ns());
    if !instance.distributions().is_empty() {
        target_ns = target_ns.max(SHORTEST_SAMPLE_NS);
    }
    let least = instance.least_iterations().max(1);
    let mut k = least;
    loop {
        let mut elapsed_ns = one_elapsed(instance, k)?;
        if instance.fixed_iterations() {
            return Ok(Reply::Calibrated { iterations: 1, elapsed_ns });
        }
        // What looks long may be a stall of the machine: it must be long twice.
        if (target_ns / 2..STALL_NS).contains(&elapsed_ns) {
            elapsed_ns = elapsed_ns.min(one_elapsed(instance, k)?);
        }
        #[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
        let wanted = target_ns as f64 / elapsed_ns as f64 * k as f64;
        // The bound on k ends the search for work that takes next to no time.
        if elapsed_ns >= target_ns / 2 || k >= 1 << 40 {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "positive and below 2^41"
            )]
            let iterations = (wanted.round() as u64).max(least);
            // Of that many, as the last ones went.
            let wide = u128::from(elapsed_ns) * u128::from(iterations) / u128::from(k);
            let elapsed_ns = u64::try_from(wide).unwrap_or(u64::MAX);
            return Ok(Reply::Calibrated { iterations, elapsed_ns });
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive; a float too large for u64 saturates, and the clamp follows"
        )]
        let next = wanted as u64;
        // At least doubled, so that the loop ends; a hundredfold at most, as a tiny sample is mostly overhead.
        k = next.clamp(k * 2, k * 100);
    }
}

fn one_elapsed(instance: &mut dyn Instance, k: u64) -> Result<u64, Failure> {
    Ok(one_sample(instance, k)?.0.elapsed_ns.first().copied().unwrap_or(0).max(1))
}

fn one_sample(instance: &mut dyn Instance, k: u64) -> Result<(Samples, Vec<Flag>), Failure> {
    let mut batch = room(instance, &[k]);
    instance.batch(&[k], &mut batch)?;
    Ok(batch.finish())
}

/// Columns for a batch, and room in the distributions of the instance.
fn room<'p>(instance: &mut dyn Instance, iterations: &[u64]) -> Batch<'p> {
    let values = iterations.iter().sum::<u64>().saturating_mul(instance.values_per_iteration());
    for distribution in instance.distributions().iter_mut() {
        distribution.make_room(iterations.len(), values);
    }
    Batch::with_room(iterations.len(), instance.value_names())
}

fn sample(
    instance: &mut dyn Instance,
    iterations: &[u64],
    progress: &mut dyn FnMut(&str),
) -> Result<Reply, FailedWork> {
    if iterations.is_empty() || iterations.contains(&0) {
        let why = "`sample` needs at least one positive number of iterations";
        return Err(Failure(why.into()).into());
    }
    let batch = room(instance, iterations).with_progress(progress);
    let (samples, usage, flags) = measured(instance, iterations, batch)?;
    Ok(Reply::Samples(SampleReply { samples, usage, flags }))
}

/// Takes these samples and verifies them, as the answer to `sample` does.
///
/// # Errors
/// When the work or its verification fails.
pub fn take(
    instance: &mut dyn Instance,
    iterations: &[u64],
) -> Result<(Samples, Vec<Flag>), Failure> {
    let batch = room(instance, iterations);
    match measured(instance, iterations, batch) {
        Ok((samples, _, flags)) => Ok((samples, flags)),
        Err(failed) => Err(Failure(failed.why)),
    }
}

fn measured(
    instance: &mut dyn Instance,
    iterations: &[u64],
    mut batch: Batch<'_>,
) -> Result<(Samples, Usage, Vec<Flag>), FailedWork> {
    let meter = UsageMeter::start(instance.helpers());
    instance.batch(iterations, &mut batch)?;
    // Before the check, whose cost is not that of the work.
    let usage = meter.finish(instance.helpers());
    verify(instance)?;
    let (mut samples, flags) = batch.finish();
    for distribution in instance.distributions() {
        samples.histograms.insert(distribution.name().to_owned(), distribution.histograms()?);
    }
    Ok((samples, usage, flags))
}

/// Checks the results of what was just done.
fn verify(instance: &mut dyn Instance) -> Result<(), FailedWork> {
    let wrong_result = instance.checks_computation();
    instance.verify().map_err(|failure| FailedWork { why: failure.0, wrong_result })
}

fn trial(instance: &mut dyn Instance, load: f64, duration_ns: u64) -> Result<Reply, FailedWork> {
    if !(load > 0.0 && load.is_finite()) || duration_ns == 0 {
        return Err(Failure("`trial` needs a load above 0 and a duration".into()).into());
    }
    let meter = UsageMeter::start(instance.helpers());
    let start_ns = now_ns();
    let TrialCounts { offered, good, flags } = instance.trial(load, duration_ns)?;
    let elapsed_ns = now_ns() - start_ns;
    let usage = meter.finish(instance.helpers());
    verify(instance)?;
    let samples = trial_samples(start_ns, elapsed_ns, clock::current_cpu(), offered, good);
    Ok(Reply::Samples(SampleReply { samples, usage, flags }))
}

/// Works for about `interval_ns` and reports it as one sample. What it learns of its own speed in one
/// interval sets the iterations of the next. What the workload reports itself is the mean over the pieces
/// of the interval, each weighted by its time.
fn interval(
    instance: &mut dyn Instance,
    interval_ns: u64,
    iterations_per_ns: &mut Option<f64>,
) -> Result<SampleReply, FailedWork> {
    let started = now_ns();
    let meter = UsageMeter::start(instance.helpers());
    let chunk_ns = (interval_ns / 10).max(1);
    let mut iterations = 0;
    let mut busy_ns = 0;
    let mut sums = vec![0.0; instance.value_names().len()];
    let mut values = vec![Vec::new(); instance.distributions().len()];
    let least = instance.least_iterations().max(1);
    // Of each rule the last, with the time of the pieces that it was of.
    let mut flags: Vec<(Flag, u64)> = Vec::new();
    // At least once, however late it is already: there would be nothing to verify.
    let cpu = loop {
        let k = iterations_per_ns.map_or(1, |rate| chunk_iterations(rate, chunk_ns)).max(least);
        let (samples, of_piece) = one_sample(instance, k)?;
        let took_ns = samples.elapsed_ns.first().copied().unwrap_or(0);
        for flag in of_piece {
            match flags.iter_mut().find(|(of_rule, _)| of_rule.flag == flag.flag) {
                Some((last, over_ns)) => {
                    *last = flag;
                    *over_ns += took_ns;
                }
                None => flags.push((flag, took_ns)),
            }
        }
        iterations += samples.iterations.first().copied().unwrap_or(0);
        let elapsed_ns = samples.elapsed_ns.first().copied().unwrap_or(1).max(1);
        busy_ns += elapsed_ns;
        add_weighted(&mut sums, instance.value_names(), &samples, elapsed_ns);
        for (all, piece) in values.iter_mut().zip(instance.distributions()) {
            all.extend_from_slice(piece.sample(0));
        }
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
        let rate = iterations as f64 / busy_ns as f64;
        *iterations_per_ns = Some(rate);
        if now_ns() - started >= interval_ns {
            break samples.cpu.first().copied().unwrap_or(-1);
        }
    };
    let usage = meter.finish(instance.helpers());
    let elapsed_ns =
        if instance.has_untimed_parts() { busy_ns } else { (now_ns() - started).max(busy_ns) };
    verify(instance)?;
    let samples = Samples {
        start_ns: vec![started],
        elapsed_ns: vec![elapsed_ns],
        iterations: vec![iterations],
        cpu: vec![cpu],
        values: means(sums, instance.value_names(), busy_ns),
        histograms: histograms(values, instance.distributions()),
    };
    // What holds of a short piece alone may be chance.
    flags.retain(|(_, over_ns)| *over_ns > busy_ns / 2);
    let flags = flags.into_iter().map(|(flag, _)| flag).collect();
    Ok(SampleReply { samples, usage, flags })
}

/// Adds what the first of these samples reports, times its length.
#[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
fn add_weighted(sums: &mut [f64], names: &[&str], samples: &Samples, elapsed_ns: u64) {
    for (sum, name) in sums.iter_mut().zip(names) {
        let value = samples.values.get(*name).and_then(|column| column.first());
        *sum += value.copied().unwrap_or(0.0) * elapsed_ns as f64;
    }
}

/// A column of one value for each name.
#[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
fn means(sums: Vec<f64>, names: &[&str], whole_ns: u64) -> BTreeMap<String, Vec<f64>> {
    let columns = sums.into_iter().map(|sum| vec![sum / whole_ns.max(1) as f64]);
    names.iter().map(|name| (*name).to_owned()).zip(columns).collect()
}

/// A column of one histogram for each distribution.
fn histograms(
    values: Vec<Vec<u64>>,
    distributions: &[Distribution],
) -> BTreeMap<String, Vec<Histogram>> {
    let names = distributions.iter().map(|distribution| distribution.name().to_owned());
    names.zip(values).map(|(name, values)| (name, vec![Histogram::of(values)])).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a positive float; too large saturates, too small becomes 1"
)]
fn chunk_iterations(rate: f64, chunk_ns: u64) -> u64 {
    ((rate * chunk_ns as f64) as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::serve;
    use crate::{
        Batch, Failure, Instance, Start, StartError, StartedWorkload, TrialCounts, Workload,
    };
    use plumb_model::{Better, Description, Metric, MetricSource, Ready, Role};
    use std::io::Write;

    /// Spins for a microsecond an iteration.
    struct Spin;

    impl Workload for Spin {
        fn describe(&self) -> Description {
            Description {
                roles: vec![Role::Workload, Role::Load],
                metrics: vec![Metric::new("time", "s", Better::Lower, MetricSource::Time, "")],
                ..Description::new("test.spin", "spins")
            }
        }
        fn manual(&self) -> &'static str {
            ""
        }
        fn start(&self, _: &Start) -> Result<StartedWorkload, StartError> {
            Ok(StartedWorkload { instance: Box::new(Spin), ready: Ready::default() })
        }
    }

    impl Instance for Spin {
        fn value_names(&self) -> &'static [&'static str] {
            &["load"]
        }
        fn values(&mut self, out: &mut [f64]) {
            out.fill(0.5);
        }
        fn trial(&mut self, load: f64, duration_ns: u64) -> Result<TrialCounts, Failure> {
            let offered = (load * duration_ns as f64 * 1e-9).round() as u64;
            Ok(TrialCounts { offered, good: offered.min(1000), flags: Vec::new() })
        }
        fn run(&mut self, iterations: u64) -> Result<(), Failure> {
            let end = crate::now_ns() + iterations * 1000;
            while crate::now_ns() < end {}
            Ok(())
        }
        fn batch(&mut self, iterations: &[u64], batch: &mut Batch<'_>) -> Result<(), Failure> {
            for &k in iterations {
                batch.progress(&format!("spins {k} times"));
                let start_ns = crate::now_ns();
                self.run(k)?;
                batch.record(start_ns, crate::now_ns() - start_ns, k, -1);
                batch.record_reported(|row| self.values(row));
            }
            Ok(())
        }
    }

    /// Closes the pipe only after 40 ms, because its end stops a stream.
    fn talk(lines: &str) -> Vec<serde_json::Value> {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(lines.as_bytes()).unwrap();
        std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(40));
            drop(writer);
        });
        let mut output = Vec::new();
        serve(&Spin, reader, &mut output).unwrap();
        let text = String::from_utf8(output).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    const START: &str =
        r#"{"id":1,"type":"start","role":"workload","params":{},"dir":"/","seed":1}"#;

    #[test]
    fn a_whole_invocation_is_answered_line_by_line() {
        let replies = talk(&format!(
            "{}\n{START}\n{}\n{}\n{}\n",
            r#"{"id":0,"type":"hello","protocol":1,"max_line":100}"#,
            r#"{"id":2,"type":"calibrate","target_ns":1000000}"#,
            r#"{"id":3,"type":"sample","iterations":[100,110,90]}"#,
            r#"{"id":4,"type":"stop"}"#,
        ));
        assert_eq!(replies[0]["type"], "hello");
        assert_eq!(replies[1]["type"], "ready");
        let k = replies[2]["iterations"].as_u64().unwrap();
        // Fewer if other tests hold it up.
        assert!((50..=1100).contains(&k), "1 ms of 1 µs iterations: {k}");
        // What it says that it is doing comes before the answer, with the id of the request.
        let texts: Vec<&str> =
            replies[3..6].iter().map(|reply| reply["text"].as_str().unwrap()).collect();
        assert_eq!(texts, ["spins 100 times", "spins 110 times", "spins 90 times"]);
        assert!(replies[3..6].iter().all(|reply| reply["type"] == "progress"));
        assert_eq!(replies[6]["iterations"], serde_json::json!([100, 110, 90]));
        assert!(replies[6]["elapsed_ns"][0].as_u64().unwrap() >= 100_000);
        assert!(replies[6]["usage"]["user_ns"].is_u64());
        assert_eq!(replies[7]["type"], "done");
        let ids: Vec<u64> = replies.iter().map(|reply| reply["id"].as_u64().unwrap()).collect();
        assert_eq!(ids, [0, 1, 2, 3, 3, 3, 3, 4]);
    }

    #[test]
    fn extra_work_is_done_and_not_reported() {
        let start =
            START.replace(r#""seed":1"#, r#""seed":1,"extra_work":{"share":0.5,"loops":0}"#);
        let replies = talk(&format!(
            "{start}\n{}\n{}\n",
            r#"{"id":2,"type":"sample","iterations":[100]}"#,
            r#"{"id":3,"type":"sample","iterations":[10]}"#,
        ));
        assert_eq!(replies[1]["text"], "spins 150 times");
        assert_eq!(replies[2]["iterations"], serde_json::json!([100]));
        assert!(replies[2]["elapsed_ns"][0].as_u64().unwrap() >= 150_000, "{replies:?}");
        // Five iterations more could be rounded by a tenth.
        assert!(
            replies[3]["why"].as_str().unwrap().contains("too short to add 0.5"),
            "{replies:?}"
        );
    }

    #[test]
    fn a_stream_gives_a_sample_an_interval_and_then_done() {
        let replies = talk(&format!(
            "{START}\n{}\n",
            r#"{"id":2,"type":"stream","interval_ns":5000000,"duration_ns":22000000}"#
        ));
        let samples = replies.iter().filter(|reply| reply["type"] == "samples").count();
        assert!((1..=5).contains(&samples), "{replies:?}");
        let load = replies[1]["values"]["load"][0].as_f64().unwrap();
        assert!(
            (load - 0.5).abs() < 1e-9,
            "what the workload reports is streamed, too: {replies:?}"
        );
        assert_eq!(replies.last().unwrap()["type"], "done");
    }

    #[test]
    fn a_trial_is_one_sample_of_counts() {
        let replies = talk(&format!(
            "{START}\n{}\n{}\n",
            r#"{"id":2,"type":"trial","load":30000.0,"duration_ns":50000000}"#,
            r#"{"id":3,"type":"trial","load":0,"duration_ns":50000000}"#,
        ));
        let counts = serde_json::json!({"offered": [1500.0], "good": [1000.0], "bad": [500.0]});
        assert_eq!(replies[1]["values"], counts);
        assert_eq!(replies[1]["iterations"], serde_json::json!([1500]));
        assert!(replies[2]["why"].as_str().unwrap().contains("a load above 0"), "{replies:?}");
    }

    #[test]
    fn work_before_start_and_empty_batches_fail_with_a_reason() {
        let replies = talk("{\"id\":1,\"type\":\"sample\",\"iterations\":[1]}\n");
        assert_eq!(replies[0]["why"], "not started");
        let replies =
            talk(&format!("{START}\n{{\"id\":2,\"type\":\"sample\",\"iterations\":[]}}\n"));
        assert_eq!(replies[1]["type"], "failed");
    }
}
