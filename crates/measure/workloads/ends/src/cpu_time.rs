//! CPU time of both ends of a workload: of this process, and of its server.
//!
//! The kernel tells that of a server on this machine. On another one the server tells it whoever knows a token, over a connection of its
//! own and between batches: nothing of that is in a timed section.
#![expect(unsafe_code, reason = "the CPU clock of another process has no safe form")]

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use plumb_model::{Metric, Role};
use plumb_protocol::{Failure, Held, Start};

use plumb_workload_kit::processes::{cpu_ns, descendants};

use crate::server::TcpServer;
use crate::token::{self, TOKEN};
use plumb_workload_kit::declare::reported_time;

/// The metrics, in the order of their values: of the server, and of the measured process.
pub const NAMES: [&str; 2] = ["far_cpu", "near_cpu"];

/// Words of a server.
const ADDRESS: &str = "cpu.address";
const OPEN_TO: &str = "cpu.token";
const PROCESS: &str = "cpu.process";

/// How long the last processes of a server may take to end.
const TO_END: Duration = Duration::from_secs(1);

/// How long a server may take to be reached, and to answer.
const TO_REACH: Duration = Duration::from_secs(3);
const TO_ANSWER: Duration = Duration::from_secs(20);

/// CPU time of all threads of this process so far, in nanoseconds.
#[must_use]
pub fn cpu_time_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// The two metrics, in seconds for each `unit` of work.
#[must_use]
pub fn metrics(unit: &str) -> [Metric; 2] {
    [
        reported_time(NAMES[0], &format!("CPU time of the server per {unit}")),
        reported_time(NAMES[1], &format!("CPU time of the measured process per {unit}")),
    ]
}

/// The words of a server about itself, by name.
pub type Words = Vec<(String, String)>;

/// What lets a client know the CPU time of this process, which is its server: words for it, and what has to be held. On another machine
/// that is its own port at the address where the client is served.
///
/// # Errors
/// When there is no free port.
pub fn told(start: &Start) -> Result<(Words, Box<dyn Held>), Failure> {
    let Some(address) = start.far_address() else {
        let process = (PROCESS.to_owned(), std::process::id().to_string());
        return Ok((vec![process], Box::new(())));
    };
    told_at(address, cpu_time_ns)
}

/// What lets a client know the CPU time of a server on this machine that is a program of its own.
#[must_use]
pub fn of_process(process: u32) -> (String, String) {
    (PROCESS.to_owned(), process.to_string())
}

/// The same for a client on another machine, of any CPU time in nanoseconds.
///
/// # Errors
/// As for [`told`].
pub fn told_at(
    address: IpAddr,
    cpu_ns: impl Fn() -> u64 + Send + Sync + 'static,
) -> Result<(Words, Box<dyn Held>), Failure> {
    let (words, server) = teller(address, cpu_ns)?;
    Ok((words.into(), Box::new(server)))
}

fn teller(
    address: IpAddr,
    cpu_ns: impl Fn() -> u64 + Send + Sync + 'static,
) -> Result<([(String, String); 2], TcpServer), Failure> {
    let token = token::fresh()?;
    let server = TcpServer::start(address, move |mut stream| {
        let mut given = [0; TOKEN];
        stream.read_exact(&mut given)?;
        if given != token {
            return Ok(());
        }
        stream.set_read_timeout(None)?;
        let mut asked = [0];
        loop {
            stream.read_exact(&mut asked)?;
            stream.write_all(&cpu_ns().to_le_bytes())?;
        }
    });
    let server = server.map_err(|error| Failure::io(format!("listening on {address}"), &error))?;
    let words = [
        (ADDRESS.to_owned(), server.address().to_string()),
        (OPEN_TO.to_owned(), u128::from_le_bytes(token).to_string()),
    ];
    Ok((words, server))
}

/// CPU time of both ends since a moment, for each unit of work: means over all that a process takes at once.
#[derive(Debug)]
pub struct CpuTimes {
    far: Far,
    /// Processes of one thread that work for the server, on this machine.
    far_helpers: Vec<u32>,
    /// Processes of one thread that work for this one.
    helpers: Vec<u32>,
    /// Whether processes that this one has started, and that have ended, count as well.
    with_children: bool,
    /// When it began, in the order of [`NAMES`].
    begun_ns: [u64; 2],
    /// A note for the reader.
    note: Option<String>,
}

/// Who knows the CPU time of the server.
#[derive(Debug)]
enum Far {
    /// Nobody: it is not plumb's, or not reached.
    Unknown,
    /// The kernel: its process runs here.
    Here(libc::clockid_t),
    /// The kernel, of a server here together with its processes that have ended, to the clock tick.
    WithChildren(u32),
    /// It tells it.
    There(TcpStream),
}

