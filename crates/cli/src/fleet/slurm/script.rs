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

    /// What sbatch reads in the script. The user's options are arguments of sbatch.
    fn directives(&self) -> Vec<String> {
        let mut directives = Vec::new();
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
# sbatch exports the environment of the submit host; its TMPDIR may not exist here.
[ -d "${TMPDIR:-}" ] || TMPDIR=/tmp
export TMPDIR
# Keep the store on the node while measuring: a shared file system disturbs, and may lack the locks that SQLite needs.
scratch=$(mktemp -d "$TMPDIR/plumb-slurm-XXXXXXXX") || exit 74
trap 'rm -rf "$scratch"' EXIT
# At the time limit, Slurm terminates plumb and this shell: remove the folder first, and do not copy an incomplete run.
trap 'exit 143' TERM INT
# With a shared home, other nodes would find this node's journals, and restore the wrong settings.
export XDG_STATE_HOME="$scratch/state"
# Another architecture, or an older C library.
"$folder/plumb" --version >/dev/null || exit 126
"#;

/// From the measurement to the shared folder. A name without a dot in front means that the store is complete.
const AFTER: &str = r#"code=$?
# A plumb that was killed has not closed its store; what is in its log would be lost.
{ [ "$code" -lt 126 ] && [ -s "$scratch/plumb.db" ] && [ ! -e "$scratch/plumb.db-wal" ]; } || exit "$code"
part="$folder/stores/.$name.$SLURM_JOB_ID"
cp "$scratch/plumb.db" "$part" && mv "$part" "$folder/stores/$name.db" || exit 74
exit "$code"
"#;
