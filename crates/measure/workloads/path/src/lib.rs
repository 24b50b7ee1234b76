//! Paths between two ends on this machine, with a bandwidth, a delay and losses: `path=veth` and what goes with it.
//!
//! A fixture's process makes the path and holds it: a network namespace for each end, and one for what lies between. None
//! has a name; the kernel takes them away when the last process in them has ended and the fixture's has, too.
//!
//! ```text
//! near ── tbf ── [ relay ] ── tbf ── far
//! near ── [ relay ] ── tbf ── router ── tbf ── far
//! ```
//!
//! `tc tbf` limits what each end sends; where a router lies between, what the router passes on. Delay, jitter, loss and reordering are
//! the work of a relay that passes frames between two packet sockets when they are due: the same on every kernel, where netem would be
//! there on some. Whoever is an end enters its namespace before it opens a socket ([`enter`]).

mod counts;
mod devices;
mod frames;
mod line;
mod namespaces;
mod relay;

use std::collections::BTreeMap;
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::thread;

use plumb_model::{Flag, FlagKind, Parameter, Ready, Value};
use plumb_protocol::{Batch, Failure, Held, Start, StartError};
use rustix::fs::{MemfdFlags, memfd_create};

use plumb_workload_kit::declare::{choice, rate_or, share, time_bound};
use plumb_workload_kit::loopback;

pub use counts::FrameCounts;
pub use line::LineSettings;
use relay::FrameRelay;

/// The parameters that a fixture depends on which makes a path.
pub const PARAMETERS: [&str; 8] =
    ["path", "up", "down", "queue", "rtt", "jitter", "loss", "reorder"];

/// What the fixture is: workloads share a path that is described alike.
pub const KIND: &str = "path";

/// Where a packet waits for the bandwidth, for this long at most unless something else is asked for.
const QUEUE_NS: u64 = 50_000_000;

/// Words of a fixture.
const NEAR: &str = "path.near";
const FAR: &str = "path.far";
const ROUTER: &str = "path.router";
const USER: &str = "path.user";
const COUNTS: &str = "path.counts";

/// Addresses for tests of networks (RFC 2544, RFC 6890): no host of a real network has one.
const NEAR_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const FAR_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
/// The far end where a router lies between, with the router's addresses.
const BEYOND_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 2);
const ROUTER_ADDRESSES: [Ipv4Addr; 2] =
    [Ipv4Addr::new(198, 18, 0, 2), Ipv4Addr::new(198, 19, 0, 1)];

/// The devices of what lies between, to the near end and to the far one.
const BETWEEN: [&str; 2] = ["to-near", "to-far"];

/// The kind of path between the ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathKind {
    /// The loopback device.
    Loopback,
    /// A pair of devices.
    Veth,
    /// A host that passes packets on.
    Routed,
    /// The loopback device of a new namespace: without the queueing, firewall rules and MTU of the machine's.
    NewLoopback,
}

impl PathKind {
    /// The words of the parameter `path`, the default first.
    const WORDS: [(&'static str, Self); 4] = [
        ("loopback", Self::Loopback),
        ("veth", Self::Veth),
        ("routed", Self::Routed),
        ("new-loopback", Self::NewLoopback),
    ];

    /// Whether the ends are two network namespaces with devices in between.
    fn has_devices(self) -> bool {
        matches!(self, Self::Veth | Self::Routed)
    }

    /// The requested settings. A workload without the parameter is on loopback.
    fn read(start: &Start) -> Self {
        let word = start.text("path");
        let known = Self::WORDS.iter().find(|(known, _)| *known == word);
        known.map_or(Self::Loopback, |(_, kind)| *kind)
    }
}

/// An end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The one that measures.
    Near,
    /// The end at which the server runs.
    Far,
}

/// A path that a user described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathSettings {
    /// The kind of path between them.
    pub kind: PathKind,
    /// Bytes a second from near to far, if limited.
    pub up: Option<u64>,
    /// Bytes a second from far to near, if limited.
    pub down: Option<u64>,
    /// How long a packet waits for the bandwidth at most, in nanoseconds.
    pub queue_ns: u64,
    /// What each direction does besides.
    pub line: LineSettings,
}

