//! Starts a program as a fresh process and waits for it: what `process.command` and the `language`
//! workloads time.
//!
//! The clock is read just before `posix_spawn` and just after `wait4`. Everything that these two
//! need (paths, argument and environment strings, descriptors) is laid out before; between samples
//! only the length of one environment variable changes, because the size of the environment shifts
//! the stack and with it speed (Mytkowicz et al. 2009), and layouts are to be sampled.
#![expect(unsafe_code, reason = "posix_spawn and wait4 have no safe form in std")]

use std::ffi::{CStr, CString, OsString, c_char, c_int};
use std::fs::{self, File};
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use plumb_model::{Better, CommandEnd, ENDED, Metric, Missing};
use plumb_protocol::{
    Batch, Failure, MOST_PADDING, PADDING, PADDING_LENGTH, SplitMix64, current_cpu, now_ns,
};

use crate::child::wait_readable;
use crate::declare::{reported, time};
use crate::memory_floor;

/// Bytes of the variable's name and of the `=` after it, before the padding begins.
const PADDING_START: usize = PADDING.len() + 1;

/// Bytes of a block of `ru_oublock`, whatever the filesystem.
const BLOCK: i64 = 512;

/// Names of what `EndedProcess::values` gives, in its order.
pub const VALUE_NAMES: [&str; 9] = [
    "user",
    "system",
    "cpu",
    "peak_memory",
    "minor_faults",
    "major_faults",
    "voluntary_switches",
    "involuntary_switches",
    "written",
];

/// The same, with how the process ended.
pub const VALUE_NAMES_WITH_END: [&str; 10] = {
    let mut names = [ENDED; 10];
    let mut index = 0;
    while index < VALUE_NAMES.len() {
        names[index] = VALUE_NAMES[index];
        index += 1;
    }
    names
};

/// How many of [`VALUE_NAMES`] are reported for a tool that another project wrote.
pub const VALUES_OF_TOOLS: usize = 4;

/// The metrics of a process: wall time, and the first `values` of [`VALUE_NAMES`].
pub fn metrics(values: usize) -> Vec<Metric> {
    let less = |name, unit, summary| reported(name, unit, Better::Lower, summary);
    let all = [
        time("wall", "wall time, from just before posix_spawn to just after wait4"),
        less(
            "user",
            "s",
            "CPU time in user mode, of the process and the children that it reaped (wait4)",
        ),
        less(
            "system",
            "s",
            "CPU time in the kernel, of the process and the children that it reaped \
                             (wait4)",
        ),
        less("cpu", "s", "user + system"),
        less("peak_memory", "B", "largest resident memory of the process (wait4, ru_maxrss)"),
        less("minor_faults", "faults", "page faults served from memory"),
        less("major_faults", "faults", "page faults that needed I/O"),
        less("voluntary_switches", "switches", "voluntary context switches (waiting)"),
        less("involuntary_switches", "switches", "involuntary context switches (preemption)"),
        less(
            "written",
            "B",
            "bytes that it and its reaped children wrote to files on devices (wait4, ru_oublock)",
        ),
    ];
    all.into_iter().take(values + 1).collect()
}

/// A program with its arguments, ready to be started many times.
pub struct SpawnedProgram {
    path: CString,
    arguments: Strings,
    environment: Strings,
    padding: Vec<u8>,
    padding_length: usize,
    /// The length that the padding always has; None for a new one each time.
    fixed_length: Option<usize>,
    random: SplitMix64,
    options: SpawnActions,
}

/// A process that has ended.
pub struct EndedProcess {
    /// When it was started (CLOCK_MONOTONIC), in nanoseconds.
    pub start_ns: u64,
    /// How long it took, in nanoseconds.
    pub elapsed_ns: u64,
    /// How it ended.
    pub status: ExitStatus,
    usage: libc::rusage,
}

impl SpawnedProgram {
    /// A program that reads nothing and whose stderr goes nowhere; stdout too, or into `stdout`.
    /// `path` is started with `argv`; `seed` draws the sizes of its environment.
    ///
    /// # Errors
    /// When an argument holds a NUL byte, or /dev/null can't be opened.
    pub fn new(
        path: &Path,
        argv: &[OsString],
        stdout: Option<&OwnedFd>,
        seed: u64,
    ) -> Result<Self, Failure> {
        Self::with(path, argv, SpawnActions::new(stdout, None)?, seed)
    }

