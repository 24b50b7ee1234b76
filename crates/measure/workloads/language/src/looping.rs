//! `language.loop`: the same sieve in several languages, again and again in one process, so that every loop is a sample.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use plumb_model::{AuditClass, Better, Description, Ready, Role};
use plumb_protocol::{
    Batch, Failure, Held, Instance, Start, StartError, StartedWorkload, Workload, current_cpu,
    now_ns,
};
use plumb_workload_ends::cpu_time::{TimeOfProcess, cpu_of_process};
use plumb_workload_kit::declare::{reported, reported_time, time, work, workload};
use plumb_workload_kit::processes::{die_with_parent, peak_memory, sleeps};

use crate::fixture::version;
use crate::sieve::{
    self, FIXTURE_DEPENDS_ON, PROGRAM, check_memory, end_of_process, expected_line, language,
    parameters,
};

/// The longest wait for the program to sleep between batches, in nanoseconds.
const LONGEST_WAIT_NS: u64 = 1_000_000;

/// What is reported of each sample.
const VALUES: [&str; 5] = ["first", "user", "system", "cpu", "peak_memory"];

/// The workload `language.loop`: its parameters and metrics, and how it starts.
pub(crate) struct LoopInLanguages;

impl Workload for LoopInLanguages {
    fn describe(&self) -> Description {
        Description {
            // 2: C++ uses the standard algorithms, and Go 64-bit integers, as in langs-performance.
            version: 2,
            roles: vec![Role::Workload],
            parameters: parameters(),
            metrics: vec![
                time("time", "time of a loop, from the request to the line that it prints"),
                reported_time(VALUES[0], "time of the first loop of the process, without start-up"),
                reported_time(VALUES[1], "CPU time in user mode per loop, in ticks of the kernel"),
                reported_time(VALUES[2], "CPU time in the kernel per loop, in ticks of the kernel"),
                reported_time(
                    VALUES[3],
                    "CPU time of all threads of the process per loop, over a batch",
                ),
                reported(VALUES[4], "B", Better::Lower, "largest resident memory so far"),
            ],
            fixture: Some(FIXTURE_DEPENDS_ON.map(str::to_owned).into()),
            fixture_kind: Some(PROGRAM.to_owned()),
            timeout_s: Some(3600),
            audit_class: Some(AuditClass::Cpu),
            ..workload("language.loop", "the same prime sieve in several languages, in a loop")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("looping.md")
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        sieve::prepare(start)
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let language = language(start)?;
        let limit = start.size("limit");
        check_memory(language, limit as u64, start)?;
        let mut arguments = sieve::arguments(start, limit)?;
        arguments.push("loop".into());
        let program = arguments.remove(0);
        let mut looping =
            LoopingProgram::start(Path::new(&program), &arguments, expected_line(limit))?;
        // The first loop compiles and grows the heap, which no later one has to.
        let first_ns = looping
            .once()
            .map_err(|failure| end_of_process(language, limit, &looping.errors, failure))?;
        let ready = Ready {
            work: work(&[("time", 1)]),
            versions: [version(language, start)].into(),
            ..Ready::default()
        };
        let instance = LoopInstance { processes: [looping.child.id()], looping, first_ns };
        Ok(StartedWorkload { instance: Box::new(instance), ready })
    }
}

/// A program that waits for a line, finds the primes, and prints a line. Dropping it ends it.
struct LoopingProgram {
    child: Child,
    requests: ChildStdin,
    lines: BufReader<ChildStdout>,
    expected: String,
    /// The line that came last.
    line: String,
    /// What it wrote to stderr, once it has ended.
    errors: String,
}

impl LoopingProgram {
    fn start(
        program: &Path,
        arguments: &[std::ffi::OsString],
        expected: String,
    ) -> Result<Self, Failure> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        die_with_parent(&mut command);
        let mut child = command
            .spawn()
            .map_err(|error| Failure::io(format!("starting {}", program.display()), &error))?;
        let (Some(requests), Some(lines)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure("the sieve has no pipes".to_owned()));
        };
        let line = String::with_capacity(2 * expected.len());
        let mut started = Self {
            child,
            requests,
            lines: BufReader::new(lines),
            expected,
            line,
            errors: String::new(),
        };
        started.wait_until_ready()?;
        Ok(started)
    }

    /// Reads the line that a program prints when its runtime has started.
    fn wait_until_ready(&mut self) -> Result<(), Failure> {
        match self.lines.read_line(&mut self.line) {
            Ok(_) if self.line == "ready\n" => Ok(()),
            Ok(0) => Err(self.ended_early()),
            Ok(_) => Err(Failure(format!("the sieve printed {:?} instead of ready", self.line))),
            Err(error) => Err(Failure::io("waiting for the sieve", &error)),
        }
    }

    /// One loop: its time in nanoseconds. The line is compared after the clock was read.
    fn once(&mut self) -> Result<u64, Failure> {
        self.line.clear();
        let begun = now_ns();
        let read = self
            .requests
            .write_all(b"\n")
            .and_then(|()| self.requests.flush())
            .and_then(|()| self.lines.read_line(&mut self.line));
        let took = now_ns() - begun;
        match read {
            Ok(_) if self.line == self.expected => Ok(took),
            Ok(0) => Err(self.ended_early()),
            Ok(_) => Err(Failure(format!(
                "the sieve printed {:?} instead of {:?}",
                self.line, self.expected
            ))),
            Err(error) => Err(Failure::io("asking the sieve for a loop", &error)),
        }
    }

    /// It has closed its output, so whatever it still does is of no use. Its last message says why.
    fn ended_early(&mut self) -> Failure {
        self.child.kill().ok();
        if let Some(mut from) = self.child.stderr.take() {
            from.read_to_string(&mut self.errors).ok();
        }
        let last = self.errors.lines().rev().find(|line| !line.trim().is_empty());
        let why = last.unwrap_or("it printed no error");
        Failure(format!("the sieve exited before it printed a line: {why}"))
    }
}

