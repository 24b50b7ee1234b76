//! The tasks of one hackbench run: made, kicked off together, and reaped.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use plumb_protocol::{Failure, Start, now_ns};

use plumb_workload_kit::child::{Child, close_in_child, read_full, wait_readable, write_full};
use plumb_workload_kit::placement::TasksInTurn;
use plumb_workload_kit::spawn::describe_end;

use crate::task_mode::TaskMode;

/// The transport of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HackbenchTransport {
    /// A pair of sockets for each receiver.
    Socket,
    /// A pipe for each receiver.
    Pipe,
}

impl HackbenchTransport {
    /// Reads the parameter `transport`.
    pub(crate) fn of(start: &Start) -> Self {
        match start.text("transport") {
            "pipe" => Self::Pipe,
            _ => Self::Socket,
        }
    }
}

/// The parameters of a run.
#[derive(Debug, Clone)]
pub(crate) struct HackbenchShape {
    pub(crate) groups: usize,
    /// Senders, and receivers, of a group.
    pub(crate) fds: usize,
    /// Messages from each sender to each receiver.
    pub(crate) loops: usize,
    /// Size of a message.
    pub(crate) bytes: usize,
    pub(crate) transport: HackbenchTransport,
    /// The type of senders and receivers.
    pub(crate) mode: TaskMode,
    /// The CPU of each task, in the order in which they are made; None if they are not pinned.
    pub(crate) cpus: Option<Vec<usize>>,
}

impl HackbenchShape {
    /// Messages of a run: every sender to every receiver of its group, `loops` times.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    pub(crate) fn messages(&self) -> f64 {
        self.groups as f64 * self.fds as f64 * self.fds as f64 * self.loops as f64
    }

    /// Senders and receivers of a run.
    pub(crate) fn tasks(&self) -> u64 {
        2 * self.groups as u64 * self.fds as u64
    }

    /// Descriptors that the worker holds at most: both ends of each receiver's channel, for threads
    /// all at once; with processes the reading end is closed once its receiver has it. Two pipes for
    /// readiness and kick-off come on top.
    pub(crate) fn descriptors(&self) -> u64 {
        let fds = self.fds as u64;
        let of_channels = match self.mode {
            TaskMode::Thread => 2 * self.groups as u64 * fds,
            TaskMode::Process => fds + 1,
        };
        4 + of_channels
    }
}

/// When a run was kicked off, and how long it took until the last task was reaped.
pub(crate) struct HackbenchTime {
    pub(crate) start_ns: u64,
    pub(crate) elapsed_ns: u64,
}

/// All tasks of a run, in their groups, made and waiting.
pub(crate) struct HackbenchGroups {
    tasks: Vec<HackbenchTask>,
    kick: File,
    cancelled: Arc<AtomicBool>,
    /// Ends that threads use; closed after the run.
    _channels: Vec<Arc<ReceiverChannel>>,
}

/// A sender or a receiver, to be reaped.
enum HackbenchTask {
    Process(Child),
    Thread(Option<JoinHandle<bool>>),
}

/// Both ends of what a receiver reads from.
struct ReceiverChannel {
    input: File,
    output: File,
}

/// What tasks need to wait for the kick-off.
struct StartGate {
    ready: File,
    kicked: File,
    cancelled: Arc<AtomicBool>,
}

/// How long the making of all tasks may take before the run is given up.
const READY_TIMEOUT_MS: i32 = 60_000;

/// Stack of a sender or receiver thread.
const STACK_BYTES: usize = 64 * 1024;

impl HackbenchGroups {
    /// Makes all tasks and waits until each says that it is ready.
    ///
    /// # Errors
    /// When there is no room for them.
    pub(crate) fn assemble(shape: &HackbenchShape) -> Result<Self, Failure> {
        let (mut heard, ready) = pipe()?;
        let (kicked, kick) = pipe()?;
        let cancelled = Arc::new(AtomicBool::new(false));
        let gate = Arc::new(StartGate { ready, kicked, cancelled: Arc::clone(&cancelled) });
        let message = Arc::new((0..=u8::MAX).cycle().take(shape.bytes).collect::<Vec<u8>>());
        let count = usize::try_from(shape.tasks()).unwrap_or(usize::MAX);
        let mut groups =
            Self { tasks: Vec::with_capacity(count), kick, cancelled, _channels: Vec::new() };
        let mut turns = shape.cpus.as_deref().map(TasksInTurn::new).transpose()?;
        let mut next = || turns.as_mut().map_or(Ok(()), TasksInTurn::go_to_next);
        for _ in 0..shape.groups {
            match shape.mode {
                TaskMode::Thread => groups.add_threads(shape, &gate, &message, &mut next)?,
                TaskMode::Process => groups.add_processes(shape, &gate, &message, &mut next)?,
            }
        }
        // The maker goes back to its own CPUs before it waits for the tasks.
        drop(turns);
        for done in 0..count {
            if !wait_readable(heard.as_raw_fd(), READY_TIMEOUT_MS) {
                return Err(Failure(format!("only {done} of {count} tasks became ready")));
            }
            heard
                .read_exact(&mut [0])
                .map_err(|e| Failure::io("waiting for a task to become ready", &e))?;
        }
        Ok(groups)
    }

