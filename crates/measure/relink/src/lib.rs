//! Builds of one C program that differ in their layout only.
//!
//! Sources are compiled once. Each build links the same objects in another order, between objects of padding, so that
//! code and data move while every instruction stays the same. That is what an unrelated change, a longer version string
//! for example, does to the rest of a program (Mytkowicz et al. 2009, "Producing wrong data without doing anything
//! obviously wrong").

use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use plumb_stats::rng::Rng;
use thiserror::Error;

/// The C compiler, which also links.
const COMPILER: &str = "cc";

/// Objects of padding in a build. The first one comes before everything else, so the code always moves.
const PADDING_OBJECTS: usize = 4;

/// The most padding that one object adds to one section, in bytes.
const LONGEST_PADDING: usize = 2048;

/// Sections that are padded: code, the code of `main` (which gcc keeps apart), constants, data and zeroed data.
const PADDED: [(&str, &str, &str); 5] = [
    (".text", "ax", "progbits"),
    (".text.startup", "ax", "progbits"),
    (".rodata", "a", "progbits"),
    (".data", "aw", "progbits"),
    (".bss", "aw", "nobits"),
];

/// The sources of the test program: heap sort, a hash table and a scanner, together about 25 ms.
pub const TEST_PROGRAM: [(&str, &str); 4] = [
    ("sort", include_str!("../assets/sort.c")),
    ("hash", include_str!("../assets/hash.c")),
    ("scan", include_str!("../assets/scan.c")),
    ("main", include_str!("../assets/main.c")),
];

/// Why there is no build.
#[derive(Debug, Error)]
pub enum RelinkError {
    /// This machine has no C compiler.
    #[error("cc was not found; install a C compiler")]
    NoCompiler,
    /// The compiler could not be started for another reason, or failed.
    #[error("cc {words}: {why}")]
    Compiler {
        /// The arguments that it was given.
        words: String,
        /// What it printed, or the system's error.
        why: String,
    },
    /// A file of the build could not be written.
    #[error("cannot write {path}: {error}")]
    Write {
        /// The file that could not be written.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
}

/// Which of the possible layouts a build has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// The objects in the given order, without padding.
    AsGiven,
    /// Order and padding drawn from this seed; the same seed gives the same build.
    Seeded(u64),
}

/// A program that is compiled, and can be linked any number of times.
#[derive(Debug)]
pub struct CompiledProgram {
    folder: PathBuf,
    objects: Vec<PathBuf>,
}

impl CompiledProgram {
    /// Compiles sources, given as names and texts, into a folder of their own.
    ///
    /// # Errors
    /// If there is no compiler, the compiler fails, or a file can't be written.
    pub fn compile(folder: &Path, sources: &[(&str, &str)]) -> Result<Self, RelinkError> {
        fs::create_dir_all(folder)
            .map_err(|error| RelinkError::Write { path: folder.to_owned(), error })?;
        let mut objects = Vec::new();
        for (name, text) in sources {
            objects.push(object(folder, name, text)?);
        }
        Ok(Self { folder: folder.to_owned(), objects })
    }

    /// Links a build with this layout as the file `out`.
    ///
    /// # Errors
    /// If the compiler fails, or a file can't be written.
    pub fn link(&self, layout: Layout, out: &Path) -> Result<(), RelinkError> {
        let objects = match layout {
            Layout::AsGiven => self.objects.clone(),
            Layout::Seeded(seed) => self.padded(seed)?,
        };
        let mut words: Vec<&OsStr> = vec![OsStr::new("-o"), out.as_os_str()];
        words.extend(objects.iter().map(|object| object.as_os_str()));
        compiler(&words)
    }

    /// The objects in a drawn order, with objects of padding between them.
    fn padded(&self, seed: u64) -> Result<Vec<PathBuf>, RelinkError> {
        let mut rng = Rng::new(seed);
        let mut padding = Vec::new();
        for index in 0..PADDING_OBJECTS {
            let name = format!("padding-{index}");
            padding.push(object(&self.folder, &name, &padding_source(&mut rng))?);
        }
        let mut rest = padding.split_off(1);
        rest.extend(self.objects.iter().cloned());
        rng.shuffle(&mut rest);
        padding.extend(rest);
        Ok(padding)
    }
}

/// Writes and compiles one source.
fn object(folder: &Path, name: &str, text: &str) -> Result<PathBuf, RelinkError> {
    let source = folder.join(name).with_extension("c");
    fs::write(&source, text).map_err(|error| RelinkError::Write { path: source.clone(), error })?;
    let object = source.with_extension("o");
    let words = ["-O2", "-c", "-o"].map(OsStr::new);
    compiler(&[&words[..], &[object.as_os_str(), source.as_os_str()]].concat())?;
    Ok(object)
}

/// A source that adds bytes to every padded section. Assembly, because a compiler may drop or sort unused variables.
fn padding_source(rng: &mut Rng) -> String {
    let mut source = String::new();
    for (section, flags, kind) in PADDED {
        let bytes = 1 + rng.below(LONGEST_PADDING);
        let assembly = format!(".section {section},\\\"{flags}\\\",%{kind}\\n.skip {bytes}\\n");
        _ = writeln!(source, "__asm__(\"{assembly}\");");
    }
    source
}

fn compiler(words: &[&OsStr]) -> Result<(), RelinkError> {
    let ended = Command::new(COMPILER).args(words).stdin(Stdio::null()).output();
    let why = match ended {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(RelinkError::NoCompiler),
        Err(error) => error.to_string(),
    };
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    Err(RelinkError::Compiler { words: words.join(" "), why })
}
