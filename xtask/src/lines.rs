//! The measurements, one line of JSON each, so that a killed part loses at most one line.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads what is there; a last line without its end was being written when somebody killed the chore, and goes.
///
/// # Errors
/// When the file can't be read, or a whole line is none of ours.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, String> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(path).map_err(|error| failed(path, &error))?;
    // A chore that was killed while it wrote leaves a line without an end.
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    if whole.len() < text.len() {
        fs::write(path, whole).map_err(|error| failed(path, &error))?;
    }
    let lines = whole.lines().enumerate().map(|(index, line)| {
        serde_json::from_str(line)
            .map_err(|error| format!("{}, line {}: {error}", path.display(), index + 1))
    });
    lines.collect()
}

/// Adds a line.
///
/// # Errors
/// When it can't be written.
pub fn append(path: &Path, line: &impl Serialize) -> Result<(), String> {
    let mut text = serde_json::to_string(line).map_err(|error| failed(path, &error))?;
    text.push('\n');
    // The line and its end in one write: a killed chore leaves whole lines, and at most one without an end.
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

/// The refusal to add to results without `--continue`.
pub fn holds_results(path: &Path) -> String {
    let path = path.display();
    format!("{path} holds results; --continue goes on with them, --results FILE begins others")
}

#[cfg(test)]
mod tests {
    use super::{append, read};

    #[test]
    fn what_is_appended_is_read_again_without_a_line_that_was_cut_off() {
        let path = std::env::temp_dir().join(format!("lines-{}.jsonl", std::process::id()));
        assert!(read::<u64>(&path).unwrap().is_empty());
        for number in 0..2_u64 {
            append(&path, &number).unwrap();
        }
        std::fs::write(&path, "0\n1\n2").unwrap();
        assert_eq!(read::<u64>(&path).unwrap(), [0, 1]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "0\n1\n");
        std::fs::write(&path, "else\n").unwrap();
        assert!(read::<u64>(&path).unwrap_err().contains("line 1"));
        std::fs::remove_file(&path).unwrap();
    }
}
