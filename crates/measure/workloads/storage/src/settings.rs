//! What the parameters of an invocation say of its blocks.

use std::path::Path;

use plumb_model::{SearchEffort, Value};
use plumb_protocol::{ArrivalSchedule, Arrivals, Start, StartError};
use plumb_workload_kit::declare::within;
use plumb_workload_kit::mapping::Pages;

use crate::file::Data;
use crate::method::{DirectChoice, EngineChoice, MethodRequest};
use crate::offsets::{AccessPattern, Mix};
use crate::share::Share;
use crate::stamp::SECTOR;

/// Writes come from at least this much data, so that a compressing filesystem finds no repeat if it is random.
const FRESH_DATA: usize = 1 << 20;

/// Deepest queue that the kernel takes.
const DEEPEST: u64 = 4096;

/// Upper limit of the number of workers.
const MOST_WORKERS: usize = 1024;

/// The settings of `start` for blocks, checked.
#[derive(Debug, Clone)]
pub struct BlockSettings {
    /// In which order they are visited.
    pub pattern: AccessPattern,
    /// Of every random choice.
    pub seed: u64,
    /// Of the file, in bytes.
    pub size: u64,
    /// Bytes of one.
    pub block: usize,
    /// Threads that each have their own queue.
    pub workers: usize,
    /// Whether the file lies in memory, on purpose.
    pub in_memory: bool,
    /// Which of them are read and which written.
    pub mix: Mix,
    /// What those that are written carry.
    pub data: Data,
    /// How they are to be moved.
    pub request: MethodRequest,
    /// Blocks a second, in an open loop.
    pub rate: Option<u64>,
    /// How they arrive in it.
    pub arrivals: Arrivals,
    /// Where the rate is searched: how long a good block takes at most, in nanoseconds.
    pub bound_ns: Option<u64>,
}

impl BlockSettings {
    /// Of an invocation.
    ///
    /// # Errors
    /// A number that makes no sense, or settings that contradict each other.
    pub fn read(start: &Start, pattern: AccessPattern) -> Result<Self, StartError> {
        let size = start.integer("size");
        let block = start.size("block");
        if block == 0 || !block.is_multiple_of(SECTOR) {
            return Err(StartError::Failed(format!(
                "`block` must be a multiple of {SECTOR} bytes, not {block}"
            )));
        }
        if size < block as u64 {
            return Err(StartError::Failed(format!(
                "`size` ({size} bytes) is less than one block ({block} bytes)"
            )));
        }
        let workers = within(start, "workers", 1, MOST_WORKERS)?;
        let mix = mix(start)?;
        let is_of_user = file_of_user(start)?.is_some();
        if is_of_user && mix.writes() {
            let why = "plumb never writes to your `file`: use operation=read, or leave out `file`";
            return Err(StartError::Failed(why.to_owned()));
        }
        let is_searched = SearchEffort::of_word(start.text("rate")).is_some();
        Ok(Self {
            pattern,
            seed: start.seed,
            size,
            block,
            workers,
            in_memory: is_in_memory_on_purpose(start),
            mix,
            data: data(start),
            request: request(start, mix, !is_of_user)?,
            rate: start.params.get("rate").and_then(Value::integer),
            arrivals: match start.text("arrivals") {
                "fixed" => Arrivals::Fixed,
                _ => Arrivals::Poisson,
            },
            bound_ns: is_searched.then(|| start.integer("p99")),
        })
    }

