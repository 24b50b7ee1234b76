//! What the parameters of an invocation say of its blocks.

use plumb_model::{SearchEffort, Value};
use plumb_protocol::{Arrivals, Schedule, Start, StartError};
use plumb_workload_kit::declare::within;

use crate::method::MethodRequest;
use crate::offsets::Mix;
use crate::stamp::SECTOR;

/// Writes come from at least this much random data, so that a compressing filesystem finds no repeat.
const FRESH_DATA: usize = 1 << 20;

/// Deepest queue that the kernel takes.
const DEEPEST: u64 = 4096;

/// What `start` says of blocks, checked.
pub struct BlockSettings {
    /// Of the file, in bytes.
    pub size: u64,
    /// Bytes of one.
    pub block: usize,
    /// Whether the file lies in memory, on purpose.
    pub in_memory: bool,
    /// Which of them are read and which written.
    pub mix: Mix,
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
    /// A number that makes no sense.
    pub fn read(start: &Start) -> Result<Self, StartError> {
        let (size, block) = (start.integer("size"), start.size("block"));
        let depth = start.integer("depth");
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
        let Some(depth) =
            u32::try_from(depth).ok().filter(|d| (1..=DEEPEST).contains(&u64::from(*d)))
        else {
            return Err(StartError::Failed(format!("`depth` must be 1 to {DEEPEST}, not {depth}")));
        };
        let mix = mix(start)?;
        let in_flight = usize::try_from(depth).unwrap_or(usize::MAX);
        let slots = if mix.writes() { in_flight.max(FRESH_DATA / block) } else { in_flight };
        let text = |name: &str| start.text(name).to_owned();
        let request = MethodRequest {
            dir: start.dir.clone().into(),
            engine: text("engine"),
            direct: text("direct"),
            writes: mix.writes(),
            block,
            depth,
            slots,
        };
        let arrivals = match start.text("arrivals") {
            "fixed" => Arrivals::Fixed,
            _ => Arrivals::Poisson,
        };
        let rate = start.params.get("rate").and_then(Value::integer);
        let is_searched = SearchEffort::of_word(start.text("rate")).is_some();
        let bound_ns = is_searched.then(|| start.integer("p99"));
        let in_memory = is_in_memory_on_purpose(start);
        Ok(Self { size, block, in_memory, mix, request, rate, arrivals, bound_ns })
    }

    /// The starts of an open loop; none in a closed one, and where the rate is searched.
    ///
    /// # Errors
    /// When samples end with a sync, or the rate can't be kept.
    #[expect(clippy::cast_precision_loss, reason = "a rate that can be kept is far below 2^53")]
    pub fn schedule(&self, seed: u64, sync: bool) -> Result<Option<Schedule>, StartError> {
        if self.rate.is_none() && self.bound_ns.is_none() {
            return Ok(None);
        }
        if sync {
            return Err(StartError::Failed(
                "a sample that ends with fdatasync has no open loop; sync=none leaves it out"
                    .into(),
            ));
        }
        // Timers of this thread would else be up to 50 µs late.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let of = |rate| Schedule::new(self.arrivals, rate as f64, seed);
        Ok(self.rate.map(of).transpose()?)
    }

    /// What the reader of latencies has to know of the load.
    #[must_use]
    pub fn load(&self) -> String {
        let arrivals = match self.arrivals {
            Arrivals::Fixed => "equally far apart",
            Arrivals::Poisson => "at random moments (Poisson)",
        };
        match self.rate {
            Some(rate) => format!(
                "open loop: {rate} blocks a second are due, {arrivals}; latency counts from then"
            ),
            None if self.bound_ns.is_some() => format!(
                "open loop at rates that are searched: blocks are due {arrivals}; latency counts from then"
            ),
            None => "closed loop: the next block waits for one before, so that a stall of the device shows in as \
                     many latencies as blocks are in flight; rate=5k/s opens it"
                .into(),
        }
    }

    /// Whether some blocks are written.
    #[must_use]
    pub fn is_write(&self) -> bool {
        self.mix.writes()
    }
}

/// What is done to the blocks.
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

/// Whether the file lies in memory because the user wants to know what memory gives.
#[must_use]
pub fn is_in_memory_on_purpose(start: &Start) -> bool {
    start.text("place") == "memory"
}
