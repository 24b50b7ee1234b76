//! The command line of bonnie++ 2.00a, for `plumb run bonnie --`.

use super::parameter::{
    BYTE_SIZE, CHUNK, CreatedLinks, FILES, FILES_UNIT, FOLDERS, LARGEST, LINKS, SEEKERS, SEEKS,
    SIZE, SMALLEST, SYNC, Sync, USER,
};
use crate::arguments::Arguments;

/// Options with a value.
const WITH_VALUE: &str = "cdgmnprsuxyzZ";

/// Options without a value; a number may follow `-f` at once.
const WITHOUT_VALUE: &str = "bDfq";

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Suffixes of the size of the file. A plain number counts MiB.
const FILE_SUFFIXES: &[(char, u64)] = &[('g', 1 << 30), ('t', 1 << 40)];

/// Suffixes of other counts and sizes.
const SUFFIXES: &[(char, u64)] = &[('k', KIB), ('m', MIB)];

/// The smallest file that bonnie++ chooses by itself.
const SMALLEST_FILE: u64 = 300 * MIB;

/// An option with its value.
struct CommandOption {
    letter: char,
    value: Option<String>,
}

impl CommandOption {
    fn text(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }

    fn number(&self) -> Result<u64, String> {
        self.text().parse().map_err(|_| self.wrong())
    }

    fn wrong(&self) -> String {
        format!("-{} {}: not a valid value", self.letter, self.text())
    }
}

/// Splits a command line as getopt does: options may share a word, and a value follows at once or is the next word.
fn options(given: &[String]) -> Result<Vec<CommandOption>, String> {
    let mut found = Vec::new();
    let mut words = given.iter();
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            return Err(format!("unexpected argument `{word}`: bonnie++ takes only options"));
        };
        let mut rest = letters;
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            if WITH_VALUE.contains(letter) {
                let value =
                    if rest.is_empty() { words.next().cloned() } else { Some(rest.to_owned()) };
                if value.is_none() {
                    return Err(format!("-{letter} needs a value"));
                }
                found.push(CommandOption { letter, value });
                break;
            }
            if !WITHOUT_VALUE.contains(letter) {
                return Err(format!("bonnie++ has no option -{letter}"));
            }
            // The number of -f is optional, so only digits that follow at once belong to it.
            if letter == 'f' && rest.starts_with(|c: char| c.is_ascii_digit()) {
                let value = Some(rest.to_owned());
                found.push(CommandOption { letter, value });
                break;
            }
            found.push(CommandOption { letter, value: None });
        }
    }
    Ok(found)
}

/// The request of a command line.
///
/// # Errors
/// The error for arguments that plumb does not support.
pub(crate) fn read(given: &[String]) -> Result<Arguments, String> {
    let mut arguments = Arguments::default();
    // The file is compared with the memory at the end, as -r may stand before or after -s.
    let mut size = None;
    let mut ram_mib = None;
    for option in options(given)? {
        let text = option.text();
        match option.letter {
            'b' => arguments.set(SYNC, Sync::Each.word()),
            'd' => arguments.dir = Some(text.to_owned()),
            'f' => {
                let mib = if option.value.is_some() { option.number()? } else { 0 };
                arguments.set(BYTE_SIZE, mib.checked_mul(MIB).ok_or_else(|| option.wrong())?);
            }
            'm' => arguments.name = Some(text.to_owned()),
            'n' => small_files(text, &mut arguments).ok_or_else(|| option.wrong())?,
            'r' => ram_mib = Some(option.number()?),
            's' => size = Some(file(text, &mut arguments).ok_or_else(|| option.wrong())?),
            'u' if text.contains(':') => {
                return Err(format!(
                    "-u {text}: plumb uses the user's own group; give the user alone"
                ));
            }
            'u' => arguments.set(USER, text),
            'x' => arguments.processes = Some(option.number()?.max(1)),
            'z' => arguments.seed = Some(text.parse().map_err(|_| option.wrong())?),
            // Without -q bonnie++ prints the same figures as a table, and 2.00a ignores -c.
            'q' | 'c' => {}
            letter => return Err(refusal(letter, text)),
        }
    }
    if let Some(size) = file_size(size, ram_mib)? {
        arguments.set(SIZE, size);
    }
    Ok(arguments)
}

