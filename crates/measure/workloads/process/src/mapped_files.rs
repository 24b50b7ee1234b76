//! Lists the ELF files that the processes of a command map, in one run under ptrace.
//!
//! The kernel maps a program and its loader at exec; everything else that is executed or linked comes by `mmap`, whatever
//! the loader. So every successful `mmap` of a file counts, of every process and thread that the command starts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write, pipe};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use libc::c_int;
use plumb_model::MappedFile;
use plumb_protocol::{Failure, StartError};
use plumb_workload_kit::child::{Child, read_full};
use plumb_workload_kit::spawn::SpawnedProgram;

use crate::elf;
use crate::tracee::{
    Stop, SystemCall, detach, interrupt, listen, next_stop, resume, seize, system_call,
};

/// What one run of a command mapped.
#[derive(Debug)]
pub(crate) struct TracedRun {
    /// The ELF files, in the order of their first mapping.
    pub(crate) files: Vec<MappedFile>,
    /// How the command ended.
    pub(crate) status: ExitStatus,
}

/// Runs a program to its exit under ptrace, and lists the ELF files that it and its children map. Children that outlive
/// it run on untraced.
///
/// # Errors
/// Unsupported if the system does not permit ptrace.
pub(crate) fn trace(program: &SpawnedProgram) -> Result<TracedRun, StartError> {
    let (go, mut told) = pipe().map_err(|error| Failure::io("creating a pipe", &error))?;
    let first = Child::fork(|| {
        // Nothing runs before it is traced.
        if read_full(go.as_raw_fd(), &mut [0]) {
            program.exec();
        }
        false
    })?;
    let pid = c_int::try_from(first.pid()).map_err(|error| Failure(error.to_string()))?;
    seize(pid).map_err(|error| unsupported(&error))?;
    told.write_all(&[0]).map_err(|error| Failure::io("starting the command", &error))?;
    let mut tracer = Tracer::default();
    let status = tracer.follow(pid)?;
    // It has been waited for: its process id may be another's by now.
    std::mem::forget(first);
    tracer.leave()?;
    if !tracer.has_started {
        return Err(Failure(
            "the command could not be started for the list of its libraries".into(),
        )
        .into());
    }
    Ok(TracedRun { files: tracer.files, status })
}

fn unsupported(error: &io::Error) -> StartError {
    StartError::unsupported(
        format!("ptrace is not permitted here, so libraries can't be listed: {error}"),
        "run as root, set kernel.yama.ptrace_scope to 0 or 1, or permit ptrace in the container's seccomp profile",
    )
}

#[derive(Default)]
struct Tracer {
    files: Vec<MappedFile>,
    /// Device and inode of every file that was looked at.
    known: BTreeSet<(u64, u64)>,
    /// Every thread that is traced, with the descriptor that it is about to map.
    threads: BTreeMap<c_int, Option<c_int>>,
    has_started: bool,
}

impl Tracer {
    /// Follows all threads until the first process ends; its status.
    fn follow(&mut self, first: c_int) -> Result<ExitStatus, StartError> {
        self.threads.insert(first, None);
        while let Some((pid, stop, status)) = wait()? {
            match stop {
                Stop::Ended => {
                    self.threads.remove(&pid);
                    if pid == first {
                        return Ok(ExitStatus::from_raw(status));
                    }
                }
                Stop::SystemCall => {
                    self.system_call(pid)?;
                    resume(pid, 0);
                }
                Stop::Exec => {
                    self.has_started = true;
                    // Of several threads only this one is left, and has the id of the process.
                    self.threads.insert(pid, None);
                    self.add_mapped_at_exec(pid);
                    resume(pid, 0);
                }
                Stop::Event => {
                    self.threads.entry(pid).or_default();
                    resume(pid, 0);
                }
                Stop::Group => listen(pid),
                Stop::Signal(signal) => resume(pid, signal),
            }
        }
        Err(Failure("the traced command was lost: another process waited for it".into()).into())
    }

    /// Lets what outlives the command run on.
    fn leave(&mut self) -> Result<(), StartError> {
        self.threads.keys().for_each(|pid| interrupt(*pid));
        // Until none is left: one of them may just have started another, which has not stopped yet.
        while let Some((pid, stop, _)) = wait()? {
            match stop {
                Stop::Ended => {}
                Stop::Signal(signal) => detach(pid, signal),
                _ => detach(pid, 0),
            }
        }
        Ok(())
    }

