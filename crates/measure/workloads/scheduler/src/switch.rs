//! `scheduler.switch`: a ring of tasks that hand on a token through pipes, each with its own memory.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;

use plumb_model::{AuditClass, CurveKind, Description, Ready};
use plumb_protocol::{
    Batch, Failure, Instance, Start, StartError, StartedWorkload, Workload, current_cpu, now_ns,
};
use plumb_workload_kit::affinity::CpuSet;
use plumb_workload_kit::child::{Child, close_in_child};
use plumb_workload_kit::declare::{
    between, bytes, curve, integer, reported_time, time, work, workload,
};
use plumb_workload_kit::limits::{room_for_files, room_for_tasks};
use plumb_workload_kit::placement::{Placement, in_words, placement_or};

use crate::counters::{self, TaskCounters};
use crate::task_mode::TaskMode;

/// The workload `scheduler.switch`: its parameters and metrics, and how it starts.
pub(crate) struct Switch;

/// Names of what every sample reports, in the order of the metrics.
const VALUE_NAMES: [&str; 3] = ["token", counters::NAMES[0], counters::NAMES[1]];

/// Size of a task's stack; its memory lies elsewhere.
const STACK_BYTES: usize = 64 << 10;

/// How often the token alone is timed before each batch; the median counts.
const TOKEN_CHUNKS: usize = 5;
/// How long each of these lasts, in nanoseconds.
const TOKEN_CHUNK_NS: u64 = 500_000;

