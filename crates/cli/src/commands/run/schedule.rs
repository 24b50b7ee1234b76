//! `plumb run --every`: what would measure at fixed times, as files for systemd and as a line for cron.
//! Nothing is installed.

use std::path::Path;

use plumb_suite::time_ns;
use plumb_text::time::length;

use crate::error::{CommandError, Exit, Result};
use crate::locate;
use crate::ui::Ui;

/// Much else starts at the full hour.
const MINUTE: u64 = 17;
const DAY_MINUTES: u64 = 24 * 60;
/// Longest part of a unit's name that comes from what is measured.
const LONGEST_NAME: usize = 48;

/// Prints the schedule of the command that was typed, which measures these names.
///
/// # Errors
/// When the time does not divide an hour or a day, or plumb does not find itself.
pub fn print(every: &str, names: &[String], store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let period = Period::of(every)?;
    let typed: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|word| word.into_string())
        .collect::<std::result::Result<_, _>>()
        .map_err(|_| CommandError::usage("--every needs arguments in UTF-8"))?;
    let folder = std::env::current_dir()
        .map_err(|error| CommandError::usage(format!("the current folder is gone: {error}")))?;
    let plumb = locate::plumb_for_others();
    if plumb.is_empty() {
        return Err(CommandError::nothing("plumb can't find its own binary"));
    }
    let store = folder.join(locate::store(store)?).to_string_lossy().into_owned();
    let schedule = Schedule {
        name: unit_name(names, every),
        words: words(&plumb, &store, std::env::var(locate::HOST).ok(), &typed, every),
        folder: folder.to_string_lossy().into_owned(),
        period,
    };
    ui.out(&schedule.text());
    Ok(Exit::Fine)
}

/// A time that systemd's and cron's calendars can say exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Period {
    minutes: u64,
}

impl Period {
    fn of(text: &str) -> Result<Self> {
        let ns = time_ns(text)?;
        let minutes = ns / 60_000_000_000;
        let whole = ns % 60_000_000_000 == 0 && minutes > 0;
        let hours = minutes.is_multiple_of(60) && DAY_MINUTES.is_multiple_of(minutes);
        if whole && (hours || (minutes < 60 && 60_u64.is_multiple_of(minutes))) {
            return Ok(Self { minutes });
        }
        Err(CommandError::usage(format!("systemd and cron have no calendar for every {text}"))
            .hint("--every 10m, 15m, 20m, 30m, 1h, 2h, 3h, 4h, 6h, 8h, 12h or 1d"))
    }

    /// systemd.time(7).
    fn calendar(self) -> String {
        match self.minutes {
            minutes if minutes < 60 => format!("*-*-* *:{:02}/{minutes}:00", MINUTE % minutes),
            60 => format!("*-*-* *:{MINUTE}:00"),
            DAY_MINUTES => format!("*-*-* 03:{MINUTE}:00"),
            minutes => format!("*-*-* 00/{}:{MINUTE}:00", minutes / 60),
        }
    }

