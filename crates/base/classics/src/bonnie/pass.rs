//! A pass of bonnie++: its names and its twelve phases.

/// The workload of plumb that does a pass of bonnie++ 2.00a.
pub const WORKLOAD: &str = "storage.bonnie";

/// A whole pass, as the import of results names it.
pub const IMPORTED_PASS: &str = "bonnie.pass";

/// The label of a run that holds the name of the machine (`-m`), which the CSV repeats.
pub const NAME_LABEL: &str = "name";

/// The metric of the size of the large file, in bytes.
pub const FILE_SIZE: &str = "file_size";

/// The metric of how much of what `read_block` read came from a device, as a share; the rest came from memory.
pub const DEVICE_SHARE: &str = "device_share";

/// The id of a single phase, as the import of results names it: `bonnie.seek`.
#[must_use]
pub fn imported_phase(name: &str) -> String {
    format!("bonnie.{name}")
}

/// The argument that a pass needs to run a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requires {
    /// The large file, which every pass has.
    File,
    /// Bytes that are moved one by one.
    Bytes,
    /// A number of random reads.
    Seeks,
    /// A number of small files.
    Files,
}

/// A phase, with the names of the metrics that it has.
#[derive(Debug, PartialEq, Eq)]
pub struct Phase {
    /// The metric of its rate: bytes or operations per second. This is also the name of the phase.
    pub name: &'static str,
    /// The metric of its CPU time, user and system, as a share of one CPU.
    pub cpu: &'static str,
    /// The metric of its longest operation, in seconds.
    pub latency: &'static str,
    /// Its meaning in bonnie++ 2.00a and in plumb's workload.
    pub summary: &'static str,
    /// What it does in every version whose CSV is imported: 1.03 moves bytes through stdio.
    pub imported: &'static str,
    /// Whether its rate counts bytes, or operations.
    pub counts_bytes: bool,
    /// The argument that it needs to run.
    pub requires: Requires,
}

macro_rules! phase {
    ($name:literal, $requires:ident, $bytes:literal, $summary:literal, $imported:literal) => {
        Phase {
            name: $name,
            cpu: concat!($name, "_cpu"),
            latency: concat!($name, "_latency"),
            summary: $summary,
            imported: $imported,
            counts_bytes: $bytes,
            requires: Requires::$requires,
        }
    };
}

/// All phases, in the order in which a pass runs them and the CSV lists them.
pub const PHASES: [Phase; 12] = [
    phase!(
        "write_byte",
        Bytes,
        true,
        "writes byte by byte, one write call each",
        "writes a file byte by byte"
    ),
    phase!(
        "write_block",
        File,
        true,
        "writes the file in blocks, including fsync",
        "writes a file in blocks, fsync included"
    ),
    phase!(
        "rewrite",
        File,
        true,
        "reads, changes and writes each block; the size counts once",
        "reads, changes and writes each block; the size counts once"
    ),
    phase!(
        "read_byte",
        Bytes,
        true,
        "reads byte by byte, one read call each",
        "reads a file byte by byte"
    ),
    phase!(
        "read_block",
        File,
        true,
        "reads the file in blocks, through the page cache",
        "reads a file in blocks, through the page cache"
    ),
    phase!(
        "seek",
        Seeks,
        false,
        "reads random blocks, and writes every tenth back",
        "reads random blocks, and writes every tenth back"
    ),
    phase!(
        "create_sequential",
        Files,
        false,
        "creates files in order, including sync(2)",
        "creates files in order, including sync(2)"
    ),
    phase!(
        "stat_sequential",
        Files,
        false,
        "stats files in directory order",
        "stats files in order"
    ),
    phase!(
        "delete_sequential",
        Files,
        false,
        "deletes files in the same order, including sync(2)",
        "deletes files in order, sync(2) included"
    ),
    phase!(
        "create_random",
        Files,
        false,
        "creates files in random order, including sync(2)",
        "creates files in random order, including sync(2)"
    ),
    phase!(
        "stat_random",
        Files,
        false,
        "stats files in random order",
        "stats files in random order"
    ),
    phase!(
        "delete_random",
        Files,
        false,
        "deletes files in random order, including sync(2)",
        "deletes files in random order, including sync(2)"
    ),
];

/// How many of the phases, from the first, work on the one large file. The others work on many files.
pub const ON_FILE: usize = 6;

/// The index of the phase that every pass has and that it is mainly about.
pub const WRITE_BLOCK: usize = 1;

/// The index of the first phase on many files.
pub const CREATE_SEQUENTIAL: usize = ON_FILE;

#[cfg(test)]
mod tests {
    use super::{ON_FILE, PHASES, Requires, WRITE_BLOCK};

    #[test]
    fn indices_and_requirements_agree() {
        for (index, phase) in PHASES.iter().enumerate() {
            assert_eq!(phase.requires != Requires::Files, index < ON_FILE, "{}", phase.name);
        }
        assert_eq!(PHASES[WRITE_BLOCK].name, "write_block");
        assert_eq!(PHASES[WRITE_BLOCK].requires, Requires::File);
    }
}
