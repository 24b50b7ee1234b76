//! Workloads that run next to a measured one on purpose (`--with`).

use crate::place;

#[test]
fn loads_that_report_values_of_their_own_stream_for_a_whole_run() {
    let place = place();
    let loads = "--with storage.random:size=1MiB --with storage.sequential:size=1MiB --with \
                 datastore.batch:entities=10";
    // Longer than a second, in which each load sends what it reports once.
    let run = format!("run cpu.sieve:limit=1000 {loads} --dir ../work --budget 2s --no-lock -q");
    place.run(&run).unwrap().exits(0).shows(&["complete", "with-load"]);
}
