//! `scheduler.compile`: make builds a fresh copy of a tree, with so many jobs at a time.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;

use plumb_model::{AuditClass, Description, Ready, SampleIs};
use plumb_protocol::{Batch, Failure, Instance, Start, StartError, StartedWorkload, Workload};
use plumb_workload_kit::declare::{between, integer, path, rate, text, workload};
use plumb_workload_kit::ended;
use plumb_workload_kit::folder::{Folder, sync_filesystem};
use plumb_workload_kit::spawn::{
    EndedProcess, SpawnedProgram, VALUE_NAMES, describe_end, find_program, metrics,
};
use plumb_workload_kit::tool::last_line;

use crate::source_tree::{SourceTree, generate};

/// The workload `scheduler.compile`: its parameters and metrics, and how it starts.
pub(crate) struct Compile;

/// What an outer make says to the makes below it.
const OF_MAKE: [&str; 4] = ["MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"];

impl Workload for Compile {
    fn describe(&self) -> Description {
        let mut all = metrics(VALUE_NAMES.len());
        all.push(rate("rate", "builds/s", "builds per second, one after another"));
        Description {
            parameters: vec![
                between(1, 100_000, integer("jobs", "jobs", 1, "parallel jobs of make (-j)")),
                path("tree", "source tree with a Makefile; a generated one by default"),
                between(
                    1,
                    100_000,
                    integer("files", "files", 100, "C files of the generated tree"),
                ),
                text("configure", "", "make target to build first, untimed, such as defconfig"),
                text("target", "", "make targets; by default the first one in the Makefile"),
            ],
            metrics: all,
            sample_is: SampleIs::Process,
            timeout_s: Some(86_400),
            audit_class: Some(AuditClass::Process),
            ..workload("scheduler.compile", "builds a fresh copy of a source tree with make")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("compile.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let jobs = start.size("jobs");
        let files = start.size("files");
        let make = needed("make")?;
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        needed(&compiler)?;
        let scratch = if start.scratch.is_empty() { &start.dir } else { &start.scratch };
        let folder = Folder::create(Path::new(scratch), "compile")?;
        let (root, prints) = match start.text("tree") {
            "" => {
                let root = folder.path().join("tree");
                fs::create_dir(&root).map_err(|e| Failure::io("creating a folder", &e))?;
                let prints = generate(&root, files)?;
                (root, Some(prints))
            }
            tree => (with_makefile(tree)?, None),
        };
        let tree = SourceTree::read(&root)?;
        let mut ready = Ready::default();
        ready.versions.insert("tree".into(), tree.digest()?);
        ready.versions.insert("cc".into(), version(&compiler)?);
        ready.versions.insert("make".into(), version("make")?);
        let what = if prints.is_some() {
            format!("{files} generated files")
        } else {
            root.display().to_string()
        };
        ready.notes.push(format!("make -j{jobs} of {what}, in {}", folder.path().display()));
        let builds = Builds {
            make,
            jobs,
            tree,
            folder,
            prints,
            configure: start.text("configure").to_owned(),
            target: start.text("target").to_owned(),
            seed: start.seed,
        };
        Ok(StartedWorkload { instance: Box::new(builds), ready })
    }
}

fn needed(program: &str) -> Result<PathBuf, StartError> {
    find_program(program).map_err(|failure| {
        StartError::unsupported(
            failure.0,
            format!("install {program} (build-essential, gcc, make)"),
        )
    })
}

/// The tree, which must have something for make.
fn with_makefile(tree: &str) -> Result<PathBuf, StartError> {
    let root = Path::new(tree);
    if ["GNUmakefile", "makefile", "Makefile"].iter().any(|name| root.join(name).is_file()) {
        return Ok(root.into());
    }
    Err(StartError::unsupported(
        format!("{tree} is not a folder with a Makefile"),
        "set tree to a folder that `make` can build",
    ))
}

/// The first line of what a program says of its version.
fn version(program: &str) -> Result<String, Failure> {
    let output = ended::output(Command::new(program).arg("--version"))
        .map_err(|error| Failure::io(format!("{program} --version"), &error))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(said.lines().next().unwrap_or("unknown").trim().to_owned())
}

struct Builds {
    make: PathBuf,
    jobs: usize,
    tree: SourceTree,
    folder: Folder,
    /// What the program prints that is built; None if nobody knows.
    prints: Option<u32>,
    /// The target of make before each build, untimed; empty for none.
    configure: String,
    /// The targets of make; empty for its first target.
    target: String,
    seed: u64,
}

impl Builds {
    /// Builds a fresh copy; only make is timed.
    fn build(&self) -> Result<EndedProcess, Failure> {
        let copy = self.folder.path().join("build");
        if copy.exists() {
            fs::remove_dir_all(&copy)
                .map_err(|e| Failure::io(format!("removing {}", copy.display()), &e))?;
        }
        self.tree.copy_to(&copy)?;
        let said = self.folder.path().join("said");
        if !self.configure.is_empty() {
            self.make(&copy, &said, &self.configure)?;
        }
        // What was copied is not written back while make works.
        sync_filesystem(&copy)?;
        let ended = self.make(&copy, &said, &self.target)?;
        self.check(&copy)?;
        Ok(ended)
    }

    /// Runs make to its end.
    fn make(&self, copy: &Path, said: &Path, target: &str) -> Result<EndedProcess, Failure> {
        let file = File::create(said).map_err(|e| Failure::io(said.display().to_string(), &e))?;
        let mut argv: Vec<OsString> = vec!["make".into(), "-C".into(), copy.into()];
        argv.push(format!("-j{}", self.jobs).into());
        // What compilers write in between lies next to the copy, and goes with it whatever happens.
        let between = self.folder.path().join("between");
        fs::create_dir_all(&between).map_err(|e| Failure::io(between.display().to_string(), &e))?;
        // To make a dollar stands for the beginning of a variable.
        argv.push(format!("TMPDIR={}", between.display()).replace('$', "$$").into());
        // A target that begins with `-` would be an option.
        argv.push("--".into());
        argv.extend(target.split_whitespace().map(OsString::from));
        let stderr = OwnedFd::from(file);
        let program = SpawnedProgram::with_stderr(&self.make, &argv, Some(&stderr), self.seed)?;
        let ended = program.without(&OF_MAKE).run()?;
        if ended.status.success() {
            return Ok(ended);
        }
        let bytes = fs::read(said).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let why = last_line(&text).unwrap_or("it printed no message");
        let target = if target.is_empty() { String::new() } else { format!(" {target}") };
        Err(Failure(format!(
            "make -j{}{target} failed ({}): {why}",
            self.jobs,
            describe_end(ended.status)
        )))
    }

    fn check(&self, copy: &Path) -> Result<(), Failure> {
        self.prints.map_or(Ok(()), |wanted| check_program(&copy.join("program"), wanted))
    }
}

/// The program that was built must print what its sources say.
fn check_program(path: &Path, wanted: u32) -> Result<(), Failure> {
    let output = ended::output(&mut Command::new(path))
        .map_err(|error| Failure::io(path.display().to_string(), &error))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    if printed.trim() == wanted.to_string() {
        return Ok(());
    }
    Err(Failure(format!("the built program printed `{}` instead of {wanted}", printed.trim())))
}

impl Instance for Builds {
    fn run(&mut self, _: u64) -> Result<(), Failure> {
        self.build().map(drop)
    }

    fn value_names(&self) -> &'static [&'static str] {
        &VALUE_NAMES
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        for _ in iterations {
            self.build()?.record(batch, VALUE_NAMES.len());
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.folder.remove()
    }

    fn fixed_iterations(&self) -> bool {
        true
    }

    fn has_untimed_parts(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::check_program;

    #[test]
    fn a_program_that_prints_something_else_fails_the_build() {
        // It prints an empty line.
        let failure = check_program(Path::new("/bin/echo"), 7).unwrap_err();
        assert_eq!(failure.0, "the built program printed `` instead of 7");
        assert!(
            check_program(Path::new("/nowhere/program"), 7).unwrap_err().0.contains("/nowhere")
        );
    }
}
