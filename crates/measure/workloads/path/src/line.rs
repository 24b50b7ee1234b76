//! One direction of a path as arithmetic: what becomes of a frame, and when.

use plumb_protocol::SplitMix64;

use plumb_workload_kit::link::{LinkSettings, OneWayLink};

/// The effects of one direction on frames, apart from its bandwidth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineSettings {
    /// From one end to the other, in nanoseconds.
    pub delay_ns: u64,
    /// The delay is longer or shorter by up to this, uniformly, in nanoseconds; frames stay in their order.
    pub jitter_ns: u64,
    /// Millionths of the frames that are lost, each by itself.
    pub loss: u64,
    /// Millionths of the frames that are not delayed, and so overtake those that are (as `tc netem` reorders).
    pub reorder: u64,
}

/// The fate of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It never arrives.
    Lost,
    /// It arrives at once.
    Overtakes,
    /// It arrives at this time, in nanoseconds, after those before it.
    Due(u64),
}

/// One direction of a path, with its frames behind each other.
#[derive(Debug)]
pub(crate) struct PathDirection {
    direction: OneWayLink,
    settings: LineSettings,
    random: SplitMix64,
}

impl PathDirection {
    pub(crate) fn new(settings: LineSettings, seed: u64) -> Self {
        let link = LinkSettings {
            delay_ns: settings.delay_ns,
            jitter_ns: settings.jitter_ns,
            ..LinkSettings::NONE
        };
        let mut random = SplitMix64::new(seed);
        Self { direction: OneWayLink::new(link, random.next_u64()), settings, random }
    }

    /// The fate of a frame that comes at `now_ns`.
    pub(crate) fn fate(&mut self, now_ns: u64) -> Fate {
        if self.happens(self.settings.loss) {
            Fate::Lost
        } else if self.happens(self.settings.reorder) {
            Fate::Overtakes
        } else {
            Fate::Due(self.direction.arrival(now_ns, 0))
        }
    }

    fn happens(&mut self, millionths: u64) -> bool {
        millionths > 0 && self.random.below(1_000_000) < millionths
    }
}

#[cfg(test)]
mod tests {
    use super::{Fate, LineSettings, PathDirection};

    const MS: u64 = 1_000_000;

    #[test]
    fn frames_are_lost_and_overtake_as_often_as_asked_for() {
        let settings = LineSettings {
            delay_ns: 10 * MS,
            loss: 20_000,
            reorder: 100_000,
            ..LineSettings::default()
        };
        let mut line = PathDirection::new(settings, 7);
        let fates: Vec<Fate> = (0..100_000).map(|at| line.fate(at * MS)).collect();
        let count = |of: fn(&Fate) -> bool| fates.iter().filter(|fate| of(fate)).count();
        let lost = count(|fate| *fate == Fate::Lost);
        let overtaking = count(|fate| *fate == Fate::Overtakes);
        // Three standard deviations of a binomial distribution.
        assert!(lost.abs_diff(2000) < 133, "{lost}");
        assert!(overtaking.abs_diff(9800) < 282, "{overtaking}");
        let is_late = |(at, fate): (usize, &Fate)| match fate {
            Fate::Due(due) => *due == at as u64 * MS + 10 * MS,
            _ => true,
        };
        assert!(fates.iter().enumerate().all(is_late));
    }

    #[test]
    fn a_line_without_settings_passes_all_at_once() {
        let mut line = PathDirection::new(LineSettings::default(), 1);
        assert!((0..1000).all(|at| line.fate(at) == Fate::Due(at)));
    }
}