/// The parameters of a path.
#[must_use]
pub fn parameters() -> Vec<Parameter> {
    let unlimited = &["unlimited"];
    vec![
        choice(
            "path",
            &PathKind::WORDS.map(|(word, _)| word),
            "path between the ends: the loopback device, a pair of devices, a router between two \
             namespaces, or the loopback device of a new namespace",
        ),
        rate_or("up", "bytes", unlimited, "bandwidth from client to server, such as 100Mbit/s"),
        rate_or("down", "bytes", unlimited, "bandwidth from server to client"),
        time_bound(
            "queue",
            QUEUE_NS,
            "maximum queueing delay; packets that would wait longer are dropped",
        ),
        time_bound("rtt", 0, "round-trip time, half of it in each direction"),
        time_bound(
            "jitter",
            0,
            "each packet arrives up to this much earlier or later, but in order",
        ),
        share("loss", "share of the packets lost in each direction"),
        share(
            "reorder",
            "share of the packets in each direction that are not delayed and so overtake others",
        ),
    ]
}

impl PathSettings {
    /// The requested settings.
    ///
    /// # Errors
    /// When it asks for what the path does not have.
    pub fn read(start: &Start) -> Result<Self, StartError> {
        let line = LineSettings {
            delay_ns: start.integer("rtt") / 2,
            jitter_ns: start.integer("jitter"),
            loss: start.integer("loss"),
            reorder: start.integer("reorder"),
        };
        let settings = Self {
            kind: PathKind::read(start),
            up: bandwidth(start, "up"),
            down: bandwidth(start, "down"),
            queue_ns: start.integer("queue"),
            line,
        };
        settings.checked()
    }

    fn checked(self) -> Result<Self, StartError> {
        let is_shaped = self.has_relay() || self.up.is_some() || self.down.is_some();
        if !self.kind.has_devices() && is_shaped {
            let why =
                "bandwidth, delay and loss can't be set on the loopback device; try path=veth";
            return Err(StartError::Failed(why.to_owned()));
        }
        if self.line.jitter_ns > self.line.delay_ns {
            let why = "`jitter` must not be more than half of `rtt`: packets can't arrive before they are sent";
            return Err(StartError::Failed(why.to_owned()));
        }
        if self.line.reorder > 0 && self.line.delay_ns == 0 {
            let why = "`reorder` needs an `rtt`: without a delay no packet can overtake another";
            return Err(StartError::Failed(why.to_owned()));
        }
        Ok(self)
    }

    fn has_relay(&self) -> bool {
        self.line != LineSettings::default()
    }
}

/// Bytes per second; None if the parameter is the word for no limit.
fn bandwidth(start: &Start, name: &str) -> Option<u64> {
    start.params.get(name).and_then(Value::integer)
}

/// Makes the path that was asked for, and says where its ends are. On loopback there is nothing to make.
///
/// # Errors
/// Unsupported if the kernel lets this user make none, or a program is missing.
pub fn prepare(start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
    let settings = PathSettings::read(start)?;
    if settings.kind == PathKind::Loopback {
        return Ok((Ready::default(), Box::new(())));
    }
    // A missing program is reported before the first namespace is made.
    let standing = if settings.kind == PathKind::NewLoopback {
        devices::check(&["ip"])?;
        RunningPath::new_loopback()?
    } else {
        devices::check(&["ip", "tc"])?;
        RunningPath::new(&settings, start.seed)?
    };
    let ready = Ready { endpoints: standing.words(), ..Ready::default() };
    Ok((ready, Box::new(standing)))
}

/// Moves the calling thread, and those that it starts, to an end of the path; the address of that end. A process that is not
/// root must not have another thread.
///
/// # Errors
/// When the fixture has made no path, its end can't be entered, or the loopback device is down.
pub fn enter(start: &Start, end: End) -> Result<IpAddr, StartError> {
    let settings = PathSettings::read(start)?;
    let far_address = start.far_address();
    if settings.kind == PathKind::Loopback {
        return match far_address {
            Some(address) => Ok(address),
            None => loopback::check().map(|()| Ipv4Addr::LOCALHOST.into()),
        };
    }
    if far_address.is_some() {
        return Err(StartError::unsupported(
            "emulated paths exist only on this machine, but --to selects another one",
            "leave out `path` or --to",
        ));
    }
    let place = match end {
        End::Near => NEAR,
        End::Far => FAR,
    };
    let place = start
        .endpoints
        .get(place)
        .ok_or_else(|| StartError::Failed("the fixture created no path".to_owned()))?;
    let failed = |error| Failure::io("entering an end of the path", &error);
    let network = File::open(place).map_err(failed)?;
    if let Some(user) = start.endpoints.get(USER) {
        namespaces::become_root_in(Path::new(user)).map_err(failed)?;
    }
    namespaces::enter(&network).map_err(failed)?;
    Ok(settings.address(end).into())
}

