//! Where an array of a certain size lies in this machine's hierarchy of memory.

use plumb_model::{Facts, Flag, FlagKind, Ready};
use plumb_protocol::{Start, StartError};
use plumb_workload_kit::mapping::Pages;

/// How many times the last-level cache a measurement of main memory should be (STREAM's rule).
const TIMES_CACHE: u64 = 4;

/// The largest part of memory that a workload takes: one in this many.
const MEMORY_SHARE: u64 = 2;

/// The size of pages that arrays are to have, from the parameter `pages`.
pub(super) fn pages(start: &Start) -> Pages {
    match start.text("pages") {
        "huge" => Pages::Huge,
        _ => Pages::Small,
    }
}

/// Says in `ready` in which cache the `footprint` of arrays of `size` bytes fits, and flags a size
/// that is neither small enough for the caches of one core nor large enough to be out of the shared
/// one.
pub(super) fn describe(size: u64, footprint: u64, facts: &Facts, ready: &mut Ready) {
    let show = plumb_units::show_bytes;
    let wanted = facts.llc_bytes * TIMES_CACHE;
    if facts.llc_bytes == 0 {
        ready.notes.push(format!("cache sizes are unknown: {} may fit in a cache", show(size)));
    } else if footprint <= facts.l1d_bytes {
        ready.notes.push(format!("fits in the first-level cache of {}", show(facts.l1d_bytes)));
    } else if footprint <= facts.l2_bytes {
        ready.notes.push(format!("fits in the second-level cache of {}", show(facts.l2_bytes)));
    } else if size < wanted {
        ready.flags.push(Flag::new(
            FlagKind::Capped,
            format!(
                "{} may fit in caches; 4 × the last-level cache is {}",
                show(size),
                show(wanted)
            ),
        ));
    }
}

/// Refuses a size that is not a multiple of a cache line, and memory that plumb may not use.
///
/// # Errors
/// [`StartError::Unsupported`] with a size that would do.
pub(super) fn check(size: u64, needed: u64, facts: &Facts) -> Result<(), StartError> {
    if size < 512 || !size.is_multiple_of(64) {
        return Err(StartError::unsupported(
            format!("{size} bytes is not a multiple of 64 (a cache line), or is less than 512"),
            "set `size` to a multiple of 64 from 512 up",
        ));
    }
    let allowed = facts.memory_bytes / MEMORY_SHARE;
    if facts.memory_bytes > 0 && needed > allowed {
        let most = u128::from(size) * u128::from(allowed) / u128::from(needed);
        return Err(StartError::unsupported(
            format!(
                "needs {}; plumb uses at most half of the memory ({})",
                plumb_units::show_bytes(needed),
                round_down(allowed)
            ),
            format!("use size={} or less", round_down(u64::try_from(most).unwrap_or(allowed))),
        ));
    }
    Ok(())
}

/// The next size below that is a whole number of MiB, or of cache lines if it is less than one.
fn round_down(bytes: u64) -> String {
    let unit = if bytes < 1 << 20 { 64 } else { 1 << 20 };
    plumb_units::show_bytes(bytes / unit * unit)
}

#[cfg(test)]
mod tests {
    use super::{check, describe};
    use plumb_model::{Facts, FlagKind, Ready};
    use plumb_protocol::StartError;

    fn facts() -> Facts {
        Facts {
            l1d_bytes: 32 << 10,
            l2_bytes: 1 << 20,
            llc_bytes: 32 << 20,
            memory_bytes: 1 << 30,
            ..Facts::default()
        }
    }

    fn described(size: u64) -> Ready {
        let mut ready = Ready::default();
        describe(size, size, &facts(), &mut ready);
        ready
    }

    #[test]
    fn both_sizes_are_shown_where_the_shared_cache_may_help() {
        let ready = described(64 << 20);
        assert_eq!(ready.flags[0].flag, FlagKind::Capped);
        assert_eq!(
            ready.flags[0].why,
            "64MiB may fit in caches; 4 × the last-level cache is 128MiB"
        );
        assert!(described(128 << 20).flags.is_empty());
        assert_eq!(described(16 << 10).notes, ["fits in the first-level cache of 32KiB"]);
        assert_eq!(described(64 << 10).notes, ["fits in the second-level cache of 1MiB"]);
    }

    #[test]
    fn too_much_memory_is_refused_with_a_size_that_would_do() {
        check(64 << 20, 128 << 20, &facts()).unwrap();
        let error = check(512 << 20, 1 << 30, &facts()).unwrap_err();
        let StartError::Unsupported { fix, .. } = error else { panic!("{error:?}") };
        assert_eq!(fix, "use size=256MiB or less");
        let error = check(1 << 40, 2 << 40, &Facts { memory_bytes: 3_000_000_000, ..facts() });
        let StartError::Unsupported { why, fix } = error.unwrap_err() else {
            panic!("another error")
        };
        assert_eq!(why, "needs 2TiB; plumb uses at most half of the memory (1430MiB)");
        assert_eq!(fix, "use size=715MiB or less");
        assert!(check(100, 100, &facts()).is_err());
        check(1 << 40, 1 << 41, &Facts::default()).unwrap();
    }
}
