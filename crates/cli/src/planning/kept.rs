//! What a baseline measured, kept with it (`baseline set --keep`), and copies of it that a check measures again.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use plumb_model::{Plan, PlannedPoint, Value};
use plumb_protocol::PROTOCOL;
use plumb_store::KeptFile;
use plumb_units::binary_size;

use crate::error::{CommandError, Result};
use crate::locate;
use crate::measuring::side_by_side::{PROGRAM, is_of_system};
use crate::planning::command::COMMAND;

/// What the kernel makes up is no file to keep.
const PSEUDO: [&str; 3] = ["/dev", "/proc", "/sys"];

/// The conditions that tell copies from the point that the user measures, so that they are no part of its history.
const KEPT: &str = "artefact=kept";
const PRESENT: &str = "artefact=present";

/// A file that a command line names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamedFile {
    /// The word that names it.
    word: String,
    path: PathBuf,
    /// Whether it is plumb itself.
    is_own: bool,
}

impl NamedFile {
    fn size(&self) -> Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn metadata(&self) -> Result<fs::Metadata> {
        fs::metadata(&self.path).map_err(|error| self.unreadable(&error))
    }

    fn read(&self) -> Result<Vec<u8>> {
        fs::read(&self.path).map_err(|error| self.unreadable(&error))
    }

    fn unreadable(&self, error: &io::Error) -> CommandError {
        CommandError::file(format!("can't read {} to keep it: {error}", self.shown()))
            .hint("without --keep, plumb needs no copy of it")
    }

    /// How people know it.
    fn shown(&self) -> &str {
        if self.is_own { "plumb itself" } else { &self.word }
    }

    /// When its content or its permissions changed last, in nanoseconds since 1970.
    fn changed_unix_ns(&self) -> Result<i64> {
        let metadata = self.metadata()?;
        Ok(metadata.ctime().saturating_mul(1_000_000_000).saturating_add(metadata.ctime_nsec()))
    }
}

/// The files that the points of a plan execute or read, if they have not changed since the runs began.
///
/// # Errors
/// When there are none, one can't be read or has changed, or all together are larger than `limit`.
pub fn collect(plan: &Plan, limit: u64, began_unix_ns: i64) -> Result<Vec<KeptFile>> {
    let named = named_files(plan);
    if named.is_empty() {
        return Err(CommandError::usage(
            "--keep: the command lines name no file that plumb could keep",
        )
        .hint("put the code into a script file, and give its name: sh ./script.sh"));
    }
    let sizes = named.iter().map(NamedFile::size).collect::<Result<Vec<u64>>>()?;
    let total = sizes.iter().sum();
    if total > limit {
        let each: Vec<String> = named
            .iter()
            .zip(&sizes)
            .map(|(file, size)| format!("{} {}", file.shown(), binary_size(*size)))
            .collect();
        return Err(CommandError::usage(format!(
            "--keep: the files to keep have {}, but the limit is {}: {}",
            binary_size(total),
            binary_size(limit),
            each.join(", ")
        ))
        .hint(format!("--keep={}MiB    keeps them", total.div_ceil(1 << 20))));
    }
    let mut kept = Vec::with_capacity(named.len());
    for file in &named {
        if file.changed_unix_ns()? > began_unix_ns {
            return Err(CommandError::usage(format!(
                "--keep: {} changed after the first run began, so it may not be what the runs measured",
                file.shown()
            ))
            .hint("measure the runs again, and leave it as it is until the baseline is set"));
        }
        kept.push(KeptFile {
            word: file.word.clone(),
            content: file.read()?,
            is_executable: file.metadata()?.mode() & 0o111 != 0,
            protocol: file.is_own.then_some(PROTOCOL),
        });
    }
    Ok(kept)
}

