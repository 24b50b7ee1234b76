//! What a program says that it is doing, made fit to be shown: cleaned, short, and a few times a second at most.

use std::time::{Duration, Instant};

/// No text sooner than this after the one before: a plug-in can't flood a terminal, and plumb's own work next to a
/// measurement stays small.
const PAUSE: Duration = Duration::from_millis(250);
/// Longest text that is passed on, in characters.
const LONGEST: usize = 80;

/// Where the progress of a program goes that nobody watches.
pub fn ignore_progress(_: &str) {}

/// Passes on texts, each no sooner than [`PAUSE`] after the one before. Of those that come sooner the newest waits:
/// what was said last is true longest, since a program that has begun something long says no more for a while.
#[derive(Debug, Default)]
pub struct ProgressThrottle {
    passed_at: Option<Instant>,
    waiting: Option<String>,
}

impl ProgressThrottle {
    /// The text as it may be shown now; None if it is empty or has to wait.
    pub fn take(&mut self, text: &str, now: Instant) -> Option<String> {
        let shown = presentable(text);
        if shown.is_empty() {
            return None;
        }
        self.waiting = Some(shown);
        self.release(now)
    }

    /// How long the text that waits has to wait still; None if none waits.
    pub fn due_in(&self, now: Instant) -> Option<Duration> {
        self.waiting.as_ref()?;
        let since = self.passed_at.map(|at| now.saturating_duration_since(at));
        Some(since.map_or(Duration::ZERO, |since| PAUSE.saturating_sub(since)))
    }

    /// The text that waits, once it has waited long enough.
    pub fn release(&mut self, now: Instant) -> Option<String> {
        if self.due_in(now)? > Duration::ZERO {
            return None;
        }
        self.passed_at = Some(now);
        self.waiting.take()
    }

    /// The program has answered: what still waits is over.
    pub fn forget(&mut self) {
        self.waiting = None;
    }
}

/// A text in one line of printable characters, cut with a mark if it is long.
fn presentable(text: &str) -> String {
    // Of a line of megabytes no more is looked at than can be shown.
    let beginning: String = text
        .chars()
        .take(4 * LONGEST)
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect();
    let words: Vec<&str> = beginning.split_whitespace().collect();
    let line = words.join(" ");
    if line.chars().count() <= LONGEST {
        return line;
    }
    let kept: String = line.chars().take(LONGEST - 1).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{LONGEST, PAUSE, ProgressThrottle, presentable};

    #[test]
    fn a_flood_becomes_a_few_texts_a_second_and_the_last_one_is_shown() {
        let start = Instant::now();
        let mut throttle = ProgressThrottle::default();
        let mut passed = Vec::new();
        for millisecond in 0..1000 {
            let now = start + Duration::from_millis(millisecond);
            passed.extend(throttle.take(&millisecond.to_string(), now));
        }
        assert_eq!(passed, ["0", "250", "500", "750"]);
        let now = start + Duration::from_millis(999);
        assert_eq!(throttle.due_in(now), Some(Duration::from_millis(1)));
        assert_eq!(throttle.release(now), None);
        assert_eq!(throttle.release(start + 4 * PAUSE).as_deref(), Some("999"));
        assert_eq!(throttle.due_in(start + 8 * PAUSE), None);
    }

    #[test]
    fn what_waits_when_the_program_answers_is_not_shown() {
        let now = Instant::now();
        let mut throttle = ProgressThrottle::default();
        assert_eq!(throttle.take("first", now).as_deref(), Some("first"));
        assert_eq!(throttle.take("second", now), None);
        throttle.forget();
        assert_eq!(throttle.release(now + 2 * PAUSE), None);
    }

    #[test]
    fn hostile_text_becomes_one_short_line() {
        assert_eq!(presentable("\u{1b}[31m42 of\r\n\t 64\0\u{9b}2J"), "[31m42 of 64 2J");
        assert_eq!(presentable(" \n "), "");
        let long = presentable(&"x".repeat(8 << 20));
        assert!(long.chars().count() == LONGEST && long.ends_with('…'), "{long}");
    }
}
