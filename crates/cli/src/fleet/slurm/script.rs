//! The script that every job of a fleet runs.

use plumb_text::command_line::{quoted, typed};

use crate::fleet::slurm::folder::FleetFolder;
use crate::fleet::slurm::options::SbatchOptions;

/// Options with which users say how much memory a job gets.
const MEMORY: [&str; 3] = ["mem", "mem-per-cpu", "mem-per-gpu"];

/// What decides the script of a fleet.
pub struct BatchScript<'s> {
    /// The beginning of the fleet's id, as its runs have it in a label.
    pub fleet: &'s str,
    /// The folder that the nodes share.
    pub folder: &'s FleetFolder,
    /// The options of the user.
    pub options: &'s SbatchOptions,
    /// The folder in which the command was typed.
    pub typed_in: &'s str,
    /// What `plumb run` measures, with its options.
    pub run: &'s [String],
}

impl BatchScript<'_> {
    /// The script. Its arguments are the position of the array's first task in the fleet, and the number of the try.
    pub fn text(&self) -> String {
        let mut lines = vec!["#!/bin/sh".to_owned()];
        for directive in self.directives() {
            lines.push(format!("#SBATCH {}", quoted(&directive)));
        }
        lines.push(format!("folder={}", quoted(&self.folder.text())));
        lines.push(BEFORE.trim_end().to_owned());
        let fleet = format!("fleet={}", self.fleet);
        let run = typed(self.run.iter().map(String::as_str));
        lines.push(format!(
            "\"$folder/plumb\" --quiet --store \"$scratch/plumb.db\" run --host \"$SLURMD_NODENAME\" \
             --label {} --label \"slurm_job=$SLURM_JOB_ID\" {run}",
            quoted(&fleet)
        ));
        lines.push(AFTER.to_owned());
        lines.join("\n")
    }

    /// What sbatch reads in the script: the user's options, then those that must not be others.
    fn directives(&self) -> Vec<String> {
        let mut directives = self.options.for_script();
        if !self.options.has_any(&["job-name"]) {
            directives.push(format!("--job-name=plumb-{}", self.fleet));
        }
        if !self.options.has_any(&["chdir"]) {
            // Later tries are submitted from wherever `collect` is typed.
            directives.push(format!("--chdir={}", self.typed_in));
        }
        if !self.options.has_any(&MEMORY) {
            // All memory of the node: --exclusive gives a job all CPUs, but only the memory that it asks for.
            directives.push("--mem=0".to_owned());
        }
        directives
            .extend(["--nodes=1", "--ntasks=1", "--exclusive", "--no-requeue"].map(str::to_owned));
        directives.push(format!("--output={}", self.folder.log_pattern(true)));
        directives
    }
}

/// From the arguments to the measurement.
const BEFORE: &str = r#"name=$(($1 + ${SLURM_ARRAY_TASK_ID:-0})).$2
# sbatch hands on the variables of the machine where it was typed, whose folder may be missing here.
[ -d "${TMPDIR:-}" ] || TMPDIR=/tmp
export TMPDIR
# The store is on the node while plumb measures: a shared file system would disturb, and SQLite needs its locks.
scratch=$(mktemp -d "$TMPDIR/plumb-slurm-XXXXXXXX") || exit 74
trap 'rm -rf "$scratch"' EXIT
# At the time limit, Slurm ends plumb and this shell, which has to remove the folder before. A part of a run is not moved.
trap 'exit 143' TERM INT
# A shared home would show the journals of this node to the others, which would restore settings that are not theirs.
export XDG_STATE_HOME="$scratch/state"
"#;

/// From the measurement to the shared folder. A name without a dot in front means that the store is whole.
const AFTER: &str = r#"code=$?
[ -s "$scratch/plumb.db" ] || exit "$code"
part="$folder/stores/.$name.$SLURM_JOB_ID"
cp "$scratch/plumb.db" "$part" && mv "$part" "$folder/stores/$name.db" || exit 74
exit "$code"
"#;