    /// A group of processes. As in hackbench a child keeps what its parent had open, but a receiver
    /// closes its own writing end.
    fn add_processes(
        &mut self,
        shape: &HackbenchShape,
        gate: &StartGate,
        message: &[u8],
        next: &mut impl FnMut() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut outputs = Vec::with_capacity(shape.fds);
        for _ in 0..shape.fds {
            let channel = ReceiverChannel::new(shape.transport)?;
            let mut inbox = vec![0; shape.bytes];
            next()?;
            let child = Child::fork(|| {
                // With a writing end of its own it would never see the end of the channel.
                close_in_child(&channel.output);
                gate.pass() && receive(&channel.input, shape, &mut inbox, message)
            })?;
            self.tasks.push(HackbenchTask::Process(child));
            outputs.push(channel.output);
        }
        for _ in 0..shape.fds {
            next()?;
            let child = Child::fork(|| gate.pass() && send(outputs.iter(), shape, message))?;
            self.tasks.push(HackbenchTask::Process(child));
        }
        Ok(())
    }

    fn add_threads(
        &mut self,
        shape: &HackbenchShape,
        gate: &Arc<StartGate>,
        message: &Arc<Vec<u8>>,
        next: &mut impl FnMut() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let channels = (0..shape.fds)
            .map(|_| ReceiverChannel::new(shape.transport).map(Arc::new))
            .collect::<Result<Vec<_>, _>>()?;
        for channel in &channels {
            let shape = shape.clone();
            let gate = Arc::clone(gate);
            let message = Arc::clone(message);
            let channel = Arc::clone(channel);
            let mut inbox = vec![0; shape.bytes];
            next()?;
            self.add_thread(move || {
                gate.pass() && receive(&channel.input, &shape, &mut inbox, &message)
            })?;
        }
        for _ in 0..shape.fds {
            let shape = shape.clone();
            let gate = Arc::clone(gate);
            let message = Arc::clone(message);
            let channels = channels.clone();
            next()?;
            self.add_thread(move || {
                gate.pass()
                    && send(channels.iter().map(|channel| &channel.output), &shape, &message)
            })?;
        }
        self._channels.extend(channels);
        Ok(())
    }

    fn add_thread(&mut self, work: impl FnOnce() -> bool + Send + 'static) -> Result<(), Failure> {
        let thread = std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn(work)
            .map_err(|e| Failure::io("starting a thread (raise `ulimit -u` or pids.max)", &e))?;
        self.tasks.push(HackbenchTask::Thread(Some(thread)));
        Ok(())
    }

    /// Kicks all tasks off and reaps them: hackbench's timed section, whole.
    ///
    /// # Errors
    /// When a task did not send or receive all its bytes.
    pub(crate) fn work(mut self) -> Result<HackbenchTime, Failure> {
        let start_ns = now_ns();
        let kicked = self.kick.write_all(&[0]);
        let outcome = self.tasks.iter_mut().try_for_each(HackbenchTask::reap);
        let elapsed_ns = now_ns() - start_ns;
        kicked.map_err(|e| Failure::io("starting the tasks", &e))?;
        outcome.map(|()| HackbenchTime { start_ns, elapsed_ns })
    }
}

/// Groups that are given up end their threads; processes are killed by their own drop.
impl Drop for HackbenchGroups {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Release);
        for task in &mut self.tasks {
            if let HackbenchTask::Thread(Some(thread)) = task
                && !thread.is_finished()
            {
                // A thread that waits at the gate has to be let through: it can't be killed.
                let _ = self.kick.write_all(&[0]);
                drop(task.reap());
            }
        }
    }
}

