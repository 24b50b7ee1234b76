//! Command lines of the classic tools, for suites that are called like them: `plumb run bonnie -- -s 2048 -d /srv`.

use crate::numbers::{KIB, MIB};

/// What a command line asks for, in plumb's words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arguments {
    /// Parameters of the suite's workload, as they are typed.
    pub settings: Vec<(&'static str, String)>,
    /// The target directory.
    pub dir: Option<String>,
    /// The seed.
    pub seed: Option<u32>,
    /// Exactly so many processes.
    pub processes: Option<u64>,
    /// What the machine is called.
    pub name: Option<String>,
}

/// The suites that take a tool's own arguments.
pub const SUITES: [&str; 1] = ["bonnie"];

/// What the arguments of the tool ask for after which a suite is called; None where it takes none.
///
/// # Errors
/// What plumb does not take, and why.
#[must_use]
pub fn arguments(suite: &str, given: &[String]) -> Option<Result<Arguments, String>> {
    (suite == SUITES[0]).then(|| bonnie(given))
}

/// Options of bonnie++ 2.00a with a value.
const WITH_VALUE: &str = "cdgmnprsuxyzZ";

/// Its options without one; that of `-f` may follow it at once.
const WITHOUT: &str = "bDfq";

/// An option with its value.
type Given = (char, Option<String>);

/// As getopt reads them: clusters, and values that follow at once or as the next word.
fn options(given: &[String]) -> Result<Vec<Given>, String> {
    let mut found = Vec::new();
    let mut words = given.iter();
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            return Err(format!("bonnie++ has no argument `{word}` that is not an option"));
        };
        let mut rest = letters;
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            if WITH_VALUE.contains(letter) {
                let mut next = || words.next().cloned();
                let value = if rest.is_empty() { next() } else { Some(rest.to_owned()) };
                let value = value.ok_or_else(|| format!("-{letter} lacks its value"))?;
                found.push((letter, Some(value)));
                break;
            }
            if !WITHOUT.contains(letter) {
                return Err(format!("bonnie++ has no option -{letter}"));
            }
            if letter == 'f' && rest.starts_with(|c: char| c.is_ascii_digit()) {
                found.push((letter, Some(rest.to_owned())));
                break;
            }
            found.push((letter, None));
        }
    }
    Ok(found)
}

fn bonnie(given: &[String]) -> Result<Arguments, String> {
    let mut asked = Arguments::default();
    let mut size = None;
    let mut ram = None;
    for (letter, value) in options(given)? {
        let text = value.clone().unwrap_or_default();
        let wrong = || format!("-{letter} {text}: this is no value of it");
        let number = || text.parse::<u64>().map_err(|_| wrong());
        let set = |asked: &mut Arguments, name, value: String| asked.settings.push((name, value));
        match letter {
            'b' => set(&mut asked, "sync", "each".into()),
            'd' => asked.dir = Some(text),
            'f' => {
                let mib = value.map_or(Ok(0), |_| number())?;
                set(&mut asked, "byte_size", bytes(mib, MIB).ok_or_else(wrong)?);
            }
            'm' => asked.name = Some(text),
            'n' => many(&text, &mut asked).ok_or_else(wrong)?,
            'r' => ram = Some(number()?),
            's' => size = Some(one(&text, &mut asked).ok_or_else(wrong)?),
            'u' if text.contains(':') => {
                return Err(format!("-u {text}: plumb takes a user with their own group"));
            }
            'u' => set(&mut asked, "user", text),
            'x' => asked.processes = Some(number()?.max(1)),
            'z' => asked.seed = Some(text.parse().map_err(|_| wrong())?),
            // A pass says nothing but figures anyway; concurrency changes nothing in 2.00a.
            'q' | 'c' => {}
            'D' => return Err("-D: 2.00a bypasses the cache only while it writes; plumb run storage.sequential does in all phases".into()),
            'g' => return Err(format!("-g {text}: plumb takes a user with their own group")),
            'p' | 'y' => return Err(format!("-{letter}: plumb has no passes that wait for each other")),
            _ => return Err(format!("-{letter}: plumb makes its own random numbers; -z takes a seed")),
        }
    }
    sizes(size, ram, &mut asked)?;
    Ok(asked)
}

/// The size of the file, which must be twice the memory where that is told.
fn sizes(size: Option<u64>, ram: Option<u64>, asked: &mut Arguments) -> Result<(), String> {
    let size = match (size, ram) {
        (Some(size), Some(ram)) if size < ram.saturating_mul(2 << 20) => {
            return Err(format!(
                "-s: a file of {} MiB is less than twice the memory of -r {ram}",
                size >> 20
            ));
        }
        (None, Some(ram)) if ram > 0 => Some(ram.saturating_mul(2 << 20).max(300 << 20)),
        (size, _) => size,
    };
    if let Some(size) = size {
        asked.settings.push(("size", size.to_string()));
    }
    Ok(())
}

