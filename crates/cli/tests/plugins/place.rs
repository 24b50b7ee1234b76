//! A place for the real binary with its own plug-ins, and what it said.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use plumb_model::RunRecord;
use plumb_store::Store;
use serde_json::Value;

const BASE: &str = include_str!("base.py");
const QUICK: &[&str] = &["--min-invocations", "1", "--no-lock", "--quiet"];

/// Folders of one test.
pub struct PluginFolders {
    /// The folder of all folders.
    pub root: tempfile::TempDir,
}

/// The output of plumb.
pub struct PlumbOutput {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl PluginFolders {
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["cwd", "tmp", "path"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        Self { root }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("path").join(name)
    }

    /// A folder with a manifest and this program.
    pub fn program(&self, name: &str, text: &str) -> String {
        let folder = self.path(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("plumb-plugin.toml"), "exec = 'program'\n").unwrap();
        let file = folder.join("program");
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        folder.to_str().unwrap().to_owned()
    }

    /// The base plug-in with functions replaced; its id is `test.NAME`.
    pub fn plugin(&self, name: &str, change: &str) -> String {
        self.program(name, &format!("{BASE}\n\n{}\n\nserve()\n", unindent(change)))
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plumb"));
        let root = self.root.path();
        command.args(arguments).current_dir(root.join("cwd")).stdin(Stdio::null());
        command.env("PLUMB_STORE", root.join("store.db")).env("TMPDIR", root.join("tmp"));
        command.env("PLUMB_PLUGIN_PATH", root.join("path")).env("HOME", root);
        command.env("PLUMB_JOURNALS", root.join("journals"));
        command.env("COLUMNS", "300").env_remove("XDG_DATA_HOME").env_remove("XDG_CACHE_HOME");
        command
    }

    pub fn plumb(&self, arguments: &[&str]) -> PlumbOutput {
        ran(&self.command(arguments).output().unwrap())
    }

    pub fn run(&self, arguments: &[&str]) -> PlumbOutput {
        self.plumb(&[&["run"], QUICK, arguments].concat())
    }

    /// `run --json` with its document.
    pub fn document(&self, arguments: &[&str]) -> (PlumbOutput, Value) {
        let ran = self.run(&[&["--json"], arguments].concat());
        let document = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran}"));
        (ran, document)
    }

    /// `plugin check --json` with its document.
    pub fn check(&self, path: &str) -> (PlumbOutput, Value) {
        let ran = self.plumb(&["plugin", "check", "--json", path]);
        let document = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran}"));
        (ran, document)
    }

    pub fn record(&self) -> RunRecord {
        let store = Store::open_read_only(self.root.path().join("store.db")).unwrap();
        store.record(store.resolve("last").unwrap()).unwrap()
    }

    /// The notes of a plug-in.
    pub fn notes(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path(name).join("notes")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// No folder of the run is left.
    pub fn assert_tidy(&self) {
        for folder in ["cwd", "tmp"] {
            let left = fs::read_dir(self.root.path().join(folder)).unwrap();
            let left: Vec<_> = left.map(|entry| entry.unwrap().path()).collect();
            assert!(left.is_empty(), "{left:?}");
        }
    }
}

impl std::fmt::Display for PlumbOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit {:?}\n{}\n{}", self.code, self.out, self.err)
    }
}

impl PlumbOutput {
    #[track_caller]
    pub fn ends(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self}");
        for word in words {
            assert!(self.out.contains(word) || self.err.contains(word), "`{word}`: {self}");
        }
    }
}

pub fn ran(output: &Output) -> PlumbOutput {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    PlumbOutput { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

/// Python as it stands inside a test: the indent of the first line goes.
pub fn unindent(text: &str) -> String {
    let text = text.trim_start_matches('\n');
    let indent = text.len() - text.trim_start().len();
    let cut = |line: &str| line.get(indent..).unwrap_or("").to_owned();
    text.lines().map(cut).collect::<Vec<_>>().join("\n")
}

/// The noted processes have ended; they may be just about to.
#[track_caller]
pub fn assert_gone(pids: &[String]) {
    assert!(!pids.is_empty(), "no process was noted");
    let deadline = Instant::now() + Duration::from_secs(5);
    for pid in pids {
        let command = || fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        while command().contains("98765") {
            assert!(Instant::now() < deadline, "process {pid} is still there");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
