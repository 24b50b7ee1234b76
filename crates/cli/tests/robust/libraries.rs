//! `plumb exec --libraries` and `--cold`: what the start of a command loads, and starts without it in memory.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use plumb_workload_testing::{Lack, skip};
use serde_json::Value;

use crate::common::processes::{PATIENCE, describe, family, wait_for};
use crate::common::{TestEnvironment, ran};
use crate::{exec, is_root, last, parsed, place, results};

/// Perl with a module that dlopens a library, which needs some more.
const WITH_LIBRARY: &str = "perl -Mwarnings -Mstrict -MRRDs -e \"\"";
const WITHOUT: &str = "perl -Mwarnings -Mstrict -e \"\"";

fn listed(start_up: &Value) -> BTreeSet<PathBuf> {
    let files = start_up["files"].as_array().unwrap();
    let paths: BTreeSet<PathBuf> =
        files.iter().map(|file| PathBuf::from(file["path"].as_str().unwrap())).collect();
    assert_eq!(paths.len(), files.len(), "each file once: {files:?}");
    paths
}

/// The ELF files that strace sees mapped: `mmap(NULL, 8, PROT_READ, MAP_PRIVATE, 3</lib/a.so>, 0) = 0x7f01`. The kernel maps
/// the program and its loader, which strace does not show.
fn seen_by_strace(place: &TestEnvironment, words: &[&str]) -> BTreeSet<PathBuf> {
    let log = place.cwd().join("strace");
    let mut strace = place.program("strace");
    strace.args(["-f", "-y", "-e", "trace=mmap", "-o"]).arg(&log).args(words);
    ran(&mut strace).unwrap().exits(0);
    let text = fs::read_to_string(&log).unwrap();
    let mapped = text.lines().filter(|line| !line.contains(" = -1 "));
    let mut files = BTreeSet::new();
    for line in mapped {
        let named = line.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
        if let Some((path, _)) = named
            && fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"))
        {
            files.insert(PathBuf::from(path));
        }
    }
    files
}

#[test]
fn the_lists_are_those_of_strace_and_differences_are_shown_in_ms_and_per_cent() {
    let place = place();
    if !runs(&place, "strace -V") || !runs(&place, "perl -MRRDs -e 1") {
        // The script that promises strace also installs the module.
        skip(Lack::Tool("strace"));
        return;
    }
    let shown = exec(&place, "-n 10 -q --libraries", &[WITHOUT, WITH_LIBRARY]).exits(0);
    shown.shows(&["Start-up: ELF files", "relocations that the first does not map", "librrd"]);
    let document = last(&place);
    let start_ups = document["start_ups"].as_array().unwrap();
    assert_eq!(start_ups.len(), 2, "{start_ups:?}");
    let perl = fs::canonicalize("/usr/bin/perl").unwrap();
    let words: [&[&str]; 2] = [
        &["perl", "-Mwarnings", "-Mstrict", "-e", ""],
        &["perl", "-Mwarnings", "-Mstrict", "-MRRDs", "-e", ""],
    ];
    for (start_up, words) in start_ups.iter().zip(words) {
        let listed = listed(start_up);
        let seen = seen_by_strace(&place, words);
        let unseen: Vec<&PathBuf> = listed.difference(&seen).collect();
        assert_eq!(seen.difference(&listed).count(), 0, "{listed:?} lacks some of {seen:?}");
        assert_eq!(unseen.len(), 2, "the program and its loader: {unseen:?}");
        assert!(unseen.contains(&&perl), "{unseen:?}");
        // This is glibc, whose loader reports what it did.
        let share = start_up["loader_share"].as_f64().unwrap();
        assert!(share > 0.0 && share < 1.0, "{start_up}");
        let done = start_up["relocations_at_exit"].as_u64().unwrap();
        assert!(done >= start_up["relocations_at_start"].as_u64().unwrap(), "{start_up}");
        assert!(start_up["relocations"].as_u64().unwrap() > 1000, "{start_up}");
    }
    let line = shown_difference(&place);
    assert!(line.contains(" ms, +") && line.contains(" % ["), "{line}");
}

/// Whether a command can be started and succeeds.
fn runs(place: &TestEnvironment, command: &str) -> bool {
    let words: Vec<&str> = command.split(' ').collect();
    let output = place.program(words[0]).args(&words[1..]).output();
    output.is_ok_and(|output| output.status.success())
}