    /// The starts of a worker's open loop; none in a closed one, and if the rate is searched. To be called by the
    /// thread that keeps to them.
    ///
    /// # Errors
    /// When samples end with a sync, or the rate can't be kept.
    #[expect(clippy::cast_precision_loss, reason = "a rate that can be kept is far below 2^53")]
    pub fn schedule(
        &self,
        share: Share,
        sync: bool,
    ) -> Result<Option<ArrivalSchedule>, StartError> {
        if self.rate.is_none() && self.bound_ns.is_none() {
            return Ok(None);
        }
        if sync {
            return Err(StartError::Failed(
                "an open loop can't have samples that end with fdatasync; use sync=none".into(),
            ));
        }
        // Timers of this thread would else be up to 50 µs late.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        match self.rate {
            Some(rate) => Ok(Some(share.schedule(self.arrivals, rate as f64, self.seed)?)),
            // A searched rate gets its schedule with each trial.
            None => Ok(None),
        }
    }

    /// What the reader has to know of the load: of latencies above all, which blocks in random order have.
    #[must_use]
    pub fn load(&self) -> Option<String> {
        let arrivals = match self.arrivals {
            Arrivals::Fixed => "equally spaced",
            Arrivals::Poisson => "at random times (Poisson)",
        };
        match (self.rate, self.pattern) {
            (Some(rate), AccessPattern::Sequential) => {
                Some(format!("open loop: {rate} blocks are due per second, {arrivals}"))
            }
            (Some(rate), AccessPattern::Random) => Some(format!(
                "open loop: {rate} blocks are due per second, {arrivals}; latency counts from the due time"
            )),
            (None, AccessPattern::Sequential) => None,
            (None, AccessPattern::Random) if self.bound_ns.is_some() => Some(format!(
                "open loop; the search sets the rate: blocks are due {arrivals}; latency counts from the due time"
            )),
            (None, AccessPattern::Random) => Some(
                "closed loop: each block waits for an earlier one, so a stall of the device shows only in the latencies of the blocks in flight; use rate=5k/s for an open loop"
                    .into(),
            ),
        }
    }

    /// Whether some blocks are written.
    #[must_use]
    pub fn is_write(&self) -> bool {
        self.mix.writes()
    }
}

/// How the blocks are to be moved.
fn request(start: &Start, mix: Mix, stamped: bool) -> Result<MethodRequest, StartError> {
    let block = start.size("block");
    let depth = start.integer("depth");
    let Some(depth) = u32::try_from(depth).ok().filter(|d| (1..=DEEPEST).contains(&u64::from(*d)))
    else {
        return Err(StartError::Failed(format!("`depth` must be 1 to {DEEPEST}, not {depth}")));
    };
    // A write needs new data each time; a read needs a buffer per block in flight only.
    let in_flight = usize::try_from(depth).unwrap_or(usize::MAX);
    let slots = if mix.writes() { in_flight.max(FRESH_DATA / block) } else { in_flight };
    Ok(MethodRequest {
        dir: start.dir.clone().into(),
        engine: EngineChoice::read(start),
        direct: DirectChoice::read(start),
        writes: mix.writes(),
        reads: mix.reads(),
        stamped,
        block,
        depth,
        slots,
        pages: if start.text("pages") == "huge" { Pages::Huge } else { Pages::System },
    })
}

/// The operation on the blocks.
fn mix(start: &Start) -> Result<Mix, StartError> {
    match start.text("operation") {
        "mixed" => {
            let share = within(start, "mix", 1, 99)?;
            Ok(Mix(share as u64))
        }
        "write" => Ok(Mix::WRITE),
        _ => Ok(Mix::READ),
    }
}

/// What the file holds behind its stamps, and blocks that are written.
#[must_use]
pub fn data(start: &Start) -> Data {
    match start.text("data") {
        "zeros" => Data::Zeros,
        _ => Data::Random(start.seed),
    }
}

/// The user's own file; none if one is laid out.
///
/// # Errors
/// When its path is relative, and if settings ask for a file that is laid out.
pub fn file_of_user(start: &Start) -> Result<Option<&Path>, StartError> {
    let file = start.text("file");
    if file.is_empty() {
        return Ok(None);
    }
    if !Path::new(file).is_absolute() {
        return Err(StartError::Failed(format!("`file` must be an absolute path, not `{file}`")));
    }
    if is_in_memory_on_purpose(start) || data(start) == Data::Zeros {
        let why = "`place` and `data` do not apply to your `file`";
        return Err(StartError::unsupported(
            why,
            "leave out `file`, or set place=dir and data=random",
        ));
    }
    Ok(Some(Path::new(file)))
}

/// Whether the file lies in memory because the user wants to know what memory gives.
#[must_use]
pub fn is_in_memory_on_purpose(start: &Start) -> bool {
    start.text("place") == "memory"
}