/// `-s size:chunk:seeks:seekers`: the size in bytes.
fn one(text: &str, asked: &mut Arguments) -> Option<u64> {
    let parts: Vec<&str> = text.split(':').collect();
    let [size, ref more @ ..] = parts[..] else { return None };
    let size = scaled(size, MIB, &[('g', MIB * KIB), ('t', MIB * MIB)])?;
    if size == 0 || more.len() > 3 {
        return None;
    }
    for (name, part) in ["chunk", "seeks", "seekers"].into_iter().zip(more) {
        let value = scaled(part, 1.0, &[('k', KIB), ('m', MIB)])?;
        asked.settings.push((name, value.to_string()));
    }
    Some(size)
}

/// `-n files:max:min:dirs`, files in 1024.
fn many(text: &str, asked: &mut Arguments) -> Option<()> {
    let parts: Vec<&str> = text.split(':').collect();
    let [files, ref more @ ..] = parts[..] else { return None };
    asked.settings.push(("files", scaled(files, KIB, &[])?.to_string()));
    // A chunk for the bytes of many files comes last; plumb writes each file whole.
    if more.len() > 4 {
        return None;
    }
    for (name, part) in ["largest", "smallest", "folders"].into_iter().zip(more) {
        match (name, *part) {
            ("largest", "-1") => asked.settings.push(("links", "hard".into())),
            ("largest", "-2") => asked.settings.push(("links", "symbolic".into())),
            ("folders", "0") => {}
            _ => asked
                .settings
                .push((name, scaled(part, 1.0, &[('k', KIB), ('m', MIB)])?.to_string())),
        }
    }
    Some(())
}

/// A number with a unit, or a suffix that stands for another.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole units")]
fn scaled(text: &str, unit: f64, suffixes: &[(char, f64)]) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    let by_suffix =
        suffixes.iter().find_map(|(suffix, unit)| Some((text.strip_suffix(*suffix)?, *unit)));
    let (number, unit) = by_suffix.unwrap_or((&text, unit));
    number.parse::<u64>().ok()?.checked_mul(unit as u64)
}

fn bytes(number: u64, unit: f64) -> Option<String> {
    scaled(&number.to_string(), unit, &[]).map(|bytes| bytes.to_string())
}

#[cfg(test)]
mod tests {
    use super::{Arguments, arguments};

    fn asked(line: &str) -> Result<Arguments, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        arguments("bonnie", &words).unwrap()
    }

    fn settings(line: &str) -> String {
        let asked = asked(line).unwrap().settings.into_iter();
        asked.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn the_seeds_command_line_is_read() {
        let asked = asked("-u 0 -r 360 -s 7200 -n 256 -b -d /srv").unwrap();
        assert_eq!(asked.dir.as_deref(), Some("/srv"));
        assert_eq!(
            settings("-u 0 -r 360 -s 7200 -n 256 -b -d /srv"),
            "user=0,files=262144,sync=each,size=7549747200"
        );
    }

    #[test]
    fn values_may_follow_at_once_and_have_parts() {
        assert_eq!(
            settings("-qfs2g:16k:4000:3"),
            "byte_size=0,chunk=16384,seeks=4000,seekers=3,size=2147483648"
        );
        assert_eq!(
            settings("-f20 -n 1:2000:100:3 -s 64"),
            "byte_size=20971520,files=1024,largest=2000,smallest=100,folders=3,size=67108864"
        );
        assert_eq!(settings("-n 1:-1 -s 64"), "files=1024,links=hard,size=67108864");
        assert_eq!(settings("-r 1024"), "size=2147483648");
        let more = asked("-x 8 -z 7 -m box -c 2").unwrap();
        assert_eq!(
            (more.processes, more.seed, more.name.as_deref()),
            (Some(8), Some(7), Some("box"))
        );
    }

    #[test]
    fn what_plumb_does_not_take_is_said() {
        for (line, words) in [
            ("-k", "no option -k"),
            ("-s", "lacks its value"),
            ("-s 0", "no value"),
            ("-s 1x", "no value"),
            ("-n many", "no value"),
            ("-r 1000 -s 1000", "less than twice the memory"),
            ("-u www:www", "their own group"),
            ("-p 2", "wait for each other"),
            ("-D", "only while it writes"),
            ("file", "not an option"),
        ] {
            let why = asked(line).unwrap_err();
            assert!(why.contains(words), "{line}: {why}");
        }
        assert_eq!(arguments("first-look", &[]), None);
    }
}