impl CpuTimes {
    /// Of this process, and of the server that was started for it, if one was. A load does not ask a server elsewhere, as it would idle
    /// meanwhile.
    #[must_use]
    pub fn of(start: &Start) -> Self {
        let words = &start.endpoints;
        // The id of a process of another machine means something else here.
        let process = words
            .get(PROCESS)
            .filter(|_| start.far_address().is_none())
            .and_then(|id| id.parse().ok())
            .and_then(clock_of);
        let address = words.get(ADDRESS).and_then(|text| text.parse::<SocketAddr>().ok());
        let token = words.get(OPEN_TO).and_then(|text| text.parse::<u128>().ok());
        let there = address.zip(token).filter(|_| start.role != Role::Load);
        let mut note = None;
        let far = match (process, there) {
            (Some(clock), _) => Far::Here(clock),
            (None, Some((told, token))) => connect(token::at_far_end(start, told), token)
                .map_or_else(
                    |error| {
                        note = Some(format!("can't read the server's CPU time: {error}"));
                        Far::Unknown
                    },
                    Far::There,
                ),
            (None, None) => Far::Unknown,
        };
        Self {
            far,
            far_helpers: Vec::new(),
            helpers: Vec::new(),
            with_children: false,
            begun_ns: [0; 2],
            note,
        }
    }

    /// With the CPU time of these processes of one thread: at this end, and of a server on this machine.
    #[must_use]
    pub fn and_of(self, near: Vec<u32>, far: Vec<u32>) -> Self {
        Self { helpers: near, far_helpers: far, ..self }
    }

    /// With processes that this one and the server start for each unit of work, once they have ended. Without a server on
    /// this machine only those of this end: one elsewhere tells of the processes that it has, and not of those that ended.
    #[must_use]
    pub fn with_children(self, server: Option<u32>) -> Self {
        let far = server.map_or(Far::Unknown, Far::WithChildren);
        Self { far, with_children: true, ..self }
    }

    fn far_ns(&mut self) -> Result<u64, Failure> {
        Ok(self.far.now_ns()? + sum_of(&self.far_helpers))
    }

    fn near_ns(&self) -> u64 {
        let children = if self.with_children { children_ns() } else { 0 };
        cpu_time_ns() + sum_of(&self.helpers) + children
    }

    /// How many of [`NAMES`] have no value, from the first on.
    #[must_use]
    pub fn lacking(&self) -> usize {
        usize::from(matches!(self.far, Far::Unknown) && self.far_helpers.is_empty())
    }

    /// Why there is no value of the server that should have one.
    pub fn note(&mut self) -> Option<String> {
        self.note.take()
    }

    /// Whether it waits for another machine at the borders of a batch.
    #[must_use]
    pub fn asks(&self) -> bool {
        matches!(self.far, Far::There(_))
    }

    /// Begins again.
    ///
    /// # Errors
    /// When the server does not answer.
    pub fn begin(&mut self) -> Result<(), Failure> {
        let far = self.far_ns()?;
        self.begun_ns = [far, self.near_ns()];
        Ok(())
    }

    /// Seconds for each of so many units of work since it began, in the order of [`NAMES`].
    ///
    /// # Errors
    /// When the server does not answer.
    #[expect(clippy::cast_precision_loss, reason = "times and amounts stay far below 2^53")]
    pub fn of_each(&mut self, units: u64) -> Result<[f64; 2], Failure> {
        let near = self.near_ns();
        let far = self.far_ns()?;
        let since = [far, near].into_iter().zip(self.begun_ns);
        let mut of_each = [0.0; 2];
        for (of_end, (now, begun)) in of_each.iter_mut().zip(since) {
            *of_end = now.saturating_sub(begun) as f64 / 1e9 / units.max(1) as f64;
        }
        Ok(of_each)
    }
}

impl Far {
    fn now_ns(&mut self) -> Result<u64, Failure> {
        let now = match self {
            Self::Unknown => Ok(0),
            Self::Here(clock) => time_of(*clock),
            Self::WithChildren(process) => {
                wait_for_children(*process);
                with_children_ns(*process)
            }
            Self::There(stream) => {
                let mut told = [0; 8];
                let answered = stream.write_all(&[0]).and_then(|()| stream.read_exact(&mut told));
                answered.map(|()| u64::from_le_bytes(told))
            }
        };
        now.map_err(|error| Failure::io("reading the server's CPU time", &error))
    }
}

fn connect(address: SocketAddr, token: u128) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, TO_REACH)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TO_ANSWER))?;
    stream.write_all(&token.to_le_bytes())?;
    Ok(stream)
}

fn sum_of(processes: &[u32]) -> u64 {
    processes.iter().map(|pid| cpu_ns(*pid)).sum()
}

/// CPU time of the processes that this one has started and waited for.
fn children_ns() -> u64 {
    // SAFETY: all zeroes are a valid rusage, and the pointer is to a live one.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let ns = |time: libc::timeval| {
        time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1000
    };
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

