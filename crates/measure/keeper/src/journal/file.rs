//! What stands in a journal's file, and where the files are.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use plumb_model::Owner;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::private::make_private;
use crate::setting::SystemSetting;

/// How journals end.
pub const SUFFIX: &str = ".jsonl";

/// The first line: whose journal it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalHeader {
    pub keeper: Owner,
    /// The plumb that has the keeper.
    pub plumb: u32,
}

/// A line that is followed by the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    pub setting: SystemSetting,
    pub was: String,
    pub to: String,
}

/// The line after a change: how it reads back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Became {
    pub became: String,
}

/// The line after a change in the midst of others was undone: where its own line begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Released {
    pub released: u64,
}

/// A change that is not undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEntry {
    pub intent: Intent,
    pub became: Option<String>,
    /// Where its line begins.
    pub offset: u64,
}

/// The journals in a folder, in a fixed order.
pub fn journals(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.to_string_lossy().ends_with(SUFFIX)).collect();
    paths.sort();
    paths
}

/// The lock of the folder, for as long as the file is open.
pub fn lock(folder: &Path) -> io::Result<File> {
    // Nobody else may write here: recovery writes the values that journals hold, and starts their plug-ins.
    make_private(folder)?;
    let path = folder.join("lock");
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    // The file is never removed: a lock on one that has lost its name would exclude nobody.
    flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

/// A journal that was read.
pub struct JournalContent {
    pub header: JournalHeader,
    pub entries: Vec<JournalEntry>,
}

/// What stands in a journal up to the first line that is torn; None without a header.
pub fn read(file: &mut File) -> Option<JournalContent> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.read_to_end(&mut bytes).ok()?;
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').filter(|l| l.ends_with(b"\n"));
    let first = lines.next()?;
    let header: JournalHeader = serde_json::from_slice(first).ok()?;
    let mut entries: Vec<JournalEntry> = Vec::new();
    let mut offset = first.len() as u64;
    // No line says what it is: an intent has fields that the two others lack, and is tried first.
    for line in lines {
        if let Ok(intent) = serde_json::from_slice::<Intent>(line) {
            entries.push(JournalEntry { intent, became: None, offset });
        } else if let (Ok(Became { became }), Some(last)) =
            (serde_json::from_slice(line), entries.last_mut())
        {
            last.became = Some(became);
        } else if let Ok(Released { released }) = serde_json::from_slice(line) {
            entries.retain(|entry| entry.offset != released);
        }
        offset += line.len() as u64;
    }
    Some(JournalContent { header, entries })
}

pub fn line(what: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(what).map_err(io::Error::other)?;
    line.push(b'\n');
    Ok(line)
}
