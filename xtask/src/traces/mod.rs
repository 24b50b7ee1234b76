//! Records how this machine's speed changes, and tells from recordings which way to compare finds a change first.
//!
//! `record` makes a recording; `source` replays programs on one, `designs` are the ways to compare, `evaluate` times them,
//! `section` writes it down.

use std::path::Path;

use plumb_simulate::recording::Recording;

use self::evaluate::PROGRAMS;
use self::section::Evaluation;
pub use self::section::{kept, put};
use crate::headtohead::neighbour::Kind;

mod designs;
mod evaluate;
mod record;
mod section;
mod source;

/// Sessions an effect unless told otherwise.
const SESSIONS: u64 = 200;

/// Runs the chore with what was typed after its name.
pub fn run(arguments: &[String]) -> Result<(), String> {
    match arguments.split_first() {
        Some((word, [iterations])) if word == record::ROLE => {
            record::chunks(number(iterations)?);
            Ok(())
        }
        Some((word, rest)) if word == "record" => record(rest),
        Some((word, rest)) if word == "evaluate" => evaluate(rest),
        _ => Err(crate::usage::USAGE.to_owned()),
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("not a number: {text}"))
}

fn record(arguments: &[String]) -> Result<(), String> {
    let (mut minutes, mut beside, mut write) = (30.0, None, None);
    for pair in arguments.chunks(2) {
        match pair {
            [name, value] if name == "--minutes" => minutes = number(value)?,
            [name, value] if name == "--beside" => beside = Some(Kind::of_word(value)?),
            [name, value] if name == "--write" => write = Some(value),
            _ => return Err(format!("cannot read {}; {}", pair.join(" "), crate::usage::USAGE)),
        }
    }
    let path = write.ok_or("--write FILE says where the recording goes")?;
    let bytes = record::record(minutes, beside)?.bytes();
    println!("{path}: {} bytes", bytes.len());
    std::fs::write(path, bytes).map_err(|error| format!("cannot write {path}: {error}"))
}

fn evaluate(arguments: &[String]) -> Result<(), String> {
    let (mut sessions, mut write, mut files) = (SESSIONS, None, Vec::new());
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("{word} wants a value"));
        match word.as_str() {
            "--sessions" => sessions = number(value()?)?,
            "--write" => write = Some(value()?),
            _ => files.push(word),
        }
    }
    let recordings: Vec<(String, Recording)> =
        files.into_iter().map(|file| read(file)).collect::<Result<_, _>>()?;
    let cells = PROGRAMS.map(|(name, program)| {
        eprintln!("{name}");
        let of = |(_, recording)| evaluate::on_recording(recording, program, sessions);
        recordings.iter().map(|(name, recording)| of((name, recording))).collect()
    });
    let section = Evaluation {
        sessions,
        recordings: recordings.iter().map(|(name, it)| (name.clone(), it.about.clone())).collect(),
        cells: cells.into(),
        simulated: evaluate::simulated(sessions),
    }
    .section();
    println!("{section}");
    let Some(path) = write else { return Ok(()) };
    let page =
        std::fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    std::fs::write(path, put(&page, &section))
        .map_err(|error| format!("cannot write {path}: {error}"))
}

/// A recording and what it is called: its file without folder and ending.
fn read(file: &str) -> Result<(String, Recording), String> {
    let bytes = std::fs::read(file).map_err(|error| format!("cannot read {file}: {error}"))?;
    let recording =
        Recording::of(&bytes).map_err(|reason| format!("cannot read {file}: {reason}"))?;
    let name = Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok((name, recording))
}
