//! What can be typed.

/// All chores with their options.
pub const USAGE: &str = "\
usage: cargo xtask CHORE

  validate [--replications N] [--only GROUP] [--write FILE]
      measure every statistical bar in simulation (N replications a cell, 2000 unless given);
      fails if one is missed, or if the method is spoiled on purpose and none is;
      --only measures one group of bars, and --write then replaces its rows
  soak [--kills N] [--from N] [--write FILE]
      kill -9 plumb at many moments of a run (100 unless given) and write docs/soak.md; fails if
      anything that was promised did not hold
  headtohead [--minutes N] [--continue] [--results FILE] [--write FILE] [--seed N] [--quick]
      plumb against hyperfine, criterion and tango on programs with known differences and on copies linked
      again, for N minutes (50 unless given; 0 only counts what there is); --continue goes on with the results
      of earlier calls of the same build of plumb
  gates [--minutes N] [--continue] [--results FILE] [--write FILE]
      `plumb ab --prove` of programs and themselves for N minutes (50 unless given): false gates, planted
      work that was found, abstentions
  traces record --write FILE [--minutes N] [--beside bursty|full]
      record how fast this machine does fixed work, and short commands, for N minutes (30 unless given),
      alone or next to a process that burns a CPU
  test [--record | BINARY]
      build and run all tests, several test binaries at once; or those whose name has BINARY; list what was
      skipped; --record adds the tests that needed a rerun to .ci/reruns.tsv
  dependencies [--write]
      licences, sources and versions of what plumb uses (deny.toml), what nothing uses, and the notices in
      THIRD-PARTY.md, which --write writes
  kernels [FAMILY...]
      read the release assembly of timed loops, of these families or all, and hold it against each family's
      kernels.toml; fails with the function, the rule and the instruction that breaks it
  tables
      print the critical values of the change-point statistic anew";