impl Drop for LoopingProgram {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

struct LoopInstance {
    looping: LoopingProgram,
    first_ns: u64,
    processes: [u32; 1],
}

impl LoopInstance {
    fn cpu_ns(&self) -> Result<u64, Failure> {
        cpu_of_process(self.processes[0])
    }

    fn ticks(&self) -> TimeOfProcess {
        TimeOfProcess::of(self.processes[0])
    }

    /// Waits until the program waits for the next request. The kernel updates the CPU clock of a thread that runs on another
    /// CPU only at ticks, so a clock that is read right after the line lacks up to 10 ms of the loop.
    fn wait_until_asleep(&self) {
        let begun = now_ns();
        // A runtime whose first thread does not read the requests may never look asleep.
        while !sleeps(self.processes[0]) && now_ns() - begun < LONGEST_WAIT_NS {
            std::thread::yield_now();
        }
    }
}

impl Instance for LoopInstance {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        (0..iterations).try_for_each(|_| self.looping.once().map(drop))
    }

    #[expect(clippy::cast_precision_loss, reason = "times and counts stay far below 2^53")]
    fn batch(&mut self, iterations: &[u64], batch: &mut Batch<'_>) -> Result<(), Failure> {
        self.wait_until_asleep();
        let before = self.ticks();
        let cpu_before = self.cpu_ns()?;
        for &count in iterations {
            let begun = now_ns();
            self.run(count)?;
            batch.record(begun, now_ns() - begun, count, current_cpu());
        }
        self.wait_until_asleep();
        let loops = iterations.iter().sum::<u64>() as f64;
        let cpu_s = self.cpu_ns()?.saturating_sub(cpu_before) as f64 / 1e9;
        let ticks = self.ticks().since(&before);
        let memory = peak_memory(&self.processes[0].to_string()) as f64;
        let values = [
            self.first_ns as f64 / 1e9,
            ticks.user_s / loops,
            ticks.system_s / loops,
            cpu_s / loops,
            memory,
        ];
        iterations.iter().for_each(|_| batch.record_values(&values));
        Ok(())
    }

    fn value_names(&self) -> &'static [&'static str] {
        &VALUES
    }

    fn has_untimed_parts(&self) -> bool {
        true
    }

    fn helpers(&self) -> &[u32] {
        &self.processes
    }
}