/// What is kept, in words: `./work (46 B), plumb itself (28.5 MiB)`.
pub fn list(kept: &[KeptFile]) -> String {
    let shown = |file: &KeptFile| {
        let name = if file.protocol.is_some() { "plumb itself" } else { &file.word };
        format!("{name} ({})", binary_size(file.content.len() as u64))
    };
    kept.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// The files of all points, each once.
fn named_files(plan: &Plan) -> Vec<NamedFile> {
    let mut found: Vec<NamedFile> = Vec::new();
    for file in plan.points.iter().flat_map(files_of) {
        if !found.contains(&file) {
            found.push(file);
        }
    }
    found
}

/// The files that a point executes or names: its program, unless it is the system's and other files are named, and the
/// files among its arguments.
fn files_of(planned: &PlannedPoint) -> Vec<NamedFile> {
    let words = words(planned);
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let own = locate::plumb().ok().filter(|own| own == Path::new(program));
    if let Some(path) = own {
        return vec![NamedFile { word: program.clone(), path, is_own: true }];
    }
    let mut found: Vec<NamedFile> = Vec::new();
    let file = |word: &String, path: PathBuf| NamedFile { word: word.clone(), path, is_own: false };
    for word in arguments {
        if let Some(path) = regular_file(Path::new(word)).filter(|path| !is_of_system(path)) {
            found.push(file(word, path));
        }
    }
    let at = match program.contains('/') {
        true => Some(PathBuf::from(program)),
        false => locate::on_path(Path::new(program)),
    };
    if let Some(path) = at.and_then(|path| regular_file(&path))
        && (found.is_empty() || !is_of_system(&path))
    {
        found.insert(0, file(program, path));
    }
    found
}

/// The words of a point's command line, the program first; none if a shell reads it.
fn words(planned: &PlannedPoint) -> Vec<String> {
    if planned.point.workload != COMMAND {
        return planned.program.argv.clone();
    }
    let settings = &planned.point.settings;
    match (settings.get("shell"), settings.get("command")) {
        (Some(Value::Switch(true)), _) => Vec::new(),
        (_, Some(Value::Text(text))) => {
            serde_json::from_str(text).unwrap_or_else(|_| vec![text.clone()])
        }
        _ => Vec::new(),
    }
}

/// The path without links, if a file with a content is there.
fn regular_file(path: &Path) -> Option<PathBuf> {
    let path = fs::canonicalize(path).ok().filter(|path| path.is_file())?;
    (!PSEUDO.iter().any(|folder| path.starts_with(folder))).then_some(path)
}

/// Whether one of these files is of this point.
pub fn is_of(planned: &PlannedPoint, kept: &[KeptFile]) -> bool {
    let words = words(planned);
    kept.iter().any(|file| words.contains(&file.word))
}

/// The point with the files that were kept, and the point with copies of the present ones, so that both lie in one place
/// under names of one length.
///
/// # Errors
/// When a copy can't be made.
pub fn both(
    planned: &PlannedPoint,
    kept: &[KeptFile],
    scratch: &Path,
) -> Result<Vec<PlannedPoint>> {
    let words = words(planned);
    let mut then: Vec<(String, PathBuf)> = Vec::new();
    let mut now: Vec<(String, PathBuf)> = Vec::new();
    for (number, file) in kept.iter().filter(|file| words.contains(&file.word)).enumerate() {
        let then_folder = scratch.join(format!("then-{number:03}"));
        let now_folder = scratch.join(format!("now--{number:03}"));
        then.push((file.word.clone(), write_copy(&then_folder, file)?));
        let Some(present) = files_of(planned).into_iter().find(|named| named.word == file.word)
        else {
            continue;
        };
        let copy = KeptFile { content: present.read()?, ..file.clone() };
        now.push((file.word.clone(), write_copy(&now_folder, &copy)?));
    }
    Ok(vec![
        with_copies(planned, &then, KEPT, "as kept"),
        with_copies(planned, &now, PRESENT, "as it is"),
    ])
}

/// Writes a file into a fresh folder under its own name, by which programs may go.
fn write_copy(folder: &Path, file: &KeptFile) -> Result<PathBuf> {
    let name = match file.protocol {
        Some(_) => Some("plumb".as_ref()),
        None => Path::new(&file.word).file_name(),
    };
    let path = folder.join(name.unwrap_or("file".as_ref()));
    let mode = if file.is_executable { 0o755 } else { 0o644 };
    let written = fs::create_dir_all(folder)
        .and_then(|()| fs::write(&path, &file.content))
        .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(mode)));
    written.map_err(|error| {
        CommandError::file(format!("can't write a copy to {}: {error}", path.display()))
            .hint("TMPDIR=FOLDER plumb check    puts copies elsewhere")
    })?;
    Ok(path)
}

