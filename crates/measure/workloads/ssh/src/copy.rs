//! `ssh.copy`: files copied over ssh by the installed scp, sftp or rsync, from the start of the program to its end.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use plumb_model::{
    AuditClass, CurveKind, Description, Parameter, PossibleBottleneck, Ready, Role, SampleIs,
};
use plumb_protocol::{
    Batch, Failure, Held, Instance, SplitMix64, Start, StartError, StartedWorkload, Workload,
    current_cpu, now_ns,
};
use plumb_workload_ends::cpu_time::{self, CpuTimes};
use plumb_workload_kit::declare::{
    LONG_TIMEOUT_S, between, bytes, choice, curve, integer, rate, time, work, workload,
};
use plumb_workload_kit::filesystem::{Filesystem, less_size};
use plumb_workload_kit::folder::{Folder, sync_filesystem};
use plumb_workload_kit::spawn::find_program;
use plumb_workload_kit::ssh::{HOST_ALIAS, KeyKind, SshClient, agreed, isolate, last_line};
use plumb_workload_path::{self as path, End};

use crate::cipher::{CIPHERS, DEFAULT, cpu_metric};
use crate::fixture;
use crate::parts::{OF_SESSION, of_session, possible, same, words};

/// The name under which a server elsewhere reports its folder.
const FAR_FOLDER: &str = "far.files";
/// The only thing that a client on another machine may do there.
const SFTP_ALONE: &str = "internal-sftp";
/// Files are made in pieces of this many bytes.
const PIECE: usize = 1 << 20;
/// The largest copy, and the most files.
const LARGEST: usize = 64 << 30;
const MOST_FILES: usize = 100_000;

/// The workload `ssh.copy`: its parameters and metrics, and how it starts.
pub struct SshCopy;

impl Workload for SshCopy {
    fn describe(&self) -> Description {
        Description {
            parameters: parameters(),
            metrics: vec![
                rate("throughput", "B/s", "bytes of all files divided by the time of a copy"),
                time("time", "time of a copy: login, transfer, end of the program"),
                cpu_metric(cpu_time::NAMES[0], "sshd and what it starts"),
                cpu_metric(cpu_time::NAMES[1], "the program and its ssh"),
            ],
            requirements: fixture::requirements(),
            roles: vec![Role::Workload, Role::Server],
            fixture: Some(fixture::shared_parameters()),
            audit_class: Some(AuditClass::Scheduler),
            sample_is: SampleIs::Process,
            timeout_s: Some(LONG_TIMEOUT_S),
            bottlenecks: bottlenecks(),
            ..workload("ssh.copy", "copies files over ssh with scp, sftp or rsync")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("copy.md")
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        fixture::prepare(start, KeyKind::Ed25519)
    }

    fn start_server(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        if start.far_address().is_none() {
            return fixture::start_server(start, KeyKind::Ed25519, None);
        }
        let folder = Folder::create(Path::new(&start.dir), "ssh-copy")?;
        if CopyDirection::of(start) == CopyDirection::Down {
            FileSet::of(start).lay_out(&folder.path().join(SOURCE), start.seed)?;
        }
        let (mut ready, server) =
            fixture::start_server(start, KeyKind::Ed25519, Some(SFTP_ALONE.to_owned()))?;
        ready.endpoints.insert(FAR_FOLDER.to_owned(), folder.path().display().to_string());
        Ok((ready, Box::new((server, FarFiles { folder }))))
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let method = CopyProgram::of(start)?;
        let files = FileSet::of(start);
        let cipher = start.text("cipher");
        if cipher != DEFAULT {
            fixture::check_known(start, "cipher", "ciphers")?;
        }
        let places = Places::create(start, &files)?;
        path::enter(start, End::Near)?;
        let client = fixture::client(start)?;
        let mut copying = RepeatedCopy::new(start, client, (method, places), files);
        let mut notes = vec![copying.try_once(start)?];
        notes.extend(path::notes(start)?);
        notes.extend(copying.cpus.note());
        let lacking = copying.cpus.lacking();
        let without = cpu_time::NAMES[..lacking].iter().map(|name| (*name).to_owned()).collect();
        let ready = Ready {
            work: work(&[("throughput", files.bytes), ("time", 1)]),
            versions: fixture::versions(start),
            notes,
            without,
            ..Ready::default()
        };
        Ok(StartedWorkload { instance: Box::new(copying), ready })
    }
}

fn parameters() -> Vec<Parameter> {
    let mut ciphers = vec![DEFAULT];
    ciphers.extend(CIPHERS);
    let size = bytes("size", 41 << 20, "bytes of all files together; they can't be compressed");
    let files = integer("files", "files", 1, "number of files, all of about the same size");
    let mut all = vec![
        choice("method", &["scp", "sftp", "rsync"], "program that copies"),
        choice("direction", &["up", "down"], "up: from this end to the server; down: back"),
        choice("cipher", &ciphers, "cipher of the session; default: the client's choice"),
        curve(CurveKind::Line, between(1, LARGEST, size)),
        between(1, MOST_FILES, files),
        choice(
            "sync",
            &["no", "yes"],
            "yes: a copy ends when the receiving filesystem has written everything (syncfs)",
        ),
    ];
    all.push(fixture::compression());
    all.extend(fixture::parameters());
    all
}

/// The parameters that a copy of small files has in common with a copy of large ones.
const OF_COPY: [&str; 8] =
    ["method", "direction", "cipher", "files", "sync", "compression", "client", "server"];

/// What may limit a copy.
fn bottlenecks() -> Vec<PossibleBottleneck> {
    let [path, cipher, window] = of_session(&OF_SESSION);
    // Of one size, because a small file would have room for no block.
    let file = [("size", "64MiB"), ("operation", "write"), ("direct", "no")];
    let mut cache = possible("page cache", "storage.sequential", words(&file));
    cache.metric = "bandwidth".to_owned();
    cache.settings.extend(words(&[("sync", "none")]));
    cache.unless = words(&[("sync", "yes")]);
    let mut disk = possible("disk", "storage.sequential", words(&file));
    disk.metric = "bandwidth".to_owned();
    disk.settings.extend(words(&[("sync", "sample")]));
    disk.unless = words(&[("sync", "no")]);
    let mut login = possible("login", "ssh.login", same(&["client", "server"]));
    login.metric = "rate".to_owned();
    login.settings.extend(same(&path::PARAMETERS));
    login.is_first = true;
    login.only = words(&[("files", "1")]);
    // As many files of one byte each: a login, and what each file costs besides its bytes.
    let mut files = possible("small files", "ssh.copy", same(&OF_COPY));
    files.metric = "time".to_owned();
    files.settings.extend(same(&path::PARAMETERS));
    files.settings.insert("size".to_owned(), "$files".to_owned());
    files.is_first = true;
    files.unless = words(&[("files", "1")]);
    vec![path, cipher, window, cache, disk, login, files]
}

/// Which end receives the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CopyDirection {
    Up,
    Down,
}

