//! `storage.bonnie`: one pass of bonnie++ 2.00a, each of its twelve phases with its rate, CPU share and longest
//! operation.

use std::path::Path;

use plumb_classics::bonnie::parameter::{self, CreatedLinks, Sync};
use plumb_classics::bonnie::{
    DEVICE_SHARE, FILE_SIZE, PHASES, Phase, Requires, WORKLOAD, WRITE_BLOCK,
};
use plumb_model::{AuditClass, Better, Description, Flag, FlagKind, Metric, Ready, Role, SampleIs};
use plumb_protocol::{
    Batch, Failure, Instance, Start, StartError, StartedWorkload, Workload, current_cpu, now_ns,
};
use plumb_units::whole_size;
use plumb_workload_kit::declare::{
    LONG_TIMEOUT_S, between, bytes, choice, headline, integer, reported, reported_share,
    reported_time, text, within, workload,
};
use plumb_workload_kit::device::is_counted;
use plumb_workload_kit::filesystem::{Filesystem, less_size, without_journal};
use plumb_workload_kit::folder::Folder;
use plumb_workload_kit::limits;

use self::many::{Many, ManySettings};
use self::one::{One, OneSettings};
use self::phase::{PhaseProgress, PhaseResult, phases_of};

mod many;
mod one;
mod phase;
mod user;

/// A pass of a size of twice a large memory takes this many seconds at most.
const TIMEOUT_S: u64 = 24 * LONG_TIMEOUT_S;

/// Most files, as for `storage.files`.
const MOST_FILES: usize = 256 << 10;

/// Upper limit of the size of a small file, in bytes.
const LARGEST: usize = 1 << 30;

/// Names of one file that every usual filesystem takes.
const MOST_LINKS: usize = 60_000;

/// Without a size: so many times the memory that plumb may use.
const MEMORIES: u64 = 2;

/// The workload `storage.bonnie`.
pub struct StorageBonnie;

