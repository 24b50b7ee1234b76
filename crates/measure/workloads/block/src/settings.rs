//! The link between client and server, as parameters and as it is read from them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use plumb_model::{Flag, FlagKind, Parameter, Ready, Value};
use plumb_protocol::{Start, StartError};
use plumb_units::whole_size;
use plumb_workload_kit::declare::{between, bytes, choice, integer, rate_or, time_bound, within};
use plumb_workload_kit::link::LinkSettings;

/// A fresh name in the scratch folder.
pub fn fresh_path(start: &Start, name: &str) -> PathBuf {
    static NAMES: AtomicU32 = AtomicU32::new(0);
    let number = NAMES.fetch_add(1, Ordering::Relaxed);
    Path::new(&start.scratch).join(format!("{name}-{}-{number}", std::process::id()))
}

/// Most requests under way.
pub const DEEPEST: usize = 256;
/// Most requests of a device under way, unless something else is asked for.
pub const DEVICE_DEPTH: usize = 32;

/// The most that a link can be scaled by.
const MOST_SCALE: usize = 10_000;

/// Bytes that a packet of Ethernet holds, with the heads of IPv4 and TCP and its time stamps off.
const PACKET: usize = 1448;

/// Packets that so many bytes fill.
pub fn packets(bytes: usize) -> u64 {
    bytes.div_ceil(PACKET) as u64
}

/// The link that a user described.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// From client to server.
    pub up: LinkSettings,
    /// From server to client.
    pub down: LinkSettings,
}

/// The tunnel through which a link passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TunnelKind {
    /// As it is.
    None,
    /// A tunnel of ssh.
    Ssh {
        /// Whether it compresses.
        is_compressed: bool,
    },
}

impl TunnelKind {
    /// The requested settings.
    pub fn read(start: &Start) -> Self {
        match start.text("tunnel") {
            "ssh" => Self::Ssh { is_compressed: false },
            "ssh-compressed" => Self::Ssh { is_compressed: true },
            _ => Self::None,
        }
    }
}

/// How a disk of our own is reached.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    /// Bandwidth and delay of each direction.
    pub link: Link,
    /// The tunnel of the link.
    pub tunnel: TunnelKind,
    /// The most requests under way at once; 0 if the client alone decides.
    pub depth: usize,
    /// Whether the disk takes trims, and zeroes without data.
    pub takes_discards: bool,
    /// Seed of the jitter.
    pub seed: u64,
}

/// The parameters of a link.
pub fn parameters() -> Vec<Parameter> {
    let unlimited = &["unlimited"];
    vec![
        rate_or("up", "bytes", unlimited, "bandwidth from client to server, such as 1Mbit/s"),
        rate_or("down", "bytes", unlimited, "bandwidth from server to client"),
        time_bound("rtt", 0, "round-trip time, half of it in each direction"),
        time_bound("jitter", 0, "each message arrives up to this much earlier or later"),
        bytes(
            "burst",
            0,
            "bytes that may pass at once after a pause, in each direction, like a cloud volume's burst credit",
        ),
        between(
            1,
            MOST_SCALE,
            integer(
                "scale",
                "",
                1,
                "multiplies the bandwidth and divides the delays, to shorten long tests",
            ),
        ),
        choice(
            "tunnel",
            &["none", "ssh", "ssh-compressed"],
            "carry the requests through the installed OpenSSH (ssh -L)",
        ),
    ]
}

/// How a disk is reached that is a device: the link, and as many requests under way as `depth` says.
///
/// # Errors
/// When a parameter lies out of its range.
pub fn access(
    start: &Start,
    takes_discards: bool,
    ready: &mut Ready,
) -> Result<Access, StartError> {
    let depth = within(start, "depth", 1, DEEPEST)?;
    let link = Link::read(start, ready)?;
    let tunnel = TunnelKind::read(start);
    if tunnel != TunnelKind::None && depth != DEVICE_DEPTH {
        let why = "through ssh, the kernel alone decides how many requests are in flight";
        return Err(StartError::unsupported(why, "leave `depth` out"));
    }
    Ok(Access { link, tunnel, depth, takes_discards, seed: start.seed })
}

/// That a disk takes no more than half of the memory there is, if that is known; `less` says what to set if no more than so
/// many bytes may be taken.
///
/// # Errors
/// Unsupported when it does.
pub fn check_memory(
    start: &Start,
    bytes: u64,
    less: &dyn Fn(u64) -> String,
) -> Result<(), StartError> {
    let memory = start.facts.memory_bytes;
    if memory == 0 || bytes <= memory / 2 {
        return Ok(());
    }
    let bytes = whole_size(bytes);
    let less = less(memory / 2);
    let memory = whole_size(memory);
    let why =
        format!("{bytes} in memory would take more than half of the {memory} that plumb may use");
    Err(StartError::unsupported(why, less))
}

impl Link {
    /// None at all.
    pub const NONE: Self = Self { up: LinkSettings::NONE, down: LinkSettings::NONE };

    /// The requested settings; a note reports a scale.
    ///
    /// # Errors
    /// When the scale is none.
    pub fn read(start: &Start, ready: &mut Ready) -> Result<Self, StartError> {
        let scale = start.size("scale") as u64;
        let delay_ns = start.integer("rtt") / scale / 2;
        let wanted_jitter_ns = start.integer("jitter") / scale;
        let down = LinkSettings {
            bandwidth: bandwidth(start, "down", scale),
            burst: start.integer("burst"),
            delay_ns,
            // A larger jitter would deliver a message before it is sent.
            jitter_ns: wanted_jitter_ns.min(delay_ns),
        };
        let up = LinkSettings { bandwidth: bandwidth(start, "up", scale), ..down };
        if scale > 1 {
            ready.notes.push(format!(
                "the link is scaled: {scale} times the bandwidth, delays divided by {scale}"
            ));
        }
        if wanted_jitter_ns > delay_ns {
            let why =
                "the jitter is limited to the delay, so that no message arrives before it is sent";
            ready.flags.push(Flag::new(FlagKind::Capped, why));
        }
        Ok(Self { up, down })
    }
}

/// Bytes per second, times the scale; None without a limit.
#[expect(clippy::cast_precision_loss, reason = "bandwidths stay far below 2^53")]
fn bandwidth(start: &Start, name: &str, scale: u64) -> Option<f64> {
    // Without a limit the parameter is a word.
    match start.params.get(name) {
        Some(Value::Integer(rate)) => Some((*rate * scale) as f64),
        _ => None,
    }
}