/// As [`enter`]; then the process, which has one thread, is the user again that it was: a program that asks who runs it gets
/// the answer that it gets elsewhere.
///
/// # Errors
/// As for [`enter`].
pub fn enter_as_user(start: &Start, end: End) -> Result<IpAddr, StartError> {
    let user = rustix::process::geteuid();
    let group = rustix::process::getegid();
    let address = enter(start, end)?;
    if start.endpoints.contains_key(USER) {
        namespaces::become_user(user.as_raw(), group.as_raw()).map_err(|error| {
            Failure::io("switching to an ordinary user at an end of the path", &error)
        })?;
    }
    Ok(address)
}

/// What the queue of the near end takes in next to what it passes on, as a share of what it passes on in `trial_ns`; None
/// if the path has no bandwidth upwards.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "bytes and times stay far below 2^53")]
pub fn queued_share(start: &Start, trial_ns: u64) -> Option<f64> {
    let settings = PathSettings::read(start).ok()?;
    let rate = settings.up?;
    let queued = rate as f64 * settings.queue_ns as f64 / 1e9 + devices::burst(rate) as f64;
    Some(queued / (rate as f64 * trial_ns as f64 / 1e9))
}

/// The address of the far end: of loopback, or of the path that was asked for.
///
/// # Errors
/// When it asks for what the path does not have.
pub fn far_address(start: &Start) -> Result<IpAddr, StartError> {
    Ok(PathSettings::read(start)?.address(End::Far).into())
}

/// Notes for the reader about the path; none for loopback.
///
/// # Errors
/// When it asks for what the path does not have.
pub fn notes(start: &Start) -> Result<Vec<String>, StartError> {
    let settings = PathSettings::read(start)?;
    Ok(if settings.kind == PathKind::Loopback { Vec::new() } else { settings.notes() })
}

/// The device at an end of the path that was asked for.
#[must_use]
pub fn device(start: &Start, end: End) -> &'static str {
    match (PathKind::read(start), end) {
        (PathKind::Loopback | PathKind::NewLoopback, _) => "lo",
        (PathKind::Veth | PathKind::Routed, End::Near) => "near",
        (PathKind::Veth | PathKind::Routed, End::Far) => "far",
    }
}

/// Reads something of the device whose queue holds what waits for the bandwidth upwards: at the near end, or at the router in
/// its namespace. The caller is at the near end ([`enter`]).
///
/// # Errors
/// When the router's namespace can't be entered.
pub fn at_queue<T: Send>(start: &Start, read: impl FnOnce(&str) -> T + Send) -> Result<T, Failure> {
    if PathKind::read(start) != PathKind::Routed {
        return Ok(read(device(start, End::Near)));
    }
    let failed = |error| Failure::io("entering the router of the path", &error);
    let place = start.endpoints.get(ROUTER).map_or("", String::as_str);
    let router = File::open(place).map_err(failed)?;
    // Its own thread, as the calling one stays where it is.
    thread::scope(|scope| {
        let there = thread::Builder::new().spawn_scoped(scope, || {
            namespaces::enter(&router)?;
            let [_, to_far] = BETWEEN;
            Ok(read(to_far))
        })?;
        match there.join() {
            Ok(read) => read,
            Err(_) => Err(std::io::Error::other("a thread panicked")),
        }
    })
    .map_err(failed)
}

/// The traffic of a path's relay so far, up and down; None if there is none.
///
/// # Errors
/// When its counts can't be read.
pub fn carried(start: &Start) -> Result<Option<[FrameCounts; 2]>, Failure> {
    let Some(place) = start.endpoints.get(COUNTS) else { return Ok(None) };
    let counts = File::open(place)
        .and_then(|file| counts::read(&file))
        .map_err(|error| Failure::io("reading the relay's counters", &error))?;
    Ok(Some(counts))
}