    /// As [`Self::new`], but it is stderr that goes into `stderr`, and stdout goes nowhere.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_stderr(
        path: &Path,
        argv: &[OsString],
        stderr: Option<&OwnedFd>,
        seed: u64,
    ) -> Result<Self, Failure> {
        Self::with(path, argv, SpawnActions::new(None, stderr)?, seed)
    }

    fn with(
        path: &Path,
        argv: &[OsString],
        options: SpawnActions,
        seed: u64,
    ) -> Result<Self, Failure> {
        let mut padding = format!("{PADDING}=").into_bytes();
        padding.resize(PADDING_START + MOST_PADDING, b'x');
        padding.push(0);
        let environment = std::env::vars_os()
            // The worker's own padding must not add to the program's.
            .filter(|(name, _)| name != PADDING && name != PADDING_LENGTH)
            .map(|(name, value)| c_string(&[name.as_bytes(), b"=", value.as_bytes()].concat()))
            .collect::<Result<_, _>>()?;
        let fixed_length = std::env::var(PADDING_LENGTH).ok().and_then(|n| n.parse().ok());
        let arguments = argv.iter().map(|a| c_string(a.as_bytes())).collect::<Result<_, _>>()?;
        Ok(Self {
            path: c_string(path.as_os_str().as_bytes())?,
            arguments: Strings::new(None, arguments),
            environment: Strings::new(Some(padding.as_mut_ptr().cast()), environment),
            padding,
            padding_length: MOST_PADDING,
            fixed_length: fixed_length.map(|length: usize| length.min(MOST_PADDING)),
            random: SplitMix64::new(seed),
            options,
        })
    }

    /// Without these variables in its environment.
    #[must_use]
    pub fn without(mut self, names: &[&str]) -> Self {
        let mut kept = std::mem::take(&mut self.environment.strings);
        kept.retain(|variable| {
            let name = variable.as_bytes().split(|byte| *byte == b'=').next();
            !names.iter().any(|known| Some(known.as_bytes()) == name)
        });
        self.environment = Strings::new(Some(self.padding.as_mut_ptr().cast()), kept);
        self
    }

    /// Starts it, waits for its end, and takes the times. Allocates nothing between the two readings
    /// of the clock.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn run(&mut self) -> Result<EndedProcess, Failure> {
        self.draw_padding();
        let start_ns = now_ns();
        let (errno, pid) = self.spawn(&self.path);
        if errno != 0 {
            return Err(self.not_started(errno));
        }
        let (status, usage) = wait4(pid);
        let elapsed_ns = now_ns() - start_ns;
        match status {
            Ok(status) => Ok(EndedProcess { start_ns, elapsed_ns, status, usage }),
            Err(error) => Err(Failure::io(format!("waiting for process {pid}"), &error)),
        }
    }

    /// Becomes the program, with the standard streams and signals that [`Self::run`] gives it. For a forked child: makes
    /// system calls only. Returns if the program can't be started.
    pub fn exec(&self) {
        self.options.apply();
        // SAFETY: the path ends in NUL, and both arrays of strings of this struct end in a null pointer.
        unsafe {
            libc::execve(
                self.path.as_ptr(),
                self.arguments.pointers.as_ptr().cast(),
                self.environment.pointers.as_ptr().cast(),
            );
        }
    }

    /// With another variable in its environment.
    ///
    /// # Errors
    /// If it holds a NUL byte.
    pub fn with_variable(mut self, name: &str, value: &str) -> Result<Self, Failure> {
        let mut all = std::mem::take(&mut self.environment.strings);
        all.push(c_string(format!("{name}={value}").as_bytes())?);
        self.environment = Strings::new(Some(self.padding.as_mut_ptr().cast()), all);
        Ok(self)
    }

    /// Gives back what memory this process can, so that little of it shows up in the peaks of the
    /// programs it starts; and goes once through the code of starting one, with a path that names
    /// none, so that the next start finds that code in place. Returns the floor that is left, in bytes.
    pub fn rehearse(&self) -> u64 {
        memory_floor::lower();
        let _ = self.spawn(c"/dev/null/nothing");
        let _ = now_ns();
        memory_floor::bytes()
    }

    #[inline]
    fn spawn(&self, path: &CStr) -> (c_int, libc::pid_t) {
        let mut pid = 0;
        // SAFETY: every pointer is to a live object: the path, two arrays of strings of this struct
        // that end in a null pointer, and the initialised actions and attributes.
        let errno = unsafe {
            libc::posix_spawn(
                &raw mut pid,
                path.as_ptr(),
                &raw const self.options.actions,
                &raw const self.options.attributes,
                self.arguments.pointers.as_ptr(),
                self.environment.pointers.as_ptr(),
            )
        };
        (errno, pid)
    }

    /// Sets the padding variable to a length between 0 and [`MOST_PADDING`].
    fn draw_padding(&mut self) {
        let drawn = usize::try_from(self.random.below(MOST_PADDING as u64 + 1)).unwrap_or(0);
        self.padding[PADDING_START + self.padding_length] = b'x';
        self.padding_length = self.fixed_length.unwrap_or(drawn);
        self.padding[PADDING_START + self.padding_length] = 0;
        self.environment.pointers[0] = self.padding.as_mut_ptr().cast();
    }

    fn not_started(&self, errno: c_int) -> Failure {
        let hint = match errno {
            libc::ENOENT => " (the interpreter in its #! line or its loader is missing)",
            libc::ENOEXEC => " (a script needs a #! line)",
            _ => "",
        };
        let error = io::Error::from_raw_os_error(errno);
        Failure(format!("could not start {}: {error}{hint}", self.path.to_string_lossy()))
    }
}

