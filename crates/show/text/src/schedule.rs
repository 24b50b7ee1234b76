//! A command at fixed times, as systemd's timers and cron write it.

use plumb_units::length;

/// Much else starts at the full hour.
const MINUTE: u64 = 17;
const DAY_MINUTES: u64 = 24 * 60;

/// A time that systemd's and cron's calendars can say exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    minutes: u64,
}

impl Period {
    /// Of so many nanoseconds; none if no calendar has it.
    #[must_use]
    pub fn of_ns(ns: u64) -> Option<Self> {
        let minutes = ns / 60_000_000_000;
        let whole = ns.is_multiple_of(60_000_000_000) && minutes > 0;
        let hours = minutes.is_multiple_of(60) && DAY_MINUTES.is_multiple_of(minutes);
        let part_of_an_hour = minutes < 60 && whole && 60_u64.is_multiple_of(minutes);
        (whole && (hours || part_of_an_hour)).then_some(Self { minutes })
    }

    /// The `OnCalendar=` expression, as systemd.time(7) defines it.
    fn calendar(self) -> String {
        match self.minutes {
            minutes if minutes < 60 => format!("*-*-* *:{:02}/{minutes}:00", MINUTE % minutes),
            60 => format!("*-*-* *:{MINUTE}:00"),
            DAY_MINUTES => format!("*-*-* 03:{MINUTE}:00"),
            minutes => format!("*-*-* 00/{}:{MINUTE}:00", minutes / 60),
        }
    }

    /// The five time fields of a line, as crontab(5) defines them.
    fn cron(self) -> String {
        match self.minutes {
            minutes if minutes < 60 => format!("{}-59/{minutes} * * * *", MINUTE % minutes),
            60 => format!("{MINUTE} * * * *"),
            DAY_MINUTES => format!("{MINUTE} 3 * * *"),
            minutes => format!("{MINUTE} */{} * * *", minutes / 60),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a length of time for people")]
    fn words(self) -> String {
        length(self.minutes as f64 * 60.0)
    }
}

/// A command at fixed times.
#[derive(Debug, Clone)]
pub struct RepeatSchedule {
    /// The name of the units.
    pub name: String,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Its working directory.
    pub folder: String,
    /// How often the command runs.
    pub period: Period,
}

impl RepeatSchedule {
    /// The files for systemd, the line for cron, and what to do with them.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { name, .. } = self;
        format!(
            "# ~/.config/systemd/user/{name}.service\n{}\n# ~/.config/systemd/user/{name}.timer\n{}\n\
             Write these two files, then:\n  \
               systemctl --user daemon-reload\n  \
               systemctl --user enable --now {name}.timer\n\
             Your timers pause while you are logged out, unless you run `loginctl enable-linger`.\n\
             Or add this line with `crontab -e`:\n  {}\n\
             plumb has installed nothing. Later: plumb history SERIES\n",
            self.service(),
            self.timer(),
            self.cron(),
        )
    }

    fn service(&self) -> String {
        let words: Vec<String> = self.words.iter().map(|word| for_systemd(word)).collect();
        format!(
            "[Unit]\nDescription=Measure this machine with plumb\n\n[Service]\nType=oneshot\n\
             WorkingDirectory={}\nExecStart={}\n",
            self.folder.replace('%', "%%"),
            words.join(" ")
        )
    }

    fn timer(&self) -> String {
        let every = self.period.words();
        let calendar = self.period.calendar();
        format!(
            "[Unit]\nDescription=Measure this machine every {every}\n\n[Timer]\n\
             OnCalendar={calendar}\n\n[Install]\nWantedBy=timers.target\n"
        )
    }

    fn cron(&self) -> String {
        let words: Vec<String> = self.words.iter().map(|word| for_shell(word)).collect();
        let command = format!("cd {} && {}", for_shell(&self.folder), words.join(" "));
        format!("{} {}", self.period.cron(), command.replace('%', "\\%"))
    }
}

/// A word of ExecStart (systemd.service(5), systemd.unit(5)).
fn for_systemd(word: &str) -> String {
    let mut quoted = String::new();
    for c in word.chars() {
        match c {
            '%' => quoted.push_str("%%"),
            '$' => quoted.push_str("$$"),
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c => quoted.push(c),
        }
    }
    if is_plain(word) { word.to_owned() } else { format!("\"{quoted}\"") }
}

fn for_shell(word: &str) -> String {
    if is_plain(word) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Whether neither systemd nor a shell takes it for anything but itself.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-=:,+@".contains(c))
}

#[cfg(test)]
mod tests {
    use super::{Period, RepeatSchedule};

    const MINUTE_NS: u64 = 60_000_000_000;

    #[test]
    fn words_are_quoted_for_each() {
        let words = ["/bin/plumb", "run", "-p", "dir=/a b/50%$x"].map(str::to_owned).to_vec();
        let period = Period::of_ns(360 * MINUTE_NS).unwrap();
        let schedule =
            RepeatSchedule { name: "plumb-6h".into(), words, folder: "/home/a b".into(), period };
        let line = schedule.service().lines().last().unwrap().to_owned();
        assert_eq!(line, "ExecStart=/bin/plumb run -p \"dir=/a b/50%%$$x\"");
        assert_eq!(
            schedule.cron(),
            "17 */6 * * * cd '/home/a b' && /bin/plumb run -p 'dir=/a b/50\\%$x'"
        );
        let text = schedule.text();
        assert!(text.contains("plumb-6h.timer") && text.contains("OnCalendar=*-*-* 00/6:17:00"));
    }

    #[test]
    fn only_what_both_calendars_can_say() {
        let said = |minutes: u64| {
            let period = Period::of_ns(minutes * MINUTE_NS)?;
            Some((period.calendar(), period.cron()))
        };
        let both = |one: &str, other: &str| Some((one.to_owned(), other.to_owned()));
        assert_eq!(said(15), both("*-*-* *:02/15:00", "2-59/15 * * * *"));
        assert_eq!(said(60), both("*-*-* *:17:00", "17 * * * *"));
        assert_eq!(said(360), both("*-*-* 00/6:17:00", "17 */6 * * *"));
        assert_eq!(said(24 * 60), both("*-*-* 03:17:00", "17 3 * * *"));
        for minutes in [7, 5 * 60, 90, 48 * 60, 0] {
            assert_eq!(said(minutes), None, "{minutes}");
        }
        assert_eq!(Period::of_ns(MINUTE_NS / 2), None);
    }
}