impl CopyDirection {
    fn of(start: &Start) -> Self {
        match start.text("direction") {
            "down" => Self::Down,
            _ => Self::Up,
        }
    }
}

/// The program that copies.
#[derive(Debug, Clone)]
enum CopyProgram {
    Scp(PathBuf),
    Sftp(PathBuf),
    Rsync(PathBuf),
}

impl CopyProgram {
    fn of(start: &Start) -> Result<Self, StartError> {
        let name = start.text("method");
        if name == "rsync" && start.far_address().is_some() {
            return Err(StartError::unsupported(
                "plumb lets a client on another machine use SFTP alone, and rsync needs a program there",
                "set `method=scp` or `method=sftp`",
            ));
        }
        let is_far = start.far_address().is_some() && CopyDirection::of(start) == CopyDirection::Up;
        if is_far && start.text("sync") == "yes" {
            return Err(StartError::unsupported(
                "plumb can't ask the filesystem of another machine to write everything (syncfs)",
                "set `sync=no`, or `direction=down`",
            ));
        }
        let package = if name == "rsync" { "rsync" } else { "openssh-client" };
        let program = find_program(name).map_err(|_| {
            StartError::unsupported(
                format!("{name} is not installed"),
                format!("apt-get install {package}"),
            )
        })?;
        Ok(match name {
            "sftp" => Self::Sftp(program),
            "rsync" => Self::Rsync(program),
            _ => Self::Scp(program),
        })
    }

    fn program(&self) -> &Path {
        match self {
            Self::Scp(program) | Self::Sftp(program) | Self::Rsync(program) => program,
        }
    }
}

/// The files of a copy.
#[derive(Debug, Clone, Copy)]
struct FileSet {
    bytes: u64,
    count: u64,
}

impl FileSet {
    fn of(start: &Start) -> Self {
        Self { bytes: start.integer("size"), count: start.integer("files") }
    }

    /// The size of the file of this number; the first ones take what cannot be shared equally.
    fn size(&self, number: u64) -> u64 {
        self.bytes / self.count + u64::from(number < self.bytes % self.count)
    }

    fn name(number: u64) -> String {
        format!("file-{number:05}")
    }