/// Why plumb does not take an option that bonnie++ has.
fn refusal(letter: char, text: &str) -> String {
    match letter {
        'D' => "-D: bonnie++ 2.00a bypasses the cache only for writes; plumb run storage.sequential bypasses it in all phases"
            .to_owned(),
        'g' => format!("-g {text}: plumb uses the user's own group; give the user with -u"),
        'p' | 'y' => format!("-{letter}: plumb does not support synchronised passes"),
        _ => format!("-{letter}: plumb generates its own random numbers; set the seed with -z"),
    }
}

/// The size of the file, in bytes, which must be at least twice the memory if `-r` says how much there is.
fn file_size(size: Option<u64>, ram_mib: Option<u64>) -> Result<Option<u64>, String> {
    let Some(ram_mib) = ram_mib else { return Ok(size) };
    let twice = ram_mib.saturating_mul(2 * MIB);
    match size {
        Some(size) if size < twice => Err(format!(
            "-s: {} MiB is less than twice the memory given by -r {ram_mib}",
            size / MIB
        )),
        None if ram_mib > 0 => Ok(Some(twice.max(SMALLEST_FILE))),
        _ => Ok(size),
    }
}

/// Reads `-s size:chunk:seeks:seekers`; returns the size in bytes.
fn file(text: &str, arguments: &mut Arguments) -> Option<u64> {
    let mut parts = text.split(':');
    let size = scaled(parts.next()?, MIB, FILE_SUFFIXES)?;
    let others: Vec<&str> = parts.collect();
    if size == 0 || others.len() > 3 {
        return None;
    }
    for (name, part) in [CHUNK, SEEKS, SEEKERS].into_iter().zip(others) {
        arguments.set(name, scaled(part, 1, SUFFIXES)?);
    }
    Some(size)
}

/// Reads `-n files:largest:smallest:folders`.
fn small_files(text: &str, arguments: &mut Arguments) -> Option<()> {
    let mut parts = text.split(':');
    arguments.set(FILES, scaled(parts.next()?, FILES_UNIT, &[])?);
    let others: Vec<&str> = parts.collect();
    // A fourth number is the chunk by which bonnie++ writes small files. plumb writes each file whole.
    if others.len() > 4 {
        return None;
    }
    for (name, part) in [LARGEST, SMALLEST, FOLDERS].into_iter().zip(others) {
        match CreatedLinks::of_size(part) {
            Some(links) if name == LARGEST => arguments.set(LINKS, links.word()),
            // Zero folders means one, the default.
            _ if name == FOLDERS && part == "0" => {}
            _ => arguments.set(name, scaled(part, 1, SUFFIXES)?),
        }
    }
    Some(())
}

/// A number of units, or of the unit that its suffix stands for.
fn scaled(text: &str, unit: u64, suffixes: &[(char, u64)]) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    for (suffix, unit) in suffixes {
        if let Some(number) = text.strip_suffix(*suffix) {
            return number.parse::<u64>().ok()?.checked_mul(*unit);
        }
    }
    text.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::arguments::Arguments;

    fn asked(line: &str) -> Result<Arguments, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        read(&words)
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
            ("-s", "-s needs a value"),
            ("-s 0", "not a valid value"),
            ("-s 1x", "not a valid value"),
            ("-n many", "not a valid value"),
            ("-r 1000 -s 1000", "less than twice the memory"),
            ("-u www:www", "own group"),
            ("-p 2", "synchronised passes"),
            ("-D", "only for writes"),
            ("file", "unexpected argument"),
        ] {
            let why = asked(line).unwrap_err();
            assert!(why.contains(words), "{line}: {why}");
        }
    }
}