/// Waits for one child, through interruptions by signals.
fn wait4(pid: libc::pid_t) -> (io::Result<ExitStatus>, libc::rusage) {
    let mut status = 0;
    // SAFETY: rusage is plain numbers, for which all zeroes is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live, writable objects of the right types.
        if unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) } == pid {
            return (Ok(ExitStatus::from_raw(status)), usage);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return (Err(error), usage);
        }
    }
}

impl EndedProcess {
    /// Puts the sample into the batch, with as many values as the workload reports.
    pub fn record(&self, batch: &mut Batch, values: usize) {
        batch.record(self.start_ns, self.elapsed_ns, 1, current_cpu());
        batch.record_values(&self.values()[..values]);
    }

    /// Peak resident memory in bytes.
    pub fn peak_memory(&self) -> u64 {
        self.usage.ru_maxrss.unsigned_abs() * 1024
    }

    /// CPU time of the process and the children that it reaped, user and system, in seconds.
    pub fn cpu_s(&self) -> f64 {
        self.values()[2]
    }

    /// As [`Self::record`] with all values, and with how it ended: [`VALUE_NAMES_WITH_END`].
    pub fn record_with_end(&self, batch: &mut Batch) {
        batch.record(self.start_ns, self.elapsed_ns, 1, current_cpu());
        let mut values = [0.0; VALUE_NAMES_WITH_END.len()];
        values[..VALUE_NAMES.len()].copy_from_slice(&self.values());
        values[VALUE_NAMES.len()] = self.end().code().into();
        batch.record_values(&values);
    }