impl Workload for Switch {
    fn describe(&self) -> Description {
        let mut metrics = vec![
            time(
                "time",
                "time of one hand-over: a write, a switch, a read, and reading `size` bytes",
            ),
            reported_time("token", "the same with a single task, without a switch"),
        ];
        metrics.extend(counters::metrics("hand-over"));
        Description {
            parameters: vec![
                between(1, 10_000, integer("tasks", "tasks", 2, "tasks in the ring")),
                curve(
                    CurveKind::Plateaus,
                    bytes("size", 0, "private memory that each task reads per hand-over"),
                ),
                placement_or("same-cpu"),
                TaskMode::parameter("type of the tasks"),
            ],
            metrics,
            audit_class: Some(AuditClass::Scheduler),
            ..workload(
                "scheduler.switch",
                "a ring of tasks passes a token through pipes, each with private memory",
            )
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("switch.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let tasks = start.size("tasks");
        let words = check_size(start, tasks)?;
        let placed = Placement::of(start)?.cpus(tasks, &start.facts)?;
        let note = placed.as_deref().map_or_else(|| "not pinned".into(), in_words);
        room_for_tasks(tasks as u64 - 1)?;
        let mode = TaskMode::of(start);
        // Threads keep both ends of all pipes open; with processes each end is closed once its task has it.
        room_for_files(match mode {
            TaskMode::Thread => 2 * tasks as u64 + 2,
            TaskMode::Process => 8,
        })?;
        let before = CpuSet::current()?;
        let own = placed.as_ref().map(|cpus| CpuSet::only(cpus[0]));
        let ring = TaskRing::assemble(tasks, words, mode, placed.as_deref())?;
        if let Some(own) = own {
            own.apply()?;
        }
        let helpers: Vec<u32> = ring.others.iter().filter_map(RingTask::pid).collect();
        let counters = TaskCounters::of(&helpers);
        let mut ready = Ready { work: work(&[("time", tasks as u64)]), ..Ready::default() };
        ready.notes.push(format!("{tasks} tasks {note}"));
        counters.describe(&mut ready);
        let mut rounds = Rounds {
            ring,
            alone: pipe()?,
            tasks,
            count: 0,
            names: counters.names(&VALUE_NAMES),
            counters,
            helpers,
            before,
        };
        rounds.run(1)?;
        Ok(StartedWorkload { instance: Box::new(rounds), ready })
    }
}

/// How many words of 8 bytes each task reads.
fn check_size(start: &Start, tasks: usize) -> Result<usize, StartError> {
    let size = start.size("size");
    let most = usize::try_from(start.facts.memory_bytes / 2).unwrap_or(usize::MAX) / tasks;
    if most > 0 && size > most {
        return Err(StartError::unsupported(
            format!(
                "{tasks} tasks of {size} bytes need more than half of the memory that plumb may use"
            ),
            format!("set size to {most} or less"),
        ));
    }
    Ok(size / 8)
}

fn pipe() -> Result<(File, File), Failure> {
    let (reader, writer) = io::pipe().map_err(|e| Failure::io("creating a pipe", &e))?;
    Ok((OwnedFd::from(reader).into(), OwnedFd::from(writer).into()))
}

/// The message that goes round to end all tasks, in place of a count.
const STOP: i32 = -1;
/// What a task passes on that finds its own memory, or the token, damaged.
const DAMAGED: i32 = -2;

/// What a task reads at its turn: words that it wrote itself, and their sum.
struct TaskMemory {
    words: Vec<u64>,
    sum: u64,
}

impl TaskMemory {
    /// Touched by the caller.
    fn new(words: usize) -> Self {
        Self { words: vec![1; words], sum: words as u64 }
    }

    /// Makes the pages the caller's own, if they are shared since a fork.
    fn touch(&mut self) {
        self.words.fill(std::hint::black_box(1));
    }

    fn is_whole(&self) -> bool {
        sum_of(&self.words) == self.sum
    }
}

/// Reads all words.
#[inline(never)]
fn sum_of(words: &[u64]) -> u64 {
    words.iter().fold(0, |sum, word| sum.wrapping_add(*word))
}

/// A task of the ring besides the worker.
enum RingTask {
    Process(Child),
    Thread(Option<JoinHandle<()>>),
}

impl RingTask {
    fn pid(&self) -> Option<u32> {
        match self {
            Self::Process(child) => Some(child.pid()),
            Self::Thread(_) => None,
        }
    }
}

/// The worker's place in the ring, and the other tasks.
struct TaskRing {
    output: File,
    input: File,
    own: TaskMemory,
    others: Vec<RingTask>,
}

impl TaskRing {
    /// Makes all tasks, each with the reading end of one pipe and the writing end of the next.
    fn assemble(
        tasks: usize,
        words: usize,
        mode: TaskMode,
        cpus: Option<&[usize]>,
    ) -> Result<Self, Failure> {
        let (mut input, output) = pipe()?;
        let mut others = Vec::with_capacity(tasks);
        let mut own = TaskMemory::new(words);
        for index in 1..tasks {
            let (next_input, next_output) = pipe()?;
            let set = cpus.map(|cpus| CpuSet::only(cpus[index]));
            others.push(match mode {
                TaskMode::Thread => {
                    let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
                    let thread = builder.spawn(move || {
                        if is_placed(set.as_ref()) {
                            hand_on(&input, &next_output, &mut TaskMemory::new(words));
                        }
                    });
                    let why = "starting a thread (raise `ulimit -u` or pids.max)";
                    RingTask::Thread(Some(thread.map_err(|e| Failure::io(why, &e))?))
                }
                TaskMode::Process => RingTask::Process(Child::fork(|| {
                    // Without the worker's ends, its death is seen as the end of a pipe.
                    close_in_child(&output);
                    close_in_child(&next_input);
                    own.touch();
                    is_placed(set.as_ref()) && hand_on(&input, &next_output, &mut own)
                })?),
            });
            input = next_input;
        }
        Ok(Self { output, input, own, others })
    }
}

/// Puts the calling task on its CPUs, if it has any. True unless the kernel refuses.
fn is_placed(set: Option<&CpuSet>) -> bool {
    set.is_none_or(|set| set.apply().is_ok())
}

/// A task's whole life: the token comes, the task looks through its memory and hands on a larger token.
fn hand_on(mut input: &File, mut output: &File, own: &mut TaskMemory) -> bool {
    let mut token = [0; 4];
    loop {
        if input.read_exact(&mut token).is_err() {
            return true;
        }
        let count = i32::from_ne_bytes(token);
        let next = match count {
            STOP => STOP,
            count if own.is_whole() => count.wrapping_add(1),
            _ => DAMAGED,
        };
        if output.write_all(&next.to_ne_bytes()).is_err() {
            return false;
        }
        if count == STOP {
            return true;
        }
    }
}

struct Rounds {
    ring: TaskRing,
    /// The pipe for the token alone.
    alone: (File, File),
    tasks: usize,
    count: i32,
    counters: TaskCounters,
    names: &'static [&'static str],
    helpers: Vec<u32>,
    before: CpuSet,
}

/// One turn of one task: the token goes out, comes back, and the memory is looked through.
#[inline(always)]
fn turn(mut output: &File, mut input: &File, own: &TaskMemory, count: i32) -> Result<i32, Failure> {
    let mut token = [0; 4];
    let sent = output.write_all(&count.to_ne_bytes());
    let got = sent.and_then(|()| input.read_exact(&mut token));
    got.map_err(|e| Failure::io("passing the token", &e))?;
    if own.is_whole() { Ok(i32::from_ne_bytes(token)) } else { Ok(DAMAGED) }
}

impl Rounds {
    /// What the token costs alone, in seconds: the median of a few stretches.
    #[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
    fn token(&self) -> Result<f64, Failure> {
        let mut costs = [0.0; TOKEN_CHUNKS];
        for cost in &mut costs {
            let mut turns = 0_u32;
            let start = now_ns();
            let elapsed = loop {
                // The clock is read once in 16 turns.
                for _ in 0..16 {
                    turn(&self.alone.1, &self.alone.0, &self.ring.own, 0)?;
                }
                turns += 16;
                let elapsed = now_ns() - start;
                if elapsed >= TOKEN_CHUNK_NS {
                    break elapsed;
                }
            };
            *cost = elapsed as f64 * 1e-9 / f64::from(turns);
        }
        costs.sort_by(f64::total_cmp);
        Ok(costs[TOKEN_CHUNKS / 2])
    }
}

impl Instance for Rounds {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        let added = i32::try_from(self.tasks - 1).unwrap_or(i32::MAX);
        for _ in 0..iterations {
            let wanted = self.count + added;
            let got = turn(&self.ring.output, &self.ring.input, &self.ring.own, self.count)?;
            if got != wanted {
                let how = if got == DAMAGED { "damaged".into() } else { got.to_string() };
                return Err(Failure(format!(
                    "after passing through {} tasks, the token was {how} instead of {wanted}",
                    self.tasks
                )));
            }
            // Back to 0 long before it overflows: negative tokens have their own meaning.
            self.count = if got > i32::MAX / 2 { 0 } else { got };
        }
        Ok(())
    }