/// Says of a batch whether the relay of its path, and not what is measured, was the limit since `before`.
///
/// # Errors
/// When its counts can't be read.
pub fn flag_limit(
    start: &Start,
    before: Option<[FrameCounts; 2]>,
    batch: &mut Batch,
) -> Result<(), Failure> {
    limits(start, before)?.into_iter().for_each(|flag| batch.flag(flag));
    Ok(())
}

/// The same as flags.
///
/// # Errors
/// When its counts can't be read.
pub fn limits(start: &Start, before: Option<[FrameCounts; 2]>) -> Result<Vec<Flag>, Failure> {
    let after = carried(start)?.into_iter().flatten();
    let both = after.zip(before.into_iter().flatten());
    let why = both.filter_map(|(after, before)| after.since(&before).limit());
    Ok(why.map(|why| Flag::new(FlagKind::ClientBound, why)).collect())
}

impl PathSettings {
    fn address(&self, end: End) -> Ipv4Addr {
        match (end, self.kind) {
            (_, PathKind::Loopback | PathKind::NewLoopback) => Ipv4Addr::LOCALHOST,
            (End::Near, _) => NEAR_ADDRESS,
            (End::Far, PathKind::Veth) => FAR_ADDRESS,
            (End::Far, PathKind::Routed) => BEYOND_ADDRESS,
        }
    }

    fn notes(&self) -> Vec<String> {
        if self.kind == PathKind::NewLoopback {
            return vec!["path: the loopback device of a new network namespace".to_owned()];
        }
        let between = match (self.kind, self.has_relay()) {
            (PathKind::Routed, true) => {
                "a relay and a router in between, frames of 1,514 bytes at most"
            }
            (PathKind::Routed, false) => "the kernel's router in between",
            (_, true) => "a relay in between, frames of 1,514 bytes at most",
            (_, false) => "no device in between",
        };
        let mut notes = vec![format!("path: two network namespaces of this machine, {between}")];
        if self.up.is_some() || self.down.is_some() {
            let up = burst_in_words(self.up);
            let down = burst_in_words(self.down);
            notes.push(format!("bandwidth: tc tbf, with bursts of {up} up and {down} down"));
        }
        notes
    }
}

/// The burst that a bandwidth allows; `-` without a limit.
fn burst_in_words(rate: Option<u64>) -> String {
    rate.map_or("-".to_owned(), |rate| plumb_units::show_bytes(devices::burst(rate)))
}

/// A path that stands; dropping it ends it.
struct RunningPath {
    near: File,
    far: File,
    has_user: bool,
    counts: Option<File>,
    /// Runs until it is dropped.
    _relay: Option<FrameRelay>,
    router: Option<File>,
}

impl RunningPath {
    /// A namespace in which both ends are. Leaves the calling thread there.
    fn new_loopback() -> Result<Self, StartError> {
        let failed = |error| Failure::io("setting up a network namespace", &error);
        let (near, has_user) = namespaces::first()?;
        devices::ip(&["link set lo up".to_owned()])?;
        let far = near.try_clone().map_err(failed)?;
        Ok(Self { near, far, has_user, counts: None, _relay: None, router: None })
    }