    /// The status that it exited with, or the signal that ended it.
    pub fn end(&self) -> CommandEnd {
        match self.status.signal() {
            Some(signal) => CommandEnd::Signal(signal),
            None => CommandEnd::Status(self.status.code().unwrap_or_default()),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn values(&self) -> [f64; 9] {
        let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 * 1e-6;
        let user = seconds(self.usage.ru_utime);
        let system = seconds(self.usage.ru_stime);
        [
            user,
            system,
            user + system,
            self.peak_memory() as f64,
            self.usage.ru_minflt as f64,
            self.usage.ru_majflt as f64,
            self.usage.ru_nvcsw as f64,
            self.usage.ru_nivcsw as f64,
            (self.usage.ru_oublock * BLOCK) as f64,
        ]
    }
}

/// Strings, and the array of pointers to them that C wants: an optional first, ours, a null.
struct Strings {
    strings: Vec<CString>,
    pointers: Vec<*mut c_char>,
}

impl Strings {
    fn new(first: Option<*mut c_char>, strings: Vec<CString>) -> Self {
        let ours = strings.iter().map(|string| string.as_ptr().cast_mut());
        let pointers = first.into_iter().chain(ours).chain([std::ptr::null_mut()]).collect();
        Self { strings, pointers }
    }
}

fn c_string(bytes: &[u8]) -> Result<CString, Failure> {
    CString::new(bytes).map_err(|e| {
        let text = String::from_utf8_lossy(e.into_vec().as_slice()).replace('\0', "\\0");
        Failure(format!("`{text}` contains a NUL byte, which arguments can't contain"))
    })
}

/// What `posix_spawn` does in the child before the program starts: stdin and stderr from and to
/// /dev/null, stdout or stderr into a pipe if one is given, and signals at their defaults.
struct SpawnActions {
    actions: libc::posix_spawn_file_actions_t,
    attributes: libc::posix_spawnattr_t,
    /// Where stdin, stdout and stderr come from.
    sources: [RawFd; 3],
    /// What they refer to; open as long as this lives.
    _null: File,
    _pipes: [Option<OwnedFd>; 2],
}

fn duplicate(pipe: Option<&OwnedFd>) -> Result<Option<OwnedFd>, Failure> {
    let copy = pipe.map(OwnedFd::try_clone).transpose();
    copy.map_err(|error| Failure::io("duplicating a pipe", &error))
}

impl SpawnActions {
    fn new(stdout: Option<&OwnedFd>, stderr: Option<&OwnedFd>) -> Result<Self, Failure> {
        let null = File::options()
            .read(true)
            .write(true)
            .open("/dev/null")
            .map_err(|e| Failure::io("opening /dev/null", &e))?;
        let pipes = [duplicate(stdout)?, duplicate(stderr)?];
        let [out, error] =
            pipes.each_ref().map(|pipe| pipe.as_ref().map_or(null.as_raw_fd(), OwnedFd::as_raw_fd));
        let sources = [null.as_raw_fd(), out, error];
        // SAFETY: plain C structs that the next calls initialise.
        let mut options: Self = Self {
            actions: unsafe { std::mem::zeroed() },
            attributes: unsafe { std::mem::zeroed() },
            sources,
            _null: null,
            _pipes: pipes,
        };
        options.fill(sources)?;
        Ok(options)
    }

    /// Does to this process what `posix_spawn` does to a new one. Makes system calls only.
    fn apply(&self) {
        // SAFETY: the descriptors are open as long as this lives. The signal set is plain bits, for which all zeroes is the
        // empty set; the pointers are to live objects, or null where nothing is asked for.
        unsafe {
            for (source, target) in self.sources.into_iter().zip(0..) {
                libc::dup2(source, target);
            }
            for signal in DEFAULTED {
                libc::signal(signal, libc::SIG_DFL);
            }
            let none: libc::sigset_t = std::mem::zeroed();
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        }
    }

    fn fill(&mut self, sources: [RawFd; 3]) -> Result<(), Failure> {
        // SAFETY: all pointers are to live objects, initialised before anything is added to them.
        // The signal set is plain bits, for which all zeroes is a value.
        unsafe {
            let actions = &raw mut self.actions;
            let attributes = &raw mut self.attributes;
            check(libc::posix_spawn_file_actions_init(actions))?;
            check(libc::posix_spawnattr_init(attributes))?;
            for (source, target) in sources.into_iter().zip(0..) {
                check(libc::posix_spawn_file_actions_adddup2(actions, source, target))?;
            }
            let mut signals: libc::sigset_t = std::mem::zeroed();
            check(libc::sigemptyset(&raw mut signals))?;
            check(libc::posix_spawnattr_setsigmask(attributes, &raw const signals))?;
            for signal in DEFAULTED {
                check(libc::sigaddset(&raw mut signals, signal))?;
            }
            check(libc::posix_spawnattr_setsigdefault(attributes, &raw const signals))?;
            let flags = libc::POSIX_SPAWN_SETSIGDEF | libc::POSIX_SPAWN_SETSIGMASK;
            check(libc::posix_spawnattr_setflags(
                attributes,
                libc::c_short::try_from(flags).unwrap_or(0),
            ))
        }
    }
}

/// Signals that a program may find ignored by whoever started it; it gets them at their defaults.
const DEFAULTED: [c_int; 7] = [
    libc::SIGPIPE,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGTSTP,
    libc::SIGCHLD,
];

fn check(errno: c_int) -> Result<(), Failure> {
    match errno {
        0 => Ok(()),
        errno => {
            Err(Failure::io("setting up posix_spawn", &io::Error::from_raw_os_error(errno.abs())))
        }
    }
}

impl Drop for SpawnActions {
    fn drop(&mut self) {
        // SAFETY: both were initialised in `fill`, or are zeroed, which glibc and musl take for empty.
        unsafe {
            libc::posix_spawn_file_actions_destroy(&raw mut self.actions);
            libc::posix_spawnattr_destroy(&raw mut self.attributes);
        }
    }
}

/// What programs write to stdout: a pipe that holds it until they have ended, 64 KiB at most.
pub struct OutputPipe {
    reader: PipeReader,
    writer: OwnedFd,
}

impl OutputPipe {
    /// An empty pipe.
    ///
    /// # Errors
    /// When there is no room for another.
    pub fn new() -> Result<Self, Failure> {
        let (reader, writer) = io::pipe().map_err(|e| Failure::io("creating a pipe", &e))?;
        Ok(Self { reader, writer: writer.into() })
    }

    /// The end to give to [`SpawnedProgram::new`].
    pub fn end(&self) -> &OwnedFd {
        &self.writer
    }

    /// Takes out what is in it; never waits.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn take(&mut self) -> Result<String, Failure> {
        let mut said = Vec::new();
        let mut part = [0; 4096];
        // Polled first: the writing end stays open here for the next program, so a read could wait for ever.
        while wait_readable(self.reader.as_raw_fd(), 0) {
            let length = self
                .reader
                .read(&mut part)
                .map_err(|e| Failure::io("reading a program's output", &e))?;
            said.extend_from_slice(&part[..length]);
        }
        Ok(String::from_utf8_lossy(&said).into_owned())
    }
}

/// Whether a file can be started by somebody; which user may is for the kernel to say.
fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// The file that a command's first word names: itself when it holds a slash, else the first
/// executable of that name in PATH.
///
/// # Errors
/// `command not found: …`, with the reason if there is one.
pub fn find_program(name: &str) -> Result<PathBuf, Failure> {
    if name.contains('/') {
        let path = PathBuf::from(name);
        return match (is_executable(&path), fs::metadata(&path)) {
            (true, _) => Ok(path),
            (false, Ok(meta)) if meta.is_dir() => Err(not_found(name, " is a directory")),
            (false, Ok(_)) => Err(not_found(name, " exists but is not executable (try chmod +x)")),
            (false, Err(error)) => Err(not_found(name, &format!(": {error}"))),
        };
    }
    // As execvp does: a fixed path if the environment has none.
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|path| !name.is_empty() && is_executable(path))
        .ok_or_else(|| not_found(name, " is not in PATH"))
}

