//! How large a layer may be: what is free below it.

use std::path::Path;

use plumb_machine::Root;
use plumb_protocol::{Start, StartError};
use plumb_units::whole_size;
use plumb_workload_kit::filesystem::MOST_OF_FREE;

/// The default size of a layer: independent of free space, so that two media are alike.
const DEFAULT_SIZE: u64 = 2 << 30;
/// The smallest that any filesystem here can be made on.
const SMALLEST: u64 = 64 << 20;

/// Free room of the place below a layer.
pub struct FreeRoom {
    /// For people: `in /srv`, `of memory`.
    pub place: String,
    /// Bytes that are free.
    pub free: u64,
}

impl FreeRoom {
    /// On the filesystem of this folder.
    ///
    /// # Errors
    /// When it can't be asked.
    pub fn in_folder(folder: &Path) -> Result<Self, StartError> {
        let place = format!("in {}", folder.display());
        let stat = rustix::fs::statvfs(folder)
            .map_err(|error| StartError::Failed(format!("statvfs {place}: {error}")))?;
        Ok(Self { place, free: stat.f_bavail.saturating_mul(stat.f_frsize) })
    }

    /// In memory, as far as this process may have it, without what others have to give up for it.
    #[must_use]
    pub fn in_memory(start: &Start) -> Self {
        let field = Root::default().field("/proc/meminfo", "MemAvailable").unwrap_or_default();
        let kibibytes = field.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        // 0 stands for not known.
        let limit = Some(start.facts.memory_bytes).filter(|bytes| *bytes > 0).unwrap_or(u64::MAX);
        Self { place: "in memory".into(), free: (kibibytes.unwrap_or(0) << 10).min(limit) }
    }

    /// The size that was asked for, or the usual one.
    ///
    /// # Errors
    /// When it is not a size, or there is too little room, with both figures.
    pub fn size(&self, layer: &str, asked: &str) -> Result<u64, StartError> {
        let size = match asked {
            "" => DEFAULT_SIZE,
            text => plumb_units::parse_bytes(text)
                .map_err(|error| StartError::Failed(error.to_string()))?,
        };
        // Down to whole MiB, as sizes are shown.
        let size = size >> 20 << 20;
        if size < SMALLEST {
            let size = whole_size(size);
            let least = whole_size(SMALLEST);
            let why =
                format!("`{layer}` of {size} is too small: a filesystem needs at least {least}");
            return Err(StartError::unsupported(
                why,
                format!("medium={layer}:{least}+…").replace(' ', ""),
            ));
        }
        if size > self.free / MOST_OF_FREE.1 * MOST_OF_FREE.0 {
            let why = format!(
                "`{layer}` of {} would take more than 80 % of the {} free {}",
                whole_size(size),
                whole_size(self.free),
                self.place
            );
            return Err(StartError::unsupported(
                why,
                format!("set a smaller size: medium={layer}:SIZE+…"),
            ));
        }
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use super::FreeRoom;
    use plumb_protocol::StartError;

    #[test]
    fn a_layer_takes_what_was_asked_for_or_the_usual_where_there_is_room() {
        let room = |mebibytes: u64| FreeRoom { place: "in /srv".into(), free: mebibytes << 20 };
        assert_eq!(room(10_000).size("loop", "").unwrap(), 2 << 30);
        assert_eq!(room(1000).size("loop", "800MiB").unwrap(), 800 << 20);
        for (asked, words) in [
            ("", "`loop` of 2048 MiB would take more than 80 % of the 1000 MiB free in /srv"),
            ("801MiB", "`loop` of 801 MiB would take more than 80 % of the 1000 MiB free in /srv"),
            ("1MiB", "`loop` of 1 MiB is too small: a filesystem needs at least 64 MiB"),
        ] {
            let Err(StartError::Unsupported { why, .. }) = room(1000).size("loop", asked) else {
                panic!("{asked}")
            };
            assert_eq!(why, words);
        }
        assert!(matches!(room(1000).size("loop", "much"), Err(StartError::Failed(_))));
    }
}