    /// Leaves the calling thread in one of its namespaces.
    fn new(settings: &PathSettings, seed: u64) -> Result<Self, StartError> {
        let failed = |error| Failure::io("setting up a network namespace", &error);
        let (near, has_user) = namespaces::first()?;
        devices::ip(&["link set lo up".to_owned()])?;
        let far = namespaces::another().map_err(failed)?;
        devices::ip(&["link set lo up".to_owned()])?;
        let counts = memfd_create("path", MemfdFlags::CLOEXEC)
            .map_err(|error| Failure::io("creating a file in memory", &error.into()))?;
        let counts = File::from(counts);
        let [to_near, to_far] = BETWEEN;
        // Where the way from the near end has come to, and the device there that is to be connected.
        let mut way = (near.try_clone().map_err(failed)?, "near");
        let mut relaying = None;
        let mut router = None;
        // Only what delays, loses or reorders packets needs a relay: bandwidth is a queue of the kernel (tc).
        if settings.has_relay() {
            let here = namespaces::another().map_err(failed)?;
            connect(to_near, &way)?;
            relaying = Some(here.try_clone().map_err(failed)?);
            way = (here, to_far);
        }
        if settings.kind == PathKind::Routed {
            let here = namespaces::another().map_err(failed)?;
            connect(to_near, &way)?;
            router = Some(here.try_clone().map_err(failed)?);
            way = (here, to_far);
        }
        namespaces::enter(&far).map_err(failed)?;
        connect("far", &way)?;
        if let Some(router) = &router {
            namespaces::enter(router).map_err(failed)?;
            route()?;
            limit(settings, to_far, settings.up)?;
            limit(settings, to_near, settings.down)?;
            if settings.has_relay() {
                whole_frames(to_near)?;
            }
        }
        let mut relay = None;
        if let Some(relaying) = relaying {
            namespaces::enter(&relaying).map_err(failed)?;
            devices::ip(&BETWEEN.map(devices::up).concat())?;
            let begun = FrameRelay::start(BETWEEN, settings.line, seed, &counts);
            relay = Some(begun.map_err(|error| Failure::io("starting the relay", &error))?);
        }
        let ends =
            [(End::Near, "near", &near, settings.up), (End::Far, "far", &far, settings.down)];
        for (end, device, network, rate) in ends {
            namespaces::enter(network).map_err(failed)?;
            open(settings, end, device)?;
            if settings.kind != PathKind::Routed {
                limit(settings, device, rate)?;
            }
            if settings.has_relay() {
                whole_frames(device)?;
            }
        }
        let counts = relay.is_some().then_some(counts);
        Ok(Self { near, far, has_user, counts, _relay: relay, router })
    }

    fn words(&self) -> BTreeMap<String, String> {
        let process = std::process::id();
        let place = |file: &File| format!("/proc/{process}/fd/{}", file.as_raw_fd());
        let mut words = BTreeMap::from([
            (NEAR.to_owned(), place(&self.near)),
            (FAR.to_owned(), place(&self.far)),
        ]);
        words.extend(self.counts.as_ref().map(|counts| (COUNTS.to_owned(), place(counts))));
        words.extend(self.router.as_ref().map(|router| (ROUTER.to_owned(), place(router))));
        if self.has_user {
            words.insert(USER.to_owned(), format!("/proc/{process}/ns/user"));
        }
        words
    }
}

impl Held for RunningPath {}

/// Limits what a device sends, if there is a limit.
fn limit(settings: &PathSettings, device: &str, rate: Option<u64>) -> Result<(), Failure> {
    rate.map_or(Ok(()), |rate| devices::limit(device, rate, settings.queue_ns))
}

/// A pair of devices, one here and one if the way has come to.
fn connect(here: &str, (network, there): &(File, &str)) -> Result<(), Failure> {
    devices::ip(&[devices::pair(here, there, network)])
}

fn whole_frames(device: &str) -> Result<(), Failure> {
    devices::send_whole_frames(device)
        .map_err(|error| Failure::io("turning off a device's offloads", &error))
}

/// Has this namespace pass on packets between its two devices.
fn route() -> Result<(), Failure> {
    let ends = ROUTER_ADDRESSES.iter().zip(BETWEEN);
    let lines = ends.map(|(address, device)| format!("addr add {address}/30 dev {device}"));
    let up = BETWEEN.map(devices::up).into_iter().flatten();
    devices::ip(&up.chain(lines).collect::<Vec<_>>())?;
    std::fs::write("/proc/sys/net/ipv4/ip_forward", "1")
        .map_err(|error| Failure::io("/proc/sys/net/ipv4/ip_forward", &error))
}

/// Gives a device at an end its address, and the way to the other end.
fn open(settings: &PathSettings, end: End, device: &str) -> Result<(), Failure> {
    let address = settings.address(end);
    let mut lines = devices::up(device).to_vec();
    lines.push(format!("addr add {address}/30 dev {device}"));
    if settings.kind == PathKind::Routed {
        let [near, far] = ROUTER_ADDRESSES;
        let by = if end == End::Near { near } else { far };
        lines.push(format!("route add default via {by}"));
    }
    devices::ip(&lines)
}
