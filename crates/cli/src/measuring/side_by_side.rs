//! Programs that are compared, copied to one place: neither path nor place on disk then differs.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use plumb_model::{PlannedPoint, Value};
use rustix::fs::{StatVfsMountFlags, statvfs};

use crate::error::{CommandError, Result};
use crate::locate;

/// The parameter of `process.command` that names the file to start.
pub const PROGRAM: &str = "program";

/// Programs here are the system's: they stay where they are.
const SYSTEM: [&str; 7] = ["/bin", "/sbin", "/usr", "/lib", "/lib64", "/opt", "/snap"];

/// These points with copies of their programs, which lie in one folder under names of one length, so that neither path
/// nor place on disk differs. Unless each is an executable of the user's own, all stay where they are.
///
/// # Errors
/// When one can't be copied.
pub fn copy_side_by_side(
    mut points: Vec<PlannedPoint>,
    scratch: &Path,
) -> Result<Vec<PlannedPoint>> {
    let programs: Option<Vec<PathBuf>> = points.iter().map(own_executable).collect();
    let Some(programs) = programs else { return Ok(points) };
    for (index, (planned, program)) in points.iter_mut().zip(programs).enumerate() {
        let copy = scratch.join(format!("side-{index:03}"));
        fs::copy(&program, &copy).map_err(|error| {
            CommandError::file(format!("can't copy {}: {error}", program.display()))
                .hint("--no-copy runs it where it is")
        })?;
        let path = Value::Text(copy.to_string_lossy().into_owned());
        planned.point.settings.insert(PROGRAM.to_owned(), path);
    }
    Ok(points)
}

/// Whether nothing can be executed in this folder, because its file system is mounted so.
pub fn is_noexec(folder: &Path) -> bool {
    statvfs(folder).is_ok_and(|system| system.f_flag.contains(StatVfsMountFlags::NOEXEC))
}

/// Whether a copy of its program was measured.
pub fn is_copied(planned: &PlannedPoint) -> bool {
    matches!(planned.point.settings.get(PROGRAM), Some(Value::Text(path)) if !path.is_empty())
}

/// Points whose program is another file than that of the first point, by their indices. Only machine code counts: a
/// script has no layout.
pub fn other_files(points: &[PlannedPoint]) -> Vec<usize> {
    let programs: Vec<Option<PathBuf>> = points.iter().map(machine_code).collect();
    let Some(Some(first)) = programs.first() else { return Vec::new() };
    let others = programs.iter().enumerate().skip(1);
    others
        .filter(|(_, program)| program.as_ref().is_some_and(|other| !is_same_file(first, other)))
        .map(|(index, _)| index)
        .collect()
}

/// Whether both have the same content. One that can't be read differs from nothing.
fn is_same_file(one: &Path, other: &Path) -> bool {
    if one == other {
        return true;
    }
    match (fs::read(one), fs::read(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => true,
    }
}

/// The ELF file that a command starts.
fn machine_code(planned: &PlannedPoint) -> Option<PathBuf> {
    let named = first_word(planned)?;
    let path = match named.contains('/') {
        true => PathBuf::from(named),
        false => locate::on_path(Path::new(&named))?,
    };
    let path = fs::canonicalize(path).ok()?;
    is_elf(&path).then_some(path)
}

/// The first word of a command that needs no shell.
fn first_word(planned: &PlannedPoint) -> Option<String> {
    let Some(Value::Text(command)) = planned.point.settings.get("command") else { return None };
    let words: Vec<String> = serde_json::from_str(command).ok()?;
    words.into_iter().next()
}

fn is_elf(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == *b"\x7fELF"
}

/// The program of a command that is an ELF file outside the system's folders.
fn own_executable(planned: &PlannedPoint) -> Option<PathBuf> {
    let named = first_word(planned)?;
    // Without a slash it is looked for among the system's programs.
    let path = fs::canonicalize(named.contains('/').then_some(named)?).ok()?;
    (!is_of_system(&path) && is_elf(&path)).then_some(path)
}

/// Whether a file lies in the system's folders.
pub fn is_of_system(path: &Path) -> bool {
    SYSTEM.iter().any(|folder| path.starts_with(folder))
}