/// Waits until a server has no processes left, at most for a moment: the kernel adds their time when they have ended.
fn wait_for_children(server: u32) {
    let begun = Instant::now();
    while begun.elapsed() < TO_END && descendants(server).iter().any(|process| *process != server) {
        sleep(Duration::from_millis(2));
    }
}

/// CPU time of a process and of those that it has waited for: utime, stime, cutime and cstime of proc_pid_stat(5).
fn with_children_ns(process: u32) -> io::Result<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name of the program, in brackets, may contain spaces.
    let (_, fields) = stat.rsplit_once(") ").unwrap_or_default();
    let ticks: u64 =
        fields.split(' ').skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(ticks * 1_000_000_000 / rustix::param::clock_ticks_per_second())
}

/// CPU time of all threads of a process on this machine so far, in nanoseconds.
///
/// # Errors
/// If it is gone.
pub fn cpu_of_process(process: u32) -> Result<u64, Failure> {
    let clock = libc::pid_t::try_from(process).ok().and_then(clock_of);
    clock.ok_or_else(|| Failure(format!("process {process} has no CPU clock"))).and_then(|clock| {
        time_of(clock).map_err(|error| {
            Failure::io(format!("reading the CPU time of process {process}"), &error)
        })
    })
}

/// CPU time of a process in both modes, as the kernel counts it in ticks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeOfProcess {
    /// In user mode, in seconds.
    pub user_s: f64,
    /// In the kernel, in seconds.
    pub system_s: f64,
}

impl TimeOfProcess {
    /// Of a process so far (utime and stime of proc_pid_stat(5)); zeroes if it is gone.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "ticks stay far below 2^53")]
    pub fn of(process: u32) -> Self {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // The name of the program, in brackets, may contain spaces.
        let (_, fields) = stat.rsplit_once(") ").unwrap_or_default();
        let mut ticks = fields.split(' ').skip(11).map(|field| field.parse().unwrap_or(0_u64));
        let per_second = rustix::param::clock_ticks_per_second() as f64;
        let mut next_s = || ticks.next().unwrap_or(0) as f64 / per_second;
        Self { user_s: next_s(), system_s: next_s() }
    }

    /// The time since then.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self { user_s: self.user_s - before.user_s, system_s: self.system_s - before.system_s }
    }
}

/// The CPU clock of a process.
fn clock_of(process: libc::pid_t) -> Option<libc::clockid_t> {
    let mut clock = 0;
    // SAFETY: the pointer is to a live number.
    let result = unsafe { libc::clock_getcpuclockid(process, &raw mut clock) };
    (result == 0).then_some(clock)
}

fn time_of(clock: libc::clockid_t) -> io::Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live time.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use plumb_model::{Facts, Role, Settings};
    use plumb_protocol::Start;

    use super::{CpuTimes, cpu_time_ns, teller, told};

    fn start(words: impl IntoIterator<Item = (String, String)>) -> Start {
        Start {
            role: Role::Workload,
            params: Settings::new(),
            dir: String::new(),
            scratch: String::new(),
            seed: 1,
            endpoints: words.into_iter().collect(),
            facts: Facts::default(),
            extra_work: None,
        }
    }

    /// What both ends tell of 20 ms for ten units; both are this process.
    fn assert_tells(mut times: CpuTimes) {
        assert_eq!(times.lacking(), 0);
        times.begin().unwrap();
        let busy_from = cpu_time_ns();
        while cpu_time_ns() - busy_from < 20_000_000 {}
        for end in times.of_each(10).unwrap() {
            assert!((0.002..0.2).contains(&end), "{end} s");
        }
    }

    #[test]
    fn both_ends_tell_their_time_and_strangers_learn_nothing() {
        let (here, _held) = told(&start([])).unwrap();
        let times = CpuTimes::of(&start(here));
        assert!(!times.asks());
        assert_tells(times);
        let (words, server) = teller(IpAddr::V4(Ipv4Addr::LOCALHOST), cpu_time_ns).unwrap();
        let times = CpuTimes::of(&start(words.clone()));
        assert!(times.asks());
        assert_tells(times);
        let stranger = words.clone().map(|(name, word)| {
            let word = if name.ends_with("token") { "7".to_owned() } else { word };
            (name, word)
        });
        assert!(CpuTimes::of(&start(stranger)).begin().is_err());
        let load = Start { role: Role::Load, ..start(words.clone()) };
        assert_eq!(CpuTimes::of(&load).lacking(), 1);
        drop(server);
        let mut gone = CpuTimes::of(&start(words));
        assert!(gone.note().unwrap().starts_with("can't read the server's CPU time: "));
        let mut alone = CpuTimes::of(&start([]));
        assert_eq!((alone.lacking(), alone.note()), (1, None));
        alone.begin().unwrap();
        assert_eq!(alone.of_each(1).unwrap()[0].to_bits(), 0);
    }
}