    fn value_names(&self) -> &'static [&'static str] {
        self.names
    }

    /// Times the token alone before, and counts switches after each sample.
    #[expect(clippy::cast_precision_loss, reason = "counts of one sample stay far below 2^53")]
    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        let token = self.token()?;
        self.counters.begin();
        for &k in iterations {
            let start_ns = now_ns();
            self.run(k)?;
            let elapsed_ns = now_ns() - start_ns;
            batch.record(start_ns, elapsed_ns, k, current_cpu());
            let (counted, told) = self.counters.since(k as f64 * self.tasks as f64);
            batch.record_values(&[token]);
            batch.record_values(&counted[..told]);
        }
        Ok(())
    }

    fn helpers(&self) -> &[u32] {
        &self.helpers
    }
}

impl Drop for Rounds {
    fn drop(&mut self) {
        // Goes round once; each task that passes it on ends.
        let _ = (&self.ring.output).write_all(&STOP.to_ne_bytes());
        for task in &mut self.ring.others {
            match task {
                RingTask::Process(child) => drop(child.wait()),
                RingTask::Thread(thread) => drop(thread.take().map(JoinHandle::join)),
            }
        }
        let _ = self.before.apply();
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::{DAMAGED, STOP, TaskMemory, hand_on, pipe};

    #[test]
    fn a_task_hands_on_a_larger_token_and_tells_of_damage() {
        let (input, mut to_task) = pipe().unwrap();
        let (mut from_task, output) = pipe().unwrap();
        let mut own = TaskMemory::new(100);
        own.touch();
        for token in [41, STOP] {
            to_task.write_all(&i32::to_ne_bytes(token)).unwrap();
        }
        assert!(hand_on(&input, &output, &mut own));
        own.words[57] = 0;
        for token in [41, STOP] {
            to_task.write_all(&i32::to_ne_bytes(token)).unwrap();
        }
        assert!(hand_on(&input, &output, &mut own));
        let mut handed = [0; 16];
        from_task.read_exact(&mut handed).unwrap();
        let tokens: Vec<i32> =
            handed.chunks(4).map(|token| i32::from_ne_bytes(token.try_into().unwrap())).collect();
        assert_eq!(tokens, [42, STOP, DAMAGED, STOP]);
    }
}