    /// Writes random files into a new folder.
    fn lay_out(&self, folder: &Path, seed: u64) -> Result<(), StartError> {
        let parent = folder.parent().unwrap_or(folder);
        check_room(parent, self.bytes, self.count)?;
        let failed =
            |error: io::Error| Failure::io(format!("writing {}", folder.display()), &error);
        fs::create_dir(folder).map_err(failed)?;
        let mut random = SplitMix64::new(seed);
        let mut piece = vec![0; PIECE];
        for number in 0..self.count {
            let mut file = File::create(folder.join(Self::name(number))).map_err(failed)?;
            let mut left = self.size(number);
            while left > 0 {
                let length = left.min(PIECE as u64);
                let bytes = &mut piece[..usize::try_from(length).unwrap_or(PIECE)];
                random.fill(bytes);
                io::Write::write_all(&mut file, bytes).map_err(failed)?;
                left -= length;
            }
        }
        Ok(())
    }

    /// Whether all files have arrived in a folder, by their sizes.
    fn check_sizes(&self, folder: &Path) -> Result<(), Failure> {
        for number in 0..self.count {
            let file = folder.join(Self::name(number));
            let found = fs::metadata(&file)
                .map_err(|error| Failure::io(format!("reading {}", file.display()), &error))?;
            if found.len() != self.size(number) {
                let name = Self::name(number);
                let size = self.size(number);
                return Err(Failure(format!(
                    "the copy of {name} has {} instead of {size} bytes",
                    found.len()
                )));
            }
        }
        Ok(())
    }

    /// Whether the files of both folders are the same.
    fn check_content(&self, source: &Path, arrived: &Path) -> Result<(), Failure> {
        for number in 0..self.count {
            let name = Self::name(number);
            if !is_same(&source.join(&name), &arrived.join(&name))? {
                return Err(Failure(format!("the copy of {name} has other bytes than the file")));
            }
        }
        Ok(())
    }
}

fn check_room(folder: &Path, bytes: u64, files: u64) -> Result<(), StartError> {
    let filesystem = Filesystem::of(folder).map_err(|error| {
        StartError::Failed(format!("reading the free space of {}: {error}", folder.display()))
    })?;
    let what = format!("a copy of {bytes} bytes");
    filesystem.check_room(folder, &what, bytes, files, &less_size)
}

/// The folder of the files that are copied, below that of their end.
const SOURCE: &str = "source";

/// Files of another machine, which has to remove them.
struct FarFiles {
    folder: Folder,
}

impl Held for FarFiles {
    fn clean(self: Box<Self>) -> Result<(), Failure> {
        self.folder.remove()
    }
}

/// From where files go, and whereto. A folder of another machine is known by its path alone.
struct Places {
    source: PathBuf,
    /// The folder that receives the folder of the files.
    target: PathBuf,
    direction: CopyDirection,
    is_target_here: bool,
    is_source_here: bool,
    /// Of this machine; removed with this.
    _folders: Vec<Folder>,
}

impl Places {
    fn create(start: &Start, files: &FileSet) -> Result<Self, StartError> {
        let direction = CopyDirection::of(start);
        let far = start.endpoints.get(FAR_FOLDER).map(PathBuf::from);
        let is_source_here = far.is_none() || direction == CopyDirection::Up;
        let is_target_here = far.is_none() || direction == CopyDirection::Down;
        if let Some(folder) = [&start.dir, &start.scratch].into_iter().find(|path| !is_plain(path))
        {
            return Err(StartError::unsupported(
                format!("a shell at the far end would read the path {folder} differently"),
                "use --dir and TMPDIR with letters, digits and `/._-` alone",
            ));
        }
        let mut folders = Vec::new();
        let mut source = far.clone().unwrap_or_default();
        let mut target = source.clone();
        if is_source_here {
            // Not on the medium: reading the files is no part of the question.
            let folder = Folder::create(Path::new(&start.scratch), "ssh-copy")?;
            files.lay_out(&folder.path().join(SOURCE), start.seed)?;
            source = folder.path().to_owned();
            folders.push(folder);
        }
        if is_target_here {
            check_room(Path::new(&start.dir), files.bytes, files.count)?;
            let folder = Folder::create(Path::new(&start.dir), "ssh-copy")?;
            target = folder.path().to_owned();
            folders.push(folder);
        }
        Ok(Self {
            source: source.join(SOURCE),
            target,
            direction,
            is_target_here,
            is_source_here,
            _folders: folders,
        })
    }

    /// The folder in which the files arrive.
    fn arrived(&self) -> PathBuf {
        self.target.join(SOURCE)
    }

