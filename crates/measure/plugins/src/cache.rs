//! Cached descriptions of plug-ins, so that naming one does not start it every time.
//!
//! The key is made of all that decides the answer and can be read: the protocol, the command line, the
//! content of the program and of every file that an argument names (a script, when the program is its
//! interpreter). Who can't read or write the cache asks the plug-in.

use std::env;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process;

use plumb_model::{Description, Program};
use plumb_protocol::PROTOCOL;
use uuid::Uuid;

/// The largest file that is hashed, in bytes: asking is quicker than reading more.
const LARGEST: u64 = 256 << 20;

/// The file that keeps what this program said, in the user's folder of caches; None if there is no
/// content to know the program by.
#[must_use]
pub fn file(cache_home: &Path, program: &Program) -> Option<PathBuf> {
    Some(cache_home.join("plumb/describe").join(format!("{}.json", key(program)?)))
}

/// What was kept; None when nothing was, or it is spoiled.
#[must_use]
pub fn read(file: &Path) -> Option<Description> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

/// Keeps what it said, whole or not at all.
pub fn write(file: &Path, description: &Description) {
    // Without a cache the program is asked again.
    let _ = replace(file, description);
}

/// Writes the description next to the file and renames it, so that another plumb never reads half of one.
fn replace(file: &Path, description: &Description) -> Option<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(file.parent()?).ok()?;
    let fresh = file.with_file_name(format!("fresh-{}", process::id()));
    let json = serde_json::to_vec(description).ok()?;
    let moved = fs::write(&fresh, json).and_then(|()| fs::rename(&fresh, file));
    moved.or_else(|_| fs::remove_file(&fresh)).ok()
}

fn key(program: &Program) -> Option<String> {
    let (name, arguments) = program.argv.split_first()?;
    let mut text = format!("protocol {PROTOCOL}\n{:?}\n", program.argv);
    // By content: a program that was rebuilt has the same path, and may have the same size and time.
    text += &content(&executable(name)?)?;
    // An interpreter's script is an argument.
    for file in arguments.iter().map(Path::new).filter(|path| path.is_file()) {
        text += &content(file)?;
    }
    Some(Uuid::new_v5(&Uuid::NAMESPACE_OID, text.as_bytes()).simple().to_string())
}

fn executable(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(name.into());
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// A hash of a file's content.
fn content(file: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    let read = fs::File::open(file).ok()?.take(LARGEST + 1).read_to_end(&mut bytes).ok()?;
    (read as u64 <= LARGEST).then(|| Uuid::new_v5(&Uuid::NAMESPACE_OID, &bytes).to_string())
}

#[cfg(test)]
mod tests {
    use super::{key, read};
    use plumb_model::Program;
    use std::fs;

    fn program(argv: &[&str]) -> Program {
        Program { argv: argv.iter().map(|&word| word.to_owned()).collect() }
    }

    #[test]
    fn the_key_follows_the_contents_and_the_command_line() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        let path = script.to_str().unwrap();
        fs::write(&script, "1").unwrap();
        let direct = program(&[path]);
        let interpreted = program(&["sh", path]);
        let before = [key(&direct).unwrap(), key(&interpreted).unwrap()];
        assert_eq!(key(&direct).as_ref(), Some(&before[0]), "the same twice");
        assert_ne!(before[0], before[1]);
        assert_ne!(key(&program(&[path, "more"])).unwrap(), before[0]);
        fs::write(&script, "2").unwrap();
        assert_ne!(key(&direct).unwrap(), before[0]);
        assert_ne!(key(&interpreted).unwrap(), before[1], "the script of an interpreter counts");
        assert_eq!(key(&program(&["/no/such/program"])), None);
    }

    #[test]
    fn what_is_spoiled_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.json");
        assert_eq!(read(&file), None);
        fs::write(&file, "{\"id\": ").unwrap();
        assert_eq!(read(&file), None);
    }
}
