//! Records how this machine's speed changes from minute to minute, for the bars on recorded noise.

use crate::headtohead::neighbour::NeighbourKind;

mod record;

/// Runs the chore with what was typed after its name.
pub fn run(arguments: &[String]) -> Result<(), String> {
    match arguments.split_first() {
        Some((word, [iterations])) if word == record::ROLE => {
            record::chunks(number(iterations)?);
            Ok(())
        }
        Some((word, rest)) if word == "record" => record(rest),
        _ => Err(crate::usage::USAGE.to_owned()),
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("not a number: {text}"))
}

fn record(arguments: &[String]) -> Result<(), String> {
    let mut minutes = 30.0;
    let mut beside = None;
    let mut write = None;
    for pair in arguments.chunks(2) {
        match pair {
            [name, value] if name == "--minutes" => minutes = number(value)?,
            [name, value] if name == "--beside" => beside = Some(NeighbourKind::of_word(value)?),
            [name, value] if name == "--write" => write = Some(value),
            _ => return Err(format!("cannot read {}; {}", pair.join(" "), crate::usage::USAGE)),
        }
    }
    let path = write.ok_or("--write FILE says where the recording goes")?;
    let bytes = record::record(minutes, beside)?.bytes();
    println!("{path}: {} bytes", bytes.len());
    std::fs::write(path, bytes).map_err(|error| format!("cannot write {path}: {error}"))
}
