//! `network.connect`: connections of TCP, opened and closed, to a server of our own or to a port that the user names.

use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use plumb_model::{AuditClass, CurveKind, Description, Parameter, Ready, Role};
use plumb_protocol::{Failure, Held, Start, StartError, StartedWorkload, Workload, now_ns};
use plumb_workload_ends::cpu_time::{self, CpuTimes};
use plumb_workload_ends::timed_threads::{ThreadJob, TimedResult, TimedThreads};
use plumb_workload_ends::token::at_far_end;
use plumb_workload_kit::declare::{
    between, curve, distribution, headline, integer, rate, work, workload,
};
use plumb_workload_path::{self as path, End};
use rustix::net::sockopt::set_socket_linger;

use plumb_workload_ends::host::{self, HOST, address_of, restricted};

/// The most connections that are opened at a time.
const MOST: usize = 256;
/// The first connection is opened in this time.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens connections and closes them.
pub struct Connect;

impl Workload for Connect {
    fn describe(&self) -> Description {
        Description {
            roles: vec![Role::Workload, Role::Server, Role::Load],
            parameters: parameters(),
            metrics: vec![
                rate("rate", "connections/s", "connections opened and closed per second"),
                headline(distribution("latency", "time of connect(2)")),
            ]
            .into_iter()
            .chain(cpu_time::metrics("connection"))
            .collect(),
            fixture: Some(path::PARAMETERS.map(str::to_owned).to_vec()),
            fixture_kind: Some(path::KIND.to_owned()),
            restricted: Some(restricted(HOST, "at_once", 0, "a flood of new connections")),
            audit_class: Some(AuditClass::Scheduler),
            ..workload("network.connect", "opens and closes TCP connections")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("connect.md")
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        path::prepare(start)
    }

    fn start_server(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        if !start.text(HOST).is_empty() {
            return Ok((Ready::default(), Box::new(())));
        }
        let address = path::enter(start, End::Far)?;
        let acceptor = Acceptor::open(address)
            .map_err(|error| Failure::io(format!("listening on {address}"), &error))?;
        let words =
            [("address", acceptor.address.to_string()), ("pid", std::process::id().to_string())];
        let words = words.map(|(name, word)| (name.to_owned(), word));
        let (of_cpu, teller) = cpu_time::told(start)?;
        let endpoints = words.into_iter().chain(of_cpu).collect();
        Ok((Ready { endpoints, ..Ready::default() }, Box::new((acceptor, teller))))
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let at_once = start.size("at_once");
        path::enter(start, End::Near)?;
        let mut notes = path::notes(start)?;
        let (address, is_own) = match start.endpoints.get("address") {
            Some(own) => {
                let address = own
                    .parse()
                    .map_err(|_| Failure("the server reported no address".to_owned()))?;
                (at_far_end(start, address), true)
            }
            None => (named(start)?, false),
        };
        notes.push(if is_own {
            "the server closes first, so TIME_WAIT is on its side".to_owned()
        } else {
            format!(
                "to {address}; connections end with a reset (SO_LINGER), so no port stays in use"
            )
        });
        let mut cpus = CpuTimes::of(start);
        notes.extend(cpus.note());
        let (lacking, told) = cpu_time::NAMES.split_at(cpus.lacking());
        let without = lacking.iter().map(|name| (*name).to_owned()).collect();
        let opener = move || Opener { address, is_own };
        let threads = TimedThreads::start(at_once, start, opener, cpus, (told, |_, _| {}))?;
        // On one machine, the kernel does the work of both ends in the thread that connects, which is then always busy.
        let instance = match is_own && start.far_address().is_none() {
            true => threads.without_server(),
            false => threads,
        };
        let ready = Ready { work: work(&[("rate", 1)]), notes, without, ..Ready::default() };
        Ok(StartedWorkload { instance: Box::new(instance), ready })
    }
}

fn parameters() -> Vec<Parameter> {
    let at_once = between(
        1,
        MOST,
        integer("at_once", "connections", 1, "simultaneous connections, one thread each"),
    );
    let mut all = host::parameters("plumb's server").to_vec();
    all.extend([integer("port", "port", 0, "port of the host"), curve(CurveKind::Knee, at_once)]);
    all.extend(path::parameters());
    all
}

/// The port that the user named, where somebody listens.
fn named(start: &Start) -> Result<SocketAddr, StartError> {
    let host = address_of(start.text(HOST), start)?;
    let Some(port) = u16::try_from(start.integer("port")).ok().filter(|port| *port > 0) else {
        let why = "`port` must be 1 to 65535";
        return Err(StartError::Failed(why.to_owned()));
    };
    let address = SocketAddr::new(host, port);
    TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).map_err(|error| {
        StartError::unsupported(
            format!("can't connect to {address}: {error}"),
            "check that a server listens there and that no firewall blocks the port",
        )
    })?;
    Ok(address)
}

/// A server that opens to anybody and closes at once: it says nothing and reads nothing. Dropping it ends it.
struct Acceptor {
    address: SocketAddr,
    listener: Arc<TcpListener>,
    ended: Arc<AtomicBool>,
    listening: Option<JoinHandle<()>>,
}

impl Acceptor {
    fn open(address: IpAddr) -> io::Result<Self> {
        let listener = Arc::new(TcpListener::bind((address, 0))?);
        let address = listener.local_addr()?;
        let ended = Arc::new(AtomicBool::new(false));
        let acceptor = Arc::clone(&listener);
        let is_over = Arc::clone(&ended);
        let listening = thread::Builder::new().spawn(move || {
            for opened in acceptor.incoming() {
                if is_over.load(Ordering::Acquire) {
                    return;
                }
                drop(opened);
            }
        })?;
        Ok(Self { address, listener, ended, listening: Some(listening) })
    }
}

impl Held for Acceptor {}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        // Wakes who waits for a connection.
        rustix::net::shutdown(&*self.listener, rustix::net::Shutdown::Both).ok();
        if let Some(listening) = self.listening.take() {
            listening.join().ok();
        }
    }
}

/// Opens a connection and closes it.
struct Opener {
    address: SocketAddr,
    is_own: bool,
}

impl Opener {
    fn open(&self) -> io::Result<TimedResult<1>> {
        let begun = now_ns();
        let mut stream = TcpStream::connect(self.address)?;
        let ended_ns = now_ns();
        if self.is_own {
            // Until the server has closed it.
            while stream.read(&mut [0; 64])? > 0 {}
        } else {
            set_socket_linger(&stream, Some(Duration::ZERO))?;
        }
        Ok(TimedResult { ended_ns, numbers: [ended_ns - begun] })
    }
}

impl ThreadJob<1> for Opener {
    fn once(&mut self) -> Result<TimedResult<1>, Failure> {
        self.open()
            .map_err(|error| Failure::io(format!("a connection to {}", self.address), &error))
    }
}