    /// Removes the last copy, so that the next makes new files.
    fn clear(&self) -> Result<(), Failure> {
        let arrived = self.arrived();
        if !self.is_target_here || !arrived.exists() {
            return Ok(());
        }
        fs::remove_dir_all(&arrived)
            .map_err(|error| Failure::io(format!("removing {}", arrived.display()), &error))
    }
}

/// Copies the files again and again.
struct RepeatedCopy {
    client: SshClient,
    method: CopyProgram,
    places: Places,
    files: FileSet,
    /// The configuration of the client.
    configuration: PathBuf,
    log: PathBuf,
    is_synced: bool,
    cpus: CpuTimes,
    start: Start,
}

impl RepeatedCopy {
    fn new(
        start: &Start,
        client: SshClient,
        (method, places): (CopyProgram, Places),
        files: FileSet,
    ) -> Self {
        let id = std::process::id();
        // Both ends start processes for each copy. A server on another machine is not asked: its processes are many.
        let name = if fixture::is_far(start) { "far.sshd" } else { "sshd" };
        let server = match start.far_address() {
            Some(_) => None,
            None => fixture::endpoint(start, name).ok().and_then(|server| server.parse().ok()),
        };
        Self {
            method,
            places,
            files,
            configuration: client.folder.join(format!("copy-{id}.conf")),
            log: client.folder.join(format!("copy-{id}.log")),
            is_synced: start.text("sync") == "yes",
            cpus: CpuTimes::of(start).with_children(server),
            start: start.clone(),
            client,
        }
    }

    /// One copy before anything is timed, with a log of the client and a look at the bytes that arrived: what both ends
    /// agreed on.
    fn try_once(&mut self, start: &Start) -> Result<String, StartError> {
        let cipher = start.text("cipher");
        self.configure(cipher, "DEBUG1")?;
        self.places.clear()?;
        let copied = self.copy();
        let agreed = agreed(&self.log);
        copied?;
        self.check_arrived()?;
        if self.places.is_source_here && self.places.is_target_here {
            self.files.check_content(&self.places.source, &self.places.arrived())?;
        }
        fixture::check_agreed(start, &agreed, DEFAULT)?;
        self.configure(cipher, "ERROR")?;
        Ok(agreed)
    }

    fn configure(&self, cipher: &str, level: &str) -> Result<(), Failure> {
        let mut more = vec![("LogLevel", level)];
        if cipher != DEFAULT {
            more.push(("Ciphers", cipher));
        }
        write(&self.configuration, &self.client.configuration(&more))?;
        write(&self.script_file(), &self.sftp_script())
    }

    fn check_arrived(&self) -> Result<(), Failure> {
        match self.places.is_target_here {
            true => self.files.check_sizes(&self.places.arrived()),
            // The exit status of the program is all that is known of a far end.
            false => Ok(()),
        }
    }

    /// The commands of sftp for one copy.
    fn sftp_script(&self) -> String {
        let source = self.places.source.display();
        let target = self.places.target.display();
        match self.places.direction {
            // Old versions of `put -r` need the folder to exist; a failure of a line that begins with `-` is ignored.
            CopyDirection::Up => format!("-mkdir {target}/{SOURCE}\nput -r {source} {target}/\n"),
            CopyDirection::Down => format!("get -r {source} {target}/\n"),
        }
    }

    /// The command of a copy.
    fn command(&self) -> Command {
        let source = self.places.source.display();
        let target = self.places.target.display();
        let (from, to) = match self.places.direction {
            CopyDirection::Up => (source.to_string(), format!("{HOST_ALIAS}:{target}")),
            CopyDirection::Down => (format!("{HOST_ALIAS}:{source}"), target.to_string()),
        };
        let ssh = &self.client.ssh;
        let mut command = Command::new(self.method.program());
        match self.method {
            CopyProgram::Scp(_) => {
                command.args(["-r", "-F"]).arg(&self.configuration).arg("-S").arg(ssh);
                command.args(["--", &from, &to]);
            }
            CopyProgram::Sftp(_) => {
                command.arg("-F").arg(&self.configuration).arg("-S").arg(ssh);
                command.arg("-b").arg(self.script_file()).arg(HOST_ALIAS);
            }
            CopyProgram::Rsync(_) => {
                let shell = format!("{} -F {}", ssh.display(), self.configuration.display());
                // Whole files, and none skipped because an earlier copy looks the same.
                command.args(["-r", "-W", "-I", "-e", &shell, "--", &from, &to]);
            }
        }
        isolate(&mut command);
        command
    }

    fn script_file(&self) -> PathBuf {
        self.configuration.with_extension("sftp")
    }

