//! CPU time of both ends of a workload: that of this process, and that of its server, which tells it whoever knows a token.
//!
//! The server may run on another machine, where nobody here can read its accounts. It is asked over a connection of its own,
//! between batches: nothing of that is in a timed section.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use plumb_model::Metric;
use plumb_protocol::{Failure, Start, StartError};

use crate::declare::reported_time;
use crate::server::Server;
use crate::token::{self, TOKEN};

/// The metrics, in the order of their values: of the server, and of the measured process.
pub const NAMES: [&str; 2] = ["far_cpu", "near_cpu"];

/// Words of a server.
const ADDRESS: &str = "cpu.address";
const OPEN_TO: &str = "cpu.token";

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

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
        reported_time(NAMES[0], &format!("CPU time of the server, {unit}")),
        reported_time(NAMES[1], &format!("CPU time of the measured process, {unit}")),
    ]
}

/// Tells the CPU time of this process to whoever it serves, on a port of its own at this address; with the words that say where.
///
/// # Errors
/// When there is no free port.
pub fn teller(address: IpAddr) -> Result<([(String, String); 2], Server), Failure> {
    let token = token::fresh()?;
    let server = Server::start(address, move |mut stream| {
        let mut given = [0; TOKEN];
        stream.read_exact(&mut given)?;
        if given != token {
            return Ok(());
        }
        stream.set_read_timeout(None)?;
        let mut asked = [0];
        loop {
            stream.read_exact(&mut asked)?;
            stream.write_all(&cpu_time_ns().to_le_bytes())?;
        }
    });
    let server = server.map_err(|error| Failure::io(format!("listening on {address}"), &error))?;
    let words = [
        (ADDRESS.to_owned(), server.address().to_string()),
        (OPEN_TO.to_owned(), u128::from_le_bytes(token).to_string()),
    ];
    Ok((words, server))
}

/// CPU time of both ends since a moment.
#[derive(Debug)]
pub struct CpuTimes {
    /// Who tells that of the server; None where it is not plumb's.
    far: Option<TcpStream>,
    /// When it began, in the order of [`NAMES`].
    begun_ns: [u64; 2],
}

impl CpuTimes {
    /// Of this process, and of the server that was started for it, if one was.
    ///
    /// # Errors
    /// When that is not reached.
    pub fn of(start: &Start) -> Result<Self, StartError> {
        let word = |name: &str| start.endpoints.get(name);
        let address = word(ADDRESS).and_then(|it| it.parse::<SocketAddr>().ok());
        let token = word(OPEN_TO).and_then(|it| it.parse::<u128>().ok());
        let far = address.zip(token).map(|(told, token)| {
            let address = token::at_far_end(start, told);
            let what = format!("asking the server at {address} for its CPU time");
            connect(address, token).map_err(|error| Failure::io(what, &error))
        });
        Ok(Self { far: far.transpose()?, begun_ns: [0; 2] })
    }

    /// How many of [`NAMES`] have no value, from the first on.
    #[must_use]
    pub fn lacking(&self) -> usize {
        usize::from(self.far.is_none())
    }

    /// Begins anew.
    ///
    /// # Errors
    /// When the server does not answer.
    pub fn begin(&mut self) -> Result<(), Failure> {
        self.begun_ns = self.now_ns()?;
        Ok(())
    }

    /// Seconds for each of so many units of work since it began, in the order of [`NAMES`].
    ///
    /// # Errors
    /// When the server does not answer.
    #[expect(clippy::cast_precision_loss, reason = "times and amounts stay far below 2^53")]
    pub fn of_each(&mut self, units: u64) -> Result<[f64; 2], Failure> {
        let [far, near] = self.now_ns()?;
        let since = [far - self.begun_ns[0].min(far), near - self.begun_ns[1].min(near)];
        Ok(since.map(|ns| ns as f64 / 1e9 / units.max(1) as f64))
    }

    fn now_ns(&mut self) -> Result<[u64; 2], Failure> {
        let far = self.far.as_mut().map_or(Ok(0), |stream| {
            let mut told = [0; 8];
            let answered = stream.write_all(&[0]).and_then(|()| stream.read_exact(&mut told));
            answered.map(|()| u64::from_le_bytes(told))
        });
        let far = far.map_err(|error| Failure::io("the server does not tell its CPU time", &error));
        Ok([far?, cpu_time_ns()])
    }
}

fn connect(address: SocketAddr, token: u128) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(&token.to_le_bytes())?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use plumb_model::{Facts, Role, Settings};
    use plumb_protocol::Start;

    use super::{CpuTimes, cpu_time_ns, teller};

    fn told(words: impl IntoIterator<Item = (String, String)>) -> Start {
        let mut start = Start {
            role: Role::Workload,
            params: Settings::new(),
            dir: String::new(),
            scratch: String::new(),
            seed: 1,
            endpoints: [].into(),
            facts: Facts::default(),
        };
        start.endpoints.extend(words);
        start
    }

    #[test]
    fn both_ends_tell_their_time_and_strangers_learn_nothing() {
        let (words, _server) = teller(Ipv4Addr::LOCALHOST.into()).unwrap();
        let mut times = CpuTimes::of(&told(words.clone())).unwrap();
        assert_eq!(times.lacking(), 0);
        times.begin().unwrap();
        let busy_from = cpu_time_ns();
        while cpu_time_ns() - busy_from < 20_000_000 {}
        // Both are this process.
        for end in times.of_each(10).unwrap() {
            assert!((0.002..0.2).contains(&end), "{end} s");
        }
        let stranger = words.map(|(name, word)| {
            let word = if name.ends_with("token") { "7".to_owned() } else { word };
            (name, word)
        });
        assert!(CpuTimes::of(&told(stranger)).unwrap().begin().is_err());
        let mut alone = CpuTimes::of(&told([])).unwrap();
        assert_eq!(alone.lacking(), 1);
        alone.begin().unwrap();
        assert_eq!(alone.of_each(1).unwrap()[0].to_bits(), 0);
    }
}
