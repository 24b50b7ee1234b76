//! Files of the kernel that are kept open and read again from their start.

use std::borrow::Cow;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

use plumb_machine::Root;

use crate::counter_buffer::{CounterBuffer, CounterParser};
use crate::monitor::CounterSource;

/// Bytes that a buffer begins with.
const INITIAL_BUFFER_BYTES: usize = 4096;
/// More than this is not a file of counters.
const MAX_FILE_BYTES: usize = 16 << 20;

/// A file that is kept open.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    path: String,
}

impl OpenFile {
    /// Opens a file under the root.
    pub fn open(root: &Root, path: &str) -> Result<Self, String> {
        let file = File::open(root.path(path)).map_err(|error| why(path, &error))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Reads it from its start into a buffer that only ever grows.
    pub fn text<'b>(&self, buffer: &'b mut Vec<u8>) -> Result<Cow<'b, str>, String> {
        if buffer.is_empty() {
            buffer.resize(INITIAL_BUFFER_BYTES, 0);
        }
        let mut length = 0;
        loop {
            // Files of /proc have no length, and a buffer that is filled may hold only a part of one.
            match self.file.read_at(&mut buffer[length..], length as u64) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(why(&self.path, &error)),
            }
            if length == buffer.len() {
                if length >= MAX_FILE_BYTES {
                    return Err(format!("{} is longer than {MAX_FILE_BYTES} bytes", self.path));
                }
                buffer.resize(length * 2, 0);
            }
        }
        Ok(String::from_utf8_lossy(&buffer[..length]))
    }
}

/// A file of every CPU that has it.
pub fn cpu_files(root: &Root, file: &str) -> Vec<OpenFile> {
    let folder = "/sys/devices/system/cpu";
    let names = root.names(folder).into_iter();
    let cpus = names.filter(|name| name.strip_prefix("cpu").is_some_and(is_number));
    cpus.filter_map(|cpu| OpenFile::open(root, &format!("{folder}/{cpu}/{file}")).ok()).collect()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A failure with the file that it is about.
pub fn why(path: &str, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => format!("this kernel has no {path}"),
        std::io::ErrorKind::PermissionDenied => format!("only root can read {path}"),
        _ => format!("{path}: {error}"),
    }
}

/// The source of monitors that only read and parse.
#[derive(Debug)]
pub struct Parsed {
    files: Vec<(String, OpenFile)>,
    parse: CounterParser,
    buffer: Vec<u8>,
}

impl Parsed {
    /// Opens one file.
    pub fn one(
        root: &Root,
        path: &str,
        parse: CounterParser,
    ) -> Result<Box<dyn CounterSource>, String> {
        let files = vec![(String::new(), OpenFile::open(root, path)?)];
        Ok(Box::new(Self { files, parse, buffer: Vec::new() }))
    }

    /// Reads these files, each with its device; without any, there is nothing to read, and `none` says
    /// so.
    pub fn all(
        files: Vec<(String, OpenFile)>,
        parse: CounterParser,
        none: &str,
    ) -> Result<Box<dyn CounterSource>, String> {
        if files.is_empty() {
            return Err(none.to_owned());
        }
        Ok(Box::new(Self { files, parse, buffer: Vec::new() }))
    }
}

impl CounterSource for Parsed {
    fn read(&mut self, counters: &mut CounterBuffer) -> Result<(), String> {
        for (of, file) in &self.files {
            let text = file.text(&mut self.buffer)?;
            (self.parse)(of, &text, &mut |field, value| counters.put(field, value));
        }
        Ok(())
    }
}

/// The numbers of a line.
pub fn numbers(line: &str) -> impl Iterator<Item = u64> {
    line.split_ascii_whitespace().map_while(|word| word.parse().ok())
}

/// The sum of the numbers at the beginning of a line; it wraps as the kernel's own counters do.
pub fn sum(line: &str) -> u64 {
    numbers(line).fold(0, u64::wrapping_add)
}