    /// One copy: when it began, and what it took, in nanoseconds.
    fn copy(&self) -> Result<(u64, u64), Failure> {
        let log = File::create(&self.log)
            .map_err(|error| Failure::io(format!("creating {}", self.log.display()), &error))?;
        let mut command = self.command();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let begun = now_ns();
        let status = command
            .spawn()
            .and_then(|mut child| child.wait())
            .map_err(|error| Failure::io("starting the program that copies", &error))?;
        if self.is_synced && self.places.is_target_here && status.success() {
            sync_filesystem(&self.places.target)?;
        }
        let took = now_ns() - begun;
        if status.success() {
            return Ok((begun, took));
        }
        let program = command.get_program().display();
        Err(Failure(format!(
            "a copy failed: {program} ended with {status}: {}",
            last_line(&self.log)
        )))
    }

    /// Removes the last copy and makes one: when it began, and what it took.
    fn once(&self) -> Result<(u64, u64), Failure> {
        self.places.clear()?;
        let copied = self.copy()?;
        self.check_arrived()?;
        Ok(copied)
    }
}

/// Whether two files of one size have the same bytes. In pieces, because files may be larger than the memory.
fn is_same(one: &Path, other: &Path) -> Result<bool, Failure> {
    let mut files = [open(one)?, open(other)?];
    let mut pieces = [vec![0; PIECE], vec![0; PIECE]];
    loop {
        let mut lengths = [0; 2];
        for (index, path) in [one, other].into_iter().enumerate() {
            lengths[index] = fill(&mut files[index], &mut pieces[index])
                .map_err(|error| Failure::io(format!("reading {}", path.display()), &error))?;
        }
        let [length, other_length] = lengths;
        if pieces[0][..length] != pieces[1][..other_length] {
            return Ok(false);
        }
        if length == 0 {
            return Ok(true);
        }
    }
}

fn open(file: &Path) -> Result<File, Failure> {
    File::open(file).map_err(|error| Failure::io(format!("opening {}", file.display()), &error))
}

/// Reads until the piece is full or the file ends: how many bytes.
fn fill(file: &mut File, piece: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < piece.len() {
        match file.read(&mut piece[length..])? {
            0 => break,
            read => length += read,
        }
    }
    Ok(length)
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    fs::write(file, text)
        .map_err(|error| Failure::io(format!("writing {}", file.display()), &error))
}

/// Whether a shell, rsync and sftp read a path as it is written.
fn is_plain(path: &str) -> bool {
    path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
}

impl Instance for RepeatedCopy {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            self.once()?;
        }
        Ok(())
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        let carried = path::carried(&self.start)?;
        self.cpus.begin()?;
        for _ in iterations {
            let (begun, took) = self.once()?;
            batch.record(begun, took, 1, current_cpu());
        }
        let of_byte = self.cpus.of_each(iterations.len() as u64 * self.files.bytes)?;
        iterations.iter().for_each(|_| batch.record_values(&of_byte[self.cpus.lacking()..]));
        path::flag_limit(&self.start, carried, batch)
    }

    fn value_names(&self) -> &'static [&'static str] {
        const ALL: &[&str] = &cpu_time::NAMES;
        &ALL[self.cpus.lacking()..]
    }

    /// A sample is one copy, by a fresh process of the program.
    fn fixed_iterations(&self) -> bool {
        true
    }

    /// The last copy is removed in between.
    fn has_untimed_parts(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{FileSet, PIECE, is_plain, is_same};

    #[test]
    fn files_are_compared_to_their_last_byte() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
        let mut bytes = vec![7; 2 * PIECE + 3];
        std::fs::write(&one, &bytes).unwrap();
        std::fs::write(&other, &bytes).unwrap();
        assert!(is_same(&one, &other).unwrap());
        *bytes.last_mut().unwrap() = 8;
        std::fs::write(&other, &bytes).unwrap();
        assert!(!is_same(&one, &other).unwrap());
        std::fs::write(&other, &bytes[..PIECE]).unwrap();
        assert!(!is_same(&one, &other).unwrap());
    }

    #[test]
    fn files_share_all_bytes() {
        let files = FileSet { bytes: 10, count: 4 };
        let sizes: Vec<u64> = (0..4).map(|number| files.size(number)).collect();
        assert_eq!(sizes, [3, 3, 2, 2]);
    }

    #[test]
    fn paths_that_a_shell_would_change_are_refused() {
        assert!(is_plain("/tmp/plumb-ssh-copy-12-0/source"));
        for odd in ["/tmp/a b", "/tmp/$x", "/tmp/a;b", "/tmp/*", "/tmp/a'b"] {
            assert!(!is_plain(odd), "{odd}");
        }
    }
}