impl HackbenchTask {
    fn reap(&mut self) -> Result<(), Failure> {
        match self {
            Self::Process(child) => {
                let status = child.wait()?;
                if status.success() {
                    return Ok(());
                }
                Err(Failure(format!(
                    "a task did not transfer all its bytes ({})",
                    describe_end(status)
                )))
            }
            Self::Thread(thread) => match thread.take().map(JoinHandle::join) {
                Some(Ok(true)) => Ok(()),
                _ => Err(Failure("a thread did not transfer all its bytes".into())),
            },
        }
    }
}

impl StartGate {
    /// Says that this task is ready and waits for the kick-off. True unless the run is cancelled.
    fn pass(&self) -> bool {
        // The byte of the kick-off is waited for and never read: it stays in the pipe and lets every task through.
        (&self.ready).write_all(&[0]).is_ok()
            && wait_readable(self.kicked.as_raw_fd(), -1)
            && !self.cancelled.load(Ordering::Acquire)
    }
}

impl ReceiverChannel {
    fn new(transport: HackbenchTransport) -> Result<Self, Failure> {
        match transport {
            HackbenchTransport::Pipe => {
                let (input, output) = pipe()?;
                Ok(Self { input, output })
            }
            HackbenchTransport::Socket => {
                let (input, output) =
                    UnixStream::pair().map_err(|e| Failure::io("creating a socket pair", &e))?;
                Ok(Self {
                    input: OwnedFd::from(input).into(),
                    output: OwnedFd::from(output).into(),
                })
            }
        }
    }
}

fn pipe() -> Result<(File, File), Failure> {
    let (reader, writer) = io::pipe().map_err(|e| Failure::io("creating a pipe", &e))?;
    Ok((OwnedFd::from(reader).into(), OwnedFd::from(writer).into()))
}

/// Writes `loops` messages to each output in turn. True when all were written.
fn send<'a>(
    outputs: impl Iterator<Item = &'a File> + Clone,
    shape: &HackbenchShape,
    message: &[u8],
) -> bool {
    (0..shape.loops).all(|_| outputs.clone().all(|output| write_full(output.as_raw_fd(), message)))
}

/// Reads the messages of all senders. True when all came, and the last as it was sent.
fn receive(input: &File, shape: &HackbenchShape, inbox: &mut [u8], message: &[u8]) -> bool {
    (0..shape.fds * shape.loops).all(|_| read_full(input.as_raw_fd(), inbox)) && inbox == message
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{
        HackbenchGroups, HackbenchShape, HackbenchTransport, ReceiverChannel, TaskMode, receive,
    };

    fn shape(transport: HackbenchTransport, mode: TaskMode) -> HackbenchShape {
        HackbenchShape { groups: 2, fds: 3, loops: 5, bytes: 100, transport, mode, cpus: None }
    }

    #[test]
    fn every_kind_of_group_passes_on_all_its_bytes() {
        for transport in [HackbenchTransport::Socket, HackbenchTransport::Pipe] {
            for mode in [TaskMode::Process, TaskMode::Thread] {
                let shape = shape(transport, mode);
                let run = HackbenchGroups::assemble(&shape).unwrap().work().unwrap();
                assert!(run.elapsed_ns > 0, "{shape:?}");
            }
        }
        let shape = shape(HackbenchTransport::Socket, TaskMode::Process);
        assert_eq!(shape.tasks(), 12);
        assert!((shape.messages() - 90.0).abs() < 1e-9);
    }

    #[test]
    fn a_crew_that_is_cancelled_leaves_nothing_behind() {
        for mode in [TaskMode::Process, TaskMode::Thread] {
            drop(HackbenchGroups::assemble(&shape(HackbenchTransport::Pipe, mode)).unwrap());
        }
    }

    #[test]
    fn a_receiver_notices_lost_and_damaged_bytes() {
        let shape = HackbenchShape {
            groups: 1,
            fds: 1,
            loops: 2,
            ..shape(HackbenchTransport::Pipe, TaskMode::Thread)
        };
        let message = vec![7; 100];
        let receive_of = |bytes: &[u8]| {
            let ReceiverChannel { input, mut output } =
                ReceiverChannel::new(HackbenchTransport::Pipe).unwrap();
            output.write_all(bytes).unwrap();
            drop(output);
            receive(&input, &shape, &mut [0; 100], &message)
        };
        assert!(receive_of(&[7; 200]));
        assert!(!receive_of(&[7; 199]), "one byte is missing");
        let mut damaged = [7; 200];
        damaged[150] = 8;
        assert!(!receive_of(&damaged));
    }
}