/// A point whose command line names copies.
fn with_copies(
    planned: &PlannedPoint,
    copies: &[(String, PathBuf)],
    condition: &str,
    which: &str,
) -> PlannedPoint {
    let mut copied = planned.clone();
    let words = words(planned);
    let replaced = |word: &String| {
        let copy = copies.iter().find(|(name, _)| name == word);
        copy.map_or_else(|| word.clone(), |(_, path)| path.to_string_lossy().into_owned())
    };
    let mut all: Vec<String> = words.iter().map(replaced).collect();
    if planned.point.workload == COMMAND {
        // The program keeps its name; only the file is another.
        if let (Some(first), Some(program)) = (all.first_mut(), words.first())
            && first != program
        {
            let file = std::mem::replace(first, program.clone());
            copied.point.settings.insert(PROGRAM.to_owned(), Value::Text(file));
        }
        // A list of texts is always JSON.
        let text = serde_json::to_string(&all).unwrap_or_default();
        copied.point.settings.insert("command".to_owned(), Value::Text(text));
    } else {
        copied.program.argv = all;
    }
    // After the settings: the paths of copies are no part of the series' name.
    copied.point = copied.point.under(&[condition.to_owned()]);
    copied.title = Some(format!("{}, {which}", planned.name()));
    copied
}

#[cfg(test)]
mod tests {
    use std::fs;

    use plumb_model::{PlannedPoint, Settings, Value};
    use plumb_store::KeptFile;

    use super::{both, files_of, is_of};
    use crate::planning::command::{TypedCommand, point};

    fn command(words: &[&str]) -> PlannedPoint {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        point(&TypedCommand::of_words(&words, false), false, Settings::new(), &[]).unwrap()
    }

    fn names(planned: &PlannedPoint) -> Vec<String> {
        files_of(planned).into_iter().map(|file| file.word).collect()
    }

    #[test]
    fn programs_of_the_system_are_kept_only_if_no_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("x.sh");
        fs::write(&script, "exit 0").unwrap();
        let script = script.to_str().unwrap();
        assert_eq!(names(&command(&["sh", script, "1"])), [script]);
        assert_eq!(names(&command(&["sh", "-c", "true"])), ["sh"]);
        assert_eq!(names(&command(&["cat", "/proc/cpuinfo", "/dev/null", "/nowhere"])), ["cat"]);
        assert_eq!(names(&command(&["/nowhere/program"])), [""; 0]);
    }

    #[test]
    fn copies_take_the_place_of_files_and_leave_the_series_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("work");
        let data = folder.path().join("data.txt");
        fs::write(&program, "new").unwrap();
        fs::write(&data, "new data").unwrap();
        let [program, data] = [&program, &data].map(|path| path.to_str().unwrap().to_owned());
        let planned = command(&[&program, &data, "7"]);
        let old = |word: &String, content: &str| KeptFile {
            word: word.clone(),
            content: content.into(),
            is_executable: true,
            protocol: None,
        };
        let kept = [old(&program, "old"), old(&data, "old data")];
        assert!(is_of(&planned, &kept) && !is_of(&command(&["true"]), &kept));
        let scratch = folder.path().join("scratch");
        let points = both(&planned, &kept, &scratch).unwrap();
        let contents = points.iter().map(|copied| {
            let Some(Value::Text(file)) = copied.point.settings.get("program") else { panic!() };
            let Some(Value::Text(command)) = copied.point.settings.get("command") else { panic!() };
            let words: Vec<String> = serde_json::from_str(command).unwrap();
            assert_eq!((words[0].as_str(), words[2].as_str()), (program.as_str(), "7"));
            assert_ne!(words[1], data);
            (fs::read_to_string(file).unwrap(), fs::read_to_string(&words[1]).unwrap(), file.len())
        });
        let contents: Vec<(String, String, usize)> = contents.collect();
        assert_eq!(contents[0].2, contents[1].2);
        let texts: Vec<_> =
            contents.iter().map(|(one, two, _)| (one.as_str(), two.as_str())).collect();
        assert_eq!(texts, [("old", "old data"), ("new", "new data")]);
        let series: Vec<String> = points.iter().map(|copied| copied.point.series("wall")).collect();
        assert!(!series[0].contains("scratch") && series[0] != series[1]);
        assert!(!series.contains(&planned.point.series("wall")));
    }
}
