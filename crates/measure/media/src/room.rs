//! How large a layer may be: what is free below it.

use std::path::Path;

use plumb_machine::Root;
use plumb_model::Value;
use plumb_protocol::StartError;

/// The smallest that any filesystem here can be made on.
const SMALLEST: u64 = 64 << 20;
/// What a layer takes at most of what is free: 4 in 5.
const SHARE: (u64, u64) = (4, 5);

/// What a layer lies in.
pub struct Room {
    /// For people: `in /srv`, `of memory`.
    pub place: String,
    /// Bytes that are free.
    pub free: u64,
}

impl Room {
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

    /// In memory, without what others have to give up for it.
    #[must_use]
    pub fn in_memory(root: &Root) -> Self {
        let field = root.field("/proc/meminfo", "MemAvailable").unwrap_or_default();
        let kibibytes = field.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        Self { place: "of memory".into(), free: kibibytes.unwrap_or(0) << 10 }
    }

    /// The size that was asked for, or this share of what is free, at most so much.
    ///
    /// # Errors
    /// When it is no size, or there is too little room, with both figures.
    pub fn size(
        &self,
        layer: &str,
        asked: &str,
        (of, in_all): (u64, u64),
        most: u64,
    ) -> Result<u64, StartError> {
        let room = self.free / SHARE.1 * SHARE.0;
        let size = match asked {
            "" => (self.free / in_all * of).min(most).min(room),
            text => {
                Value::parse_bytes(text).map_err(|error| StartError::Failed(error.to_string()))?
            }
        };
        let size = size >> 20 << 20;
        let show = |bytes: u64| format!("{} MiB", bytes >> 20);
        let (wanted, free, place) = (show(size.max(SMALLEST)), show(self.free), &self.place);
        if size >= SMALLEST && size <= room {
            return Ok(size);
        }
        let why = match size < SMALLEST && !asked.is_empty() {
            true => {
                format!("`{layer}` of {} is too small: a filesystem wants {wanted}", show(size))
            }
            false => format!(
                "`{layer}` of {wanted} would take more than 80 % of the {free} that are free {place}"
            ),
        };
        Err(StartError::unsupported(why, format!("another size, medium={layer}:SIZE+…")))
    }
}

#[cfg(test)]
mod tests {
    use super::Room;
    use plumb_protocol::StartError;

    #[test]
    fn a_layer_takes_a_share_of_what_is_free_or_what_was_asked_for() {
        let room = Room { place: "in /srv".into(), free: 1000 << 20 };
        let size = |asked: &str| room.size("loop", asked, (1, 4), 8 << 30);
        assert_eq!(size("").unwrap(), 250 << 20);
        assert_eq!(room.size("loop", "", (4, 5), 100 << 20).unwrap(), 100 << 20);
        assert_eq!(size("800MiB").unwrap(), 800 << 20);
        for (asked, words) in [
            (
                "801MiB",
                "`loop` of 801 MiB would take more than 80 % of the 1000 MiB that are free in /srv",
            ),
            ("1MiB", "`loop` of 1 MiB is too small: a filesystem wants 64 MiB"),
        ] {
            let Err(StartError::Unsupported { why, .. }) = size(asked) else { panic!("{asked}") };
            assert_eq!(why, words);
        }
        assert!(matches!(size("much"), Err(StartError::Failed(_))));
        let none = Room { place: "of memory".into(), free: 10 << 20 };
        assert!(none.size("ram", "", (1, 4), 1 << 30).is_err());
    }
}