fn not_found(name: &str, why: &str) -> Failure {
    Failure(format!("{}: {name}{why}", Missing::COMMAND_NOT_FOUND))
}

/// How a process ended, in words.
pub fn describe_end(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}{}", signal_name(signal)),
        (None, None) => format!("{status}"),
    }
}

fn signal_name(signal: c_int) -> &'static str {
    match signal {
        libc::SIGINT => " (SIGINT)",
        libc::SIGTERM => " (SIGTERM)",
        libc::SIGKILL => " (SIGKILL: memory limit?)",
        libc::SIGSEGV => " (SIGSEGV)",
        libc::SIGABRT => " (SIGABRT)",
        libc::SIGPIPE => " (SIGPIPE)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use super::{OutputPipe, SpawnedProgram, find_program};

    #[test]
    fn the_environment_has_another_size_in_every_process() {
        let mut output = OutputPipe::new().unwrap();
        assert_eq!(output.take().unwrap(), "");
        let script = "echo ${#PLUMB_PADDING}; read line || echo silence >&2; exit 3";
        let argv = ["sh", "-c", script].map(OsString::from);
        let mut program =
            SpawnedProgram::new(Path::new("/bin/sh"), &argv, Some(output.end()), 1).unwrap();
        let ended: Vec<_> = (0..8).map(|_| program.run().unwrap()).collect();
        assert!(ended.iter().all(|e| e.status.code() == Some(3) && e.elapsed_ns > 0));
        let said = output.take().unwrap();
        let lengths: Vec<usize> = said.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(lengths.len(), 8);
        assert!(lengths.iter().all(|&length| length <= 4096));
        assert!(lengths.windows(2).any(|pair| pair[0] != pair[1]), "{lengths:?}");
    }

    #[test]
    fn what_cannot_be_started_says_why() {
        assert!(find_program("sh").unwrap().is_absolute());
        for (name, reason) in [
            ("no-such-command", "is not in PATH"),
            ("/no/such/file", "No such file"),
            ("/tmp", "is a directory"),
            ("/etc/passwd", "not executable"),
        ] {
            let why = find_program(name).unwrap_err().0;
            assert!(why.starts_with("command not found: "), "{why}");
            assert!(why.contains(reason), "{why}");
        }
        let argv = [OsString::from("x")];
        let mut gone = SpawnedProgram::new(Path::new("/no/such/file"), &argv, None, 1).unwrap();
        assert!(gone.run().is_err_and(|f| f.0.contains("could not start /no/such/file")));
        assert!(SpawnedProgram::new(Path::new("/bin/true"), &["a\0b".into()], None, 1).is_err());
    }
}