    fn system_call(&mut self, pid: c_int) -> Result<(), StartError> {
        let call = match system_call(pid) {
            Ok(call) => call,
            // Killed meanwhile: the next wait says so.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => SystemCall::Other,
            Err(error) => {
                return Err(StartError::unsupported(
                    format!("this kernel does not report system calls to ptrace: {error}"),
                    "use Linux 5.3 or newer",
                ));
            }
        };
        let about_to_map = self.threads.entry(pid).or_default().take();
        match (call, about_to_map) {
            (SystemCall::MapsFile(descriptor), _) => {
                self.threads.insert(pid, Some(descriptor));
            }
            (SystemCall::Succeeded, Some(descriptor)) => {
                // The link leads to the file itself, also in another mount namespace and if its name is gone.
                let link = format!("/proc/{pid}/fd/{descriptor}");
                let name = fs::read_link(&link).unwrap_or_default();
                self.add(Path::new(&link), &name.to_string_lossy());
            }
            _ => {}
        }
        Ok(())
    }

    /// The program, and the loader that it names.
    fn add_mapped_at_exec(&mut self, pid: c_int) {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        let mut last = "";
        for line in maps.lines() {
            // Address, permissions, offset, device and inode come first; the path may hold blanks.
            let Some(at) = line.find('/') else { continue };
            let path = &line[at..];
            if path != last {
                self.add(Path::new(&format!("/proc/{pid}/root{path}")), path);
                last = path;
            }
        }
    }

    /// Adds a file, if it is ELF and not in the list yet.
    fn add(&mut self, link: &Path, name: &str) {
        // Looked at before it is opened: to open a device may do something.
        let Ok(meta) = fs::metadata(link) else { return };
        let identity = (meta.dev(), meta.ino());
        if !meta.is_file() || !self.known.insert(identity) {
            return;
        }
        self.files.extend(read_elf(link, name, meta.len()));
    }
}

fn wait() -> Result<Option<(c_int, Stop, c_int)>, StartError> {
    next_stop().map_err(|error| Failure::io("waiting for the traced command", &error).into())
}

/// The file and its relocations; None if it is not ELF.
fn read_elf(link: &Path, name: &str, bytes: u64) -> Option<MappedFile> {
    let mut file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(link).ok()?;
    let mut magic = [0; 4];
    file.read_exact(&mut magic).ok()?;
    file.rewind().ok()?;
    let counts = elf::relocations(&mut io::BufReader::new(file));
    (magic == elf::MAGIC).then(|| MappedFile {
        path: name.to_owned(),
        bytes,
        relocations: counts.ok(),
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use plumb_workload_kit::spawn::{SpawnedProgram, find_program};

    use super::{TracedRun, trace};

    fn traced(words: &[&str]) -> TracedRun {
        let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
        let path = find_program(words[0]).unwrap();
        trace(&SpawnedProgram::new(&path, &argv, None, 1).unwrap()).unwrap()
    }

    fn has(run: &TracedRun, name: &str) -> bool {
        run.files.iter().any(|file| file.path.contains(name))
    }

    #[test]
    fn the_program_its_loader_and_its_libraries_are_listed_once() {
        let run = traced(&["/bin/sh", "-c", "exit 3"]);
        assert_eq!(run.status.code(), Some(3));
        for name in ["sh", "ld-", "libc"] {
            let found = run.files.iter().filter(|file| file.path.contains(name)).count();
            assert!(found > 0, "{name}: {:?}", run.files);
        }
        let mut paths: Vec<&String> = run.files.iter().map(|file| &file.path).collect();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), run.files.len(), "{:?}", run.files);
    }

    #[test]
    fn children_are_followed_and_those_that_stay_run_on() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("mark");
        let script = format!("(sleep 0.3; echo done > {0}) & perl -e 1", mark.display());
        let run = traced(&["/bin/sh", "-c", &script]);
        assert!(run.status.success(), "{:?}", run.status);
        assert!(has(&run, "perl"), "{:?}", run.files);
        let began = std::time::Instant::now();
        while !mark.exists() && began.elapsed().as_secs() < 10 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert!(mark.exists(), "what the command left behind was stopped or killed");
    }

    #[test]
    fn a_stopped_process_can_be_continued_and_signals_arrive() {
        let script = "trap 'exit 7' TERM; (sleep 0.1; kill -CONT $$; sleep 0.1; kill -TERM $$) & kill -STOP $$; \
                      while :; do sleep 0.01; done";
        assert_eq!(traced(&["/bin/sh", "-c", script]).status.code(), Some(7));
    }
}