impl Workload for StorageBonnie {
    fn describe(&self) -> Description {
        Description {
            parameters: vec![
                bytes(
                    parameter::SIZE,
                    0,
                    "size of the file; 0: twice the memory that plumb may use",
                ),
                between(
                    256,
                    1 << 20,
                    bytes(parameter::CHUNK, parameter::DEFAULT_CHUNK, "size of a block"),
                ),
                bytes(
                    parameter::BYTE_SIZE,
                    parameter::DEFAULT_BYTE_SIZE,
                    "bytes written and read one by one; 0 skips these phases",
                ),
                integer(
                    parameter::SEEKS,
                    "seeks",
                    parameter::DEFAULT_SEEKS,
                    "random reads; 0 skips the phase",
                ),
                between(
                    1,
                    64,
                    integer(
                        parameter::SEEKERS,
                        "threads",
                        parameter::DEFAULT_SEEKERS,
                        "threads that seek",
                    ),
                ),
                between(
                    0,
                    MOST_FILES,
                    integer(
                        parameter::FILES,
                        "files",
                        parameter::DEFAULT_FILES,
                        "files to create, stat and delete; 0 skips these phases",
                    ),
                ),
                between(0, LARGEST, bytes(parameter::LARGEST, 0, "size of the largest file")),
                bytes(parameter::SMALLEST, 0, "size of the smallest file"),
                integer(
                    parameter::FOLDERS,
                    "folders",
                    parameter::DEFAULT_FOLDERS,
                    "folders that the files are spread over",
                ),
                choice(
                    parameter::LINKS,
                    &CreatedLinks::ALL.map(CreatedLinks::word),
                    "create links instead of files",
                ),
                choice(
                    parameter::SYNC,
                    &Sync::ALL.map(Sync::word),
                    "each: fsync after every change to a file, including blocks modified by a seek (-b)",
                ),
                text(parameter::USER, "", "user to run as, if plumb is root (-u)"),
            ],
            metrics: metrics(),
            roles: vec![Role::Workload],
            sample_is: SampleIs::Process,
            audit_class: Some(AuditClass::Scheduler),
            timeout_s: Some(TIMEOUT_S),
            ..workload(WORKLOAD, "one pass of bonnie++: a large file, random reads, many files")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("bonnie.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let dir = Path::new(&start.dir);
        let filesystem = Filesystem::of(dir)
            .map_err(|error| StartError::Failed(format!("{}: {error}", dir.display())))?;
        let mut ready = Ready::default();
        let size = size(start, filesystem, &mut ready)?;
        let one = one(start, size)?;
        let many = many(start)?;
        // The large file is removed before small files are created, so the larger of both decides.
        let bytes = size.max(one.bytes).max(many.bytes());
        let what = format!("a file of {} and {} files", whole_size(size), many.files);
        filesystem.check_room(dir, &what, bytes, many.files as u64 + 1, &less_size)?;
        if filesystem.in_memory {
            let why = format!("{} is in memory: no device is used", dir.display());
            ready.flags.push(Flag::new(FlagKind::Tmpfs, why));
        }
        if many.files > 0 {
            ready.flags.extend(without_journal(dir));
        }
        // The folder is made before the user changes: the target directory may be root's.
        let folder = Folder::create(dir, "bonnie")?;
        // Each seeker opens the file, and each folder of small files stays open.
        limits::raise_open_files();
        user::become_user(start.text(parameter::USER), folder.path())?;
        let phases = phases_of(|requirement| match requirement {
            Requires::File => true,
            Requires::Bytes => one.bytes > 0,
            Requires::Seeks => one.seeks > 0,
            Requires::Files => many.files > 0,
        });
        let (names, without) = names(&phases);
        ready.without = without;
        let pass = BonniePass { one, many, folder, phases, names, values: Vec::new() };
        Ok(StartedWorkload { instance: Box::new(pass), ready })
    }
}

/// A rate, the CPU share and the longest operation of each phase.
fn metrics() -> Vec<Metric> {
    let mut phases: Vec<&Phase> = PHASES.iter().collect();
    // The first metric is what a workload is about, so it must be one that every pass has.
    let always = phases.remove(WRITE_BLOCK);
    phases.insert(0, always);
    let mut metrics: Vec<Metric> = phases.into_iter().flat_map(metrics_of_phase).collect();
    let size = "size of the file; the default depends on memory and free space";
    metrics.push(reported(FILE_SIZE, "B", Better::Neither, size));
    let share = "share of read_block's data that came from devices rather than memory";
    metrics.push(reported_share(DEVICE_SHARE, Better::Neither, share));
    metrics
}

fn metrics_of_phase(phase: &Phase) -> [Metric; 3] {
    let unit = if phase.counts_bytes { "B/s" } else { "ops/s" };
    let rate = reported(phase.name, unit, Better::Higher, phase.summary);
    let share = "share of one CPU, user and system, during the phase";
    [
        headline(rate),
        reported_share(phase.cpu, Better::Neither, share),
        reported_time(phase.latency, "longest operation of the phase"),
    ]
}

/// The size of the file, in bytes: as asked for, or twice the memory, as far as there is room.
fn size(start: &Start, filesystem: Filesystem, ready: &mut Ready) -> Result<u64, StartError> {
    let chunk = start.size(parameter::CHUNK) as u64;
    let asked = start.integer(parameter::SIZE);
    // Phases move whole chunks only, so that rates count what was moved.
    if asked > 0 {
        return Ok(asked / chunk * chunk);
    }
    let memory = start.facts.memory_bytes;
    if memory == 0 {
        let why = "the amount of memory is unknown, so there is no default size";
        return Err(StartError::unsupported(why, "set a size: -p size=8GiB"));
    }
    // A file of the size of the memory would be read from the page cache in large part.
    let wanted = memory.saturating_mul(MEMORIES);
    let room = filesystem.free_bytes / 5 * 4;
    if wanted > room {
        let why = format!(
            "a file of {} (80 % of the free space) instead of {} (twice the memory)",
            whole_size(room),
            whole_size(wanted)
        );
        ready.flags.push(Flag::new(FlagKind::Capped, why));
    }
    Ok(wanted.min(room) / chunk * chunk)
}

fn one(start: &Start, size: u64) -> Result<OneSettings, StartError> {
    let chunk = start.size(parameter::CHUNK);
    if size < 2 * chunk as u64 {
        let why = format!("`size` is {size} bytes; it must be at least two chunks of {chunk}");
        return Err(StartError::Failed(why));
    }
    Ok(OneSettings {
        size,
        chunk,
        bytes: start.integer(parameter::BYTE_SIZE),
        seeks: start.integer(parameter::SEEKS),
        seekers: start.size(parameter::SEEKERS),
        sync: Sync::of_word(start.text(parameter::SYNC)) == Sync::Each,
        seed: start.seed,
    })
}

fn many(start: &Start) -> Result<ManySettings, StartError> {
    let files = start.size(parameter::FILES);
    let folders = within(start, parameter::FOLDERS, 1, files.max(1))?;
    let largest = start.size(parameter::LARGEST);
    let smallest = start.size(parameter::SMALLEST);
    if smallest > largest {
        let why = format!("`smallest` ({smallest} bytes) is more than `largest` ({largest} bytes)");
        return Err(StartError::Failed(why));
    }
    let links = CreatedLinks::of_word(start.text(parameter::LINKS));
    if links == CreatedLinks::Hard && files > MOST_LINKS {
        let why = format!("{files} hard links to one file are more than filesystems allow");
        return Err(StartError::unsupported(why, format!("set `files` to {MOST_LINKS} or less")));
    }
    Ok(ManySettings {
        files,
        folders,
        smallest,
        largest,
        links,
        sync: Sync::of_word(start.text(parameter::SYNC)) == Sync::Each,
        seed: start.seed,
    })
}

/// The names of the values that a pass of these phases reports, and those that it lacks.
fn names(phases: &[&'static Phase]) -> (&'static [&'static str], Vec<String>) {
    let mut names: Vec<&'static str> = Vec::new();
    let mut without: Vec<String> = Vec::new();
    for phase in &PHASES {
        let of_phase = [phase.name, phase.cpu, phase.latency];
        if phases.contains(&phase) {
            names.extend(of_phase);
        } else {
            without.extend(of_phase.map(str::to_owned));
        }
    }
    names.push(FILE_SIZE);
    if is_counted() {
        names.push(DEVICE_SHARE);
    } else {
        without.push(DEVICE_SHARE.to_owned());
    }
    // The names of values are static; a process leaks this list once.
    (names.leak(), without)
}

/// One pass, once.
struct BonniePass {
    one: OneSettings,
    many: ManySettings,
    folder: Folder,
    phases: Vec<&'static Phase>,
    names: &'static [&'static str],
    values: Vec<f64>,
}

impl BonniePass {
    fn note(&mut self, results: &[PhaseResult]) {
        self.values.extend(results.iter().flat_map(PhaseResult::values));
    }

    /// All phases once. What each leaves is noted.
    fn pass(&mut self, batch: &mut Batch<'_>) -> Result<(), Failure> {
        self.values.clear();
        let phases = self.phases.clone();
        let mut progress = PhaseProgress::new(&phases, batch);
        let one = One::new(self.folder.path(), self.one.clone());
        let (results, device_share) = one.pass(&mut progress)?;
        self.note(&results);
        if self.many.files > 0 {
            let many = Many::new(self.folder.path(), self.many.clone())?;
            let results = many.pass(&mut progress)?;
            self.note(&results);
        }
        #[expect(clippy::cast_precision_loss, reason = "sizes of files stay below 2^53")]
        self.values.push(self.one.size as f64);
        self.values.extend(device_share);
        Ok(())
    }
}

impl Instance for BonniePass {
    fn run(&mut self, _: u64) -> Result<(), Failure> {
        self.pass(&mut Batch::with_room(0, &[]))
    }

    /// A pass is the sample. Each phase has its own time, so what is said between them is in none of these.
    fn batch(&mut self, iterations: &[u64], batch: &mut Batch<'_>) -> Result<(), Failure> {
        for &count in iterations {
            let begun_ns = now_ns();
            self.pass(batch)?;
            let elapsed_ns = now_ns() - begun_ns;
            batch.record(begun_ns, elapsed_ns, count, current_cpu());
            batch.record_reported(|row| self.values(row));
        }
        Ok(())
    }

    /// Each phase checked its own work; all phases have reported.
    fn verify(&mut self) -> Result<(), Failure> {
        if self.values.len() == self.names.len()
            && self.values.iter().all(|value| value.is_finite())
        {
            return Ok(());
        }
        Err(Failure(format!("{} values instead of {}", self.values.len(), self.names.len())))
    }

    fn value_names(&self) -> &'static [&'static str] {
        self.names
    }

    fn values(&mut self, out: &mut [f64]) {
        out.iter_mut().zip(&self.values).for_each(|(out, value)| *out = *value);
    }

    fn fixed_iterations(&self) -> bool {
        true
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.folder.remove()
    }
}