/// What is said of the second command next to the first.
fn shown_difference(place: &TestEnvironment) -> String {
    let text = place.run("show last --full").unwrap().exits(0).stdout;
    let compared = text.split("Compared with").nth(1).unwrap_or_default();
    compared.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_library_that_is_opened_by_its_absolute_path_is_listed() {
    let place = place();
    let library = place.cwd().join("opened.so");
    let source =
        place.write("opened.c", "int *at(void) { static int kept; return &kept; }\n").unwrap();
    compile(&place, &["-shared", "-fPIC"], &source, &library);
    let source = "#include <dlfcn.h>\nint main(int n, char **words) { \
                  void *opened = dlopen(words[1], RTLD_NOW); return !opened || dlclose(opened); }\n";
    let source = place.write("opens.c", source).unwrap();
    let program = place.cwd().join("opens");
    compile(&place, &["-ldl"], &source, &program);
    // Also in a child of a shell, and although it is closed again before the end.
    let command = format!("sh -c '{} {}; true'", program.display(), library.display());
    exec(&place, "-n 2 -q --libraries", &[&command]).exits(0);
    let listed = listed(&last(&place)["start_ups"][0]);
    assert!(listed.contains(&fs::canonicalize(library).unwrap()), "{listed:?}");
    assert!(listed.contains(&fs::canonicalize(program).unwrap()), "{listed:?}");
}

fn compile(place: &TestEnvironment, options: &[&str], source: &Path, result: &Path) {
    let mut cc = place.program("cc");
    cc.arg(source).args(options).arg("-o").arg(result);
    ran(&mut cc).unwrap().exits(0);
}

#[test]
fn a_static_program_has_one_file_and_no_loader() {
    let place = place();
    let source = place.write("static.c", "int main(void) { return 0; }\n").unwrap();
    let program = place.cwd().join("static");
    compile(&place, &["-static"], &source, &program);
    let command = program.display().to_string();
    exec(&place, "-n 2 -q --libraries", &[&command]).exits(0).shows(&[
        "1 file, ",
        "loader: unsupported: no process of the command was loaded by glibc's loader",
    ]);
    assert_eq!(listed(&last(&place)["start_ups"][0]).len(), 1);
}

#[test]
fn a_cold_start_reads_its_files_again_and_says_what_stayed_in_memory() {
    let place = place();
    let source = place.write("program.c", "int main(void) { return 0; }\n").unwrap();
    let program = place.cwd().join("program");
    compile(&place, &[], &source, &program);
    let command = program.display().to_string();
    if !is_root() {
        exec(&place, "-n 2 -q --cold", &[&command]).exits(3).shows(&["a cold start needs root"]);
        return;
    }
    let cold = exec(&place, "-n 4 -q --cold", &[&command]);
    if fs::read_to_string("/proc/self/mountinfo")
        .is_ok_and(|mounts| is_in_memory(&mounts, &program))
    {
        // The C library is not in memory only, so there is a cold start of it, and the program stays.
        cold.exits(0).shows(&["partly-warm"]);
        return;
    }
    cold.exits(0);
    let document = last(&place);
    let faults = results(&document, "major_faults")[0]["estimate"].as_f64().unwrap();
    assert!(faults >= 1.0, "{faults} page faults with I/O");
    let series = results(&document, "wall")[0]["series"].as_str().unwrap();
    assert!(series.contains("cold=yes"), "{series}");
    let shown = place.run("show last --all").unwrap().exits(0);
    shown.shows(&["ELF files dropped from memory before each run"]);
}

/// Whether a file lies on a filesystem in memory.
fn is_in_memory(mounts: &str, file: &Path) -> bool {
    let mut found = ("", "");
    for line in mounts.lines() {
        let point = line.split(' ').nth(4).unwrap_or("/");
        let kind = line.split(" - ").nth(1).and_then(|rest| rest.split(' ').next());
        if file.starts_with(point) && point.len() >= found.0.len() {
            found = (point, kind.unwrap_or(""));
        }
    }
    found.1 == "tmpfs"
}

#[test]
fn kill_9_of_plumb_while_it_traces_leaves_nothing() {
    let place = place();
    let mut plumb = place.marked("exec -n 2 --no-lock --libraries");
    plumb.arg("sh -c 'setsid sleep 304 & sleep 305'").stdout(Stdio::null()).stderr(Stdio::null());
    let mut plumb = plumb.spawn().unwrap();
    let is_traced = || {
        let all = family(plumb.id());
        all.into_iter().find(|(pid, _)| describe(*pid).contains("sleep 305") && has_tracer(*pid))
    };
    wait_for(PATIENCE, is_traced).expect("a traced command");
    plumb.kill().unwrap();
    plumb.wait().unwrap();
    wait_for(PATIENCE, || place.leftovers().is_empty().then_some(()));
    assert_eq!(place.leftovers(), [""; 0]);
}

fn has_tracer(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("TracerPid:") && !line.ends_with("\t0"))
}

#[test]
fn a_preloaded_library_is_compared_in_pairs_and_one_that_is_missing_is_unsupported() {
    let place = place();
    let run = "run process.library --no-lock -q --json --max-invocations 10";
    let document = parsed(&place.run(run).unwrap().exits(0));
    let value = |metric: &str| results(&document, metric)[0]["estimate"].as_f64().unwrap();
    assert!(value("added") < value("with"), "{document}");
    assert!(value("without") > 0.0, "{document}");
    let missing = format!("{run} -p library=/no/such.so");
    place.run(&missing).unwrap().exits(3).shows(&["maps no further file with LD_PRELOAD="]);
}