    /// crontab(5).
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

struct Schedule {
    name: String,
    words: Vec<String>,
    folder: String,
    period: Period,
}

impl Schedule {
    fn text(&self) -> String {
        let Self { name, .. } = self;
        let head = |kind: &str| format!("# ~/.config/systemd/user/{name}.{kind}\n");
        format!(
            "{}{}\n{}{}\n\
             Write these two files, then:\n  \
               systemctl --user daemon-reload\n  \
               systemctl --user enable --now {name}.timer\n\
             Your timers pause while you are logged out, unless you run `loginctl enable-linger`.\n\
             Or add this line with `crontab -e`:\n  {}\n\
             plumb has installed nothing. Later: plumb history SERIES\n",
            head("service"),
            self.service(),
            head("timer"),
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
        let (every, calendar) = (self.period.words(), self.period.calendar());
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

/// The command that was typed, with a label in place of `--every`, the store by its path, the host by its name where the
/// environment gives it one, and no talk.
fn words(
    plumb: &str,
    store: &str,
    host: Option<String>,
    typed: &[String],
    every: &str,
) -> Vec<String> {
    let mut words = vec![plumb.to_owned()];
    let says = |long: &str, short: &str| {
        typed
            .iter()
            .any(|word| word == long || word == short || word.starts_with(&format!("{long}=")))
    };
    if !says("--store", "--store") {
        words.extend(["--store".to_owned(), store.to_owned()]);
    }
    if !says("--quiet", "-q") {
        words.push("--quiet".to_owned());
    }
    let mut label = vec!["--label".to_owned(), format!("schedule={every}")];
    if let Some(host) = host.filter(|_| !says("--host", "--host")) {
        label.extend(["--host".to_owned(), host]);
    }
    let mut typed = typed.iter();
    while let Some(word) = typed.next() {
        if word == "--every" {
            typed.next();
            words.extend(label.clone());
        } else if word.starts_with("--every=") {
            words.extend(label.clone());
        } else {
            words.push(word.clone());
        }
    }
    words
}

/// `plumb-first-look-6h`, of characters that unit names may have.
fn unit_name(names: &[String], every: &str) -> String {
    let what = if names.is_empty() { "first-look".to_owned() } else { names.join("-") };
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let what: String = what.chars().take(LONGEST_NAME).map(allowed).collect();
    let every: String = every.chars().map(allowed).collect();
    format!("plumb-{}-{every}", what.trim_matches(['-', '.']))
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
    let harmless = |c: char| c.is_ascii_alphanumeric() || "/._-=:,+@".contains(c);
    !word.is_empty() && word.chars().all(harmless)
}

#[cfg(test)]
mod tests {
    use super::{Period, Schedule, unit_name, words};

    fn schedule(every: &str, typed: &[&str]) -> Schedule {
        let typed: Vec<String> = typed.iter().map(|&word| word.to_owned()).collect();
        Schedule {
            name: unit_name(&["cpu.sieve:threads=2".to_owned()], every),
            words: words("/bin/plumb", "/s.db", None, &typed, every),
            folder: "/home/a b".to_owned(),
            period: Period::of(every).unwrap(),
        }
    }

    #[test]
    fn a_schedule_says_what_was_typed() {
        let typed = ["run", "cpu.sieve", "--every", "6h", "-p", "dir=/a b/50%$x"];
        let schedule = schedule("6h", &typed);
        let line = schedule.service().lines().last().unwrap().to_owned();
        assert_eq!(
            line,
            "ExecStart=/bin/plumb --store /s.db --quiet run cpu.sieve --label schedule=6h -p \
             \"dir=/a b/50%%$$x\""
        );
        assert_eq!(
            schedule.cron(),
            "17 */6 * * * cd '/home/a b' && /bin/plumb --store /s.db --quiet run cpu.sieve \
             --label schedule=6h -p 'dir=/a b/50\\%$x'"
        );
        assert_eq!(schedule.name, "plumb-cpu.sieve-threads-2-6h");
        let kept = words(
            "p",
            "/s",
            None,
            &["-q", "--store=x", "run", "--every=1d"].map(str::to_owned),
            "1d",
        );
        assert_eq!(kept, ["p", "-q", "--store=x", "run", "--label", "schedule=1d"]);
        let host = |typed: &[&str]| {
            let typed: Vec<String> = typed.iter().map(|&word| word.to_owned()).collect();
            words("p", "/s", Some("db1".into()), &typed, "1d").join(" ")
        };
        let start = "p --store /s --quiet run";
        assert_eq!(
            host(&["run", "--every", "1d"]),
            format!("{start} --label schedule=1d --host db1")
        );
        let given = ["run", "--every", "1d", "--host", "db2"];
        assert_eq!(host(&given), format!("{start} --label schedule=1d --host db2"));
    }

    #[test]
    fn only_what_both_calendars_can_say() {
        let said = |text| Period::of(text).map(|it| (it.calendar(), it.cron()));
        let both = |one: &str, other: &str| Ok((one.to_owned(), other.to_owned()));
        assert_eq!(said("15m"), both("*-*-* *:02/15:00", "2-59/15 * * * *"));
        assert_eq!(said("60m"), both("*-*-* *:17:00", "17 * * * *"));
        assert_eq!(said("6h"), both("*-*-* 00/6:17:00", "17 */6 * * *"));
        assert_eq!(said("1d"), both("*-*-* 03:17:00", "17 3 * * *"));
        for text in ["7m", "5h", "90m", "2d", "30s", "0"] {
            assert!(said(text).is_err(), "{text}");
        }
    }
}
