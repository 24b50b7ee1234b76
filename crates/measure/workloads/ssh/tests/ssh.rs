//! The family `ssh`, driven as the engine drives it, with a real sshd where the machine lets one run.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use plumb_protocol::{Batch, StartError};
use plumb_workload_ssh::ALL;
use plumb_workload_testing::{
    Lack, TestPoint, alone, assert_ratio, example, fastest_ns, refusal, samples, skip, skip_part,
    unsupported,
};

/// A point in `scratch`, with a stand-in for plumb at the far end.
fn point(scratch: &Path, settings: &[(&str, &str)]) -> TestPoint<'static> {
    let mut point = TestPoint::new(ALL, "ssh.cipher", settings).in_folder(scratch);
    point.start.facts.plumb = example("ssh_sink").display().to_string();
    point
}

/// The point with its fixture.
fn prepared(scratch: &Path) -> TestPoint<'static> {
    let mut point = point(scratch, &[]);
    match point.prepare() {
        Ok(()) => point,
        Err(StartError::Unsupported { why, fix }) => {
            panic!("this test needs an SSH server and client: {why}; {fix}")
        }
        Err(StartError::Failed(why)) => panic!("{why}"),
    }
}

/// Another point that shares the fixture.
fn beside(fixture: &TestPoint, settings: &[(&str, &str)]) -> TestPoint<'static> {
    let mut point = point(Path::new(&fixture.start.scratch), settings);
    point.start.endpoints.clone_from(&fixture.start.endpoints);
    point
}

/// Number of files and folders there.
fn left_in(scratch: &Path) -> usize {
    std::fs::read_dir(scratch).unwrap().count()
}

fn is_alive(pid: &str) -> bool {
    Path::new("/proc").join(pid).exists()
}

#[test]
fn sessions_use_the_cipher_that_was_asked_for_and_count_at_the_far_end() {
    let scratch = tempfile::tempdir().unwrap();
    let mut fixture = prepared(scratch.path());
    for cipher in ["aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com", "aes256-ctr"] {
        let mut started = match beside(&fixture, &[("cipher", cipher)]).try_start() {
            Ok(started) => started,
            Err(StartError::Unsupported { why, .. }) => {
                assert!(why.contains(cipher), "{why}");
                skip_part(cipher, Lack::Hardware(&why));
                continue;
            }
            Err(StartError::Failed(why)) => panic!("{why}"),
        };
        assert!(started.ready.notes[0].contains(cipher), "{:?}", started.ready.notes);
        assert!(started.ready.versions["openssh"].contains("OpenSSH"), "{:?}", started.ready);
        assert!(started.instance.helpers().len() >= 3, "client, server and sink");
        let taken = samples(&mut started, &[1, 200, 3]);
        assert_eq!(taken.iterations, [1, 200, 3]);
        let bytes = taken.iterations.iter().sum::<u64>() * 65_536;
        let elapsed = taken.elapsed_ns.iter().sum::<u64>() as f64 / 1e9 / bytes as f64;
        // The CPU time of a byte differs twentyfold between machines and between batches (2.8e-9 to 5e-8 s were read, with the same
        // cipher), so a fixed limit would be too tight or say nothing. But no process works for longer than the samples last: at the
        // far end each has one thread, and this process and its client have the CPUs. The login before the batch would be too much.
        let far = (started.instance.helpers().len() - 1) as f64;
        let cpus = std::thread::available_parallelism().unwrap().get() as f64;
        for (end, most) in [("far_cpu", far * elapsed), ("near_cpu", cpus * elapsed)] {
            // A byte is copied at least: nobody does that faster than 100 GB/s.
            let found = taken.values[end][1];
            assert!((1e-11..1.1 * most).contains(&found), "{end}: {found} of {most}: {taken:?}");
        }
    }
    let sshd = fixture.start.endpoints["sshd"].clone();
    assert!(is_alive(&sshd));
    fixture.clean();
    assert!(!is_alive(&sshd), "sshd outlives its fixture");
    assert_eq!(left_in(scratch.path()), 0, "keys are left");
}

#[test]
fn twice_the_bytes_take_about_twice_the_time_either_way() {
    let _alone = alone();
    let scratch = tempfile::tempdir().unwrap();
    let fixture = prepared(scratch.path());
    for direction in ["up", "down"] {
        let point = beside(&fixture, &[("direction", direction)]);
        let mut started = point.started();
        assert_ratio(direction, 1.4..2.8, || {
            fastest_ns(&mut started, 80) / fastest_ns(&mut started, 40)
        });
    }
}

#[test]
fn a_server_that_dies_and_a_session_that_does_not_come_up_fail_with_a_reason() {
    let scratch = tempfile::tempdir().unwrap();
    let mut fixture = prepared(scratch.path());
    let mut nowhere = beside(&fixture, &[]);
    nowhere.start.facts.plumb = "/nowhere/plumb".into();
    let why = refusal("no plumb", nowhere.try_start());
    assert!(why.contains("client: ") && why.contains("server: "), "{why}");
    let mut started = fixture.started();
    fixture.clean();
    let mut batch = Batch::with_room(1, &[]);
    let failure = started.instance.batch(&[1000], &mut batch).unwrap_err();
    assert!(failure.0.contains("does not answer"), "{failure}");
}

#[test]
fn a_session_over_a_path_has_its_bandwidth_and_its_own_server() {
    let _alone = alone();
    let scratch = tempfile::tempdir().unwrap();
    let mut point = point(scratch.path(), &[("path", "veth"), ("up", "100Mbit/s")]);
    point.prepare().unwrap_or_else(|error| panic!("{error:?}"));
    point.serve().unwrap_or_else(|error| panic!("{error:?}"));
    let mut started = point.started();
    assert!(started.instance.helpers().len() >= 3, "client, server and sink");
    let told = |what: &str| started.ready.notes.iter().any(|note| note.contains(what));
    assert!(told("network namespaces") && told("CPU time covers both ends"), "{:?}", started.ready);
    // 1,448 bytes of payload in a frame of 1,514; ssh adds a header and an authentication code to each 32 KiB.
    let bytes = 30.0 * 65_536.0;
    let carried = 100e6 / 8.0 * 1448.0 / 1514.0;
    assert_ratio("the bandwidth of the path", 0.9..1.02, || {
        bytes / carried / (fastest_ns(&mut started, 30) / 1e9)
    });
    let server = point.start.endpoints["far.sshd"].clone();
    assert!(is_alive(&server));
    drop(started);
    point.clean();
    assert!(!is_alive(&server), "the far sshd outlives its invocation");
    assert_eq!(left_in(scratch.path()), 0, "keys are left");
}

#[test]
fn samples_over_a_long_path_are_long() {
    let scratch = tempfile::tempdir().unwrap();
    let mut point = point(scratch.path(), &[("path", "veth"), ("rtt", "20ms")]);
    point.prepare().unwrap_or_else(|error| panic!("{error:?}"));
    point.serve().unwrap_or_else(|error| panic!("{error:?}"));
    let shortest_ns = point.started().instance.shortest_sample_ns();
    assert!((400_000_000..2_000_000_000).contains(&shortest_ns), "{shortest_ns}");
    point.clean();
}

#[test]
fn a_cipher_that_is_not_there_is_unsupported() {
    let scratch = tempfile::tempdir().unwrap();
    let mut point = point(scratch.path(), &[]);
    point.start.endpoints =
        [("ciphers", "aes256-ctr"), ("macs", "hmac-sha2-256"), ("openssh", "OpenSSH")]
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .into();
    let (why, fix) = unsupported("a cipher that is not there", point.try_start());
    assert!(why.contains("aes128-gcm"), "{why}");
    assert!(fix.contains("ssh -Q cipher"), "{fix}");
}

#[test]
fn ciphers_of_old_releases_name_the_version_that_dropped_them() {
    let scratch = tempfile::tempdir().unwrap();
    let fixture = prepared(scratch.path());
    for cipher in ["arcfour", "blowfish-cbc"] {
        let (why, fix) = unsupported(cipher, beside(&fixture, &[("cipher", cipher)]).try_start());
        assert!(why.ends_with("OpenSSH dropped it in version 7.6"), "{why}");
        assert!(fix.contains("ssh -Q cipher"), "{fix}");
    }
}

/// A script in `folder` that stands for a program.
fn wrapper(folder: &Path, name: &str, lines: &str) -> String {
    let file = folder.join(name);
    std::fs::write(&file, format!("#!/bin/sh\n{lines}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    file.display().to_string()
}

#[test]
fn programs_of_other_builds_are_used_and_asked_for_their_algorithms() {
    let scratch = tempfile::tempdir().unwrap();
    let programs = tempfile::tempdir().unwrap();
    let client = wrapper(programs.path(), "other-ssh", "exec ssh \"$@\"");
    // A server without one of the ciphers.
    let lacking = "case \"$*\" in *Ciphers=aes256-ctr*) exit 255;; esac\n\
        PATH=$PATH:/usr/sbin\nexec $(command -v sshd) \"$@\"";
    let server = wrapper(programs.path(), "other-sshd", lacking);
    let settings = [("client", client.as_str()), ("server", server.as_str())];
    let mut fixture = point(scratch.path(), &settings);
    fixture.prepare().unwrap_or_else(|error| panic!("{error:?}"));
    let mut started = beside(&fixture, &settings).try_start().map_err(|_| "refused").unwrap();
    // sshd leaves out the part of the distribution.
    let versions = &started.ready.versions;
    assert!(versions["openssh"].starts_with(&versions["server.openssh"]), "{versions:?}");
    assert_eq!(samples(&mut started, &[1]).iterations, [1]);
    drop(started);
    let without = [settings[0], settings[1], ("cipher", "aes256-ctr")];
    let (why, _) = unsupported("a cipher of one end", beside(&fixture, &without).try_start());
    assert!(why.contains("with the server OpenSSH"), "{why}");
    fixture.clean();
    let nowhere = [("server", "/nowhere/sshd")];
    let mut refused = point(scratch.path(), &nowhere);
    let Err(StartError::Unsupported { why, .. }) = refused.prepare() else {
        panic!("a server that is not there was started");
    };
    assert!(why.contains("`server=/nowhere/sshd`"), "{why}");
}

#[test]
fn ends_run_where_the_placement_says() {
    let scratch = tempfile::tempdir().unwrap();
    let mut fixture = prepared(scratch.path());
    let mut point = beside(&fixture, &[("placement", "cross-cpu")]);
    point.start.facts.cpus = vec![0, 1];
    // On a machine with one CPU there is no second one.
    let Ok(started) = point.try_start() else {
        skip(Lack::Hardware("two CPUs"));
        return;
    };
    let cpus: Vec<String> = started.instance.helpers().iter().map(|pid| allowed(*pid)).collect();
    let [ssh, far @ ..] = cpus.as_slice() else { panic!("no helpers") };
    assert!(far.iter().all(|cpu| cpu == &far[0] && cpu != ssh), "{cpus:?}");
    drop(started);
    fixture.clean();
}

/// The CPUs that a process may run on, as the kernel lists them.
fn allowed(pid: u32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.unwrap().trim().to_owned()
}

#[test]
fn compression_is_used_if_asked_for_and_obsolete_ciphers_are_marked() {
    let scratch = tempfile::tempdir().unwrap();
    let mut fixture = prepared(scratch.path());
    let settings = [("compression", "yes"), ("cipher", "aes256-ctr")];
    let mut started = beside(&fixture, &settings).try_start().map_err(|_| "refused").unwrap();
    assert!(started.ready.notes[0].contains("compression: zlib"), "{:?}", started.ready.notes);
    assert_eq!(samples(&mut started, &[1]).iterations, [1]);
    drop(started);
    let cbc = beside(&fixture, &[("cipher", "aes128-cbc")]);
    let started = cbc.try_start().map_err(|_| "refused").unwrap();
    assert!(started.ready.notes[1].starts_with("obsolete"), "{:?}", started.ready.notes);
    drop(started);
    fixture.clean();
}

#[test]
fn logins_are_whole_sessions_with_the_keys_and_the_exchange_that_were_asked_for() {
    let scratch = tempfile::tempdir().unwrap();
    for key in ["ed25519", "ecdsa-p256", "rsa-3072"] {
        let settings = [("key", key), ("kex", "curve25519-sha256"), ("at_once", "2")];
        let mut point = TestPoint::new(ALL, "ssh.login", &settings).in_folder(scratch.path());
        point.start.facts.plumb = example("ssh_sink").display().to_string();
        point.prepare().unwrap();
        let mut started = point.started();
        let taken = samples(&mut started, &[16]);
        let logins = taken.histograms["latency"][0].counts().unwrap();
        assert_eq!(logins.iter().map(|(_, count)| count).sum::<u64>(), 16, "{key}");
        // The client computes a key exchange and a signature: no login takes less CPU time than a millisecond.
        assert!(taken.values["near_cpu"][0] > 1e-3, "{key}: {taken:?}");
        assert!(taken.values["far_cpu"][0] > 1e-3, "{key}: {taken:?}");
        drop(started);
        point.clean();
    }
    let unknown = TestPoint::new(ALL, "ssh.login", &[("kex", "mlkem768x25519-sha256")]);
    let mut unknown = unknown.in_folder(scratch.path());
    unknown.prepare().unwrap();
    // OpenSSH has it since 9.9.
    match unknown.try_start() {
        Err(StartError::Unsupported { why, .. }) => {
            assert!(why.contains("kex mlkem768x25519-sha256"), "{why}");
        }
        Err(StartError::Failed(why)) => panic!("{why}"),
        Ok(mut started) => {
            assert_eq!(samples(&mut started, &[1]).iterations, [1]);
        }
    }
    unknown.clean();
}

/// A copy with its fixture.
fn copying(scratch: &Path, settings: &[(&str, &str)]) -> TestPoint<'static> {
    let mut point = TestPoint::new(ALL, "ssh.copy", settings).in_folder(scratch);
    point.prepare().unwrap_or_else(|error| panic!("{settings:?}: {error:?}"));
    point.serve().unwrap_or_else(|error| panic!("{settings:?}: {error:?}"));
    point
}

#[test]
fn every_program_copies_all_files_either_way_and_removes_them() {
    let scratch = tempfile::tempdir().unwrap();
    for method in ["scp", "sftp", "rsync"] {
        for direction in ["up", "down"] {
            let settings = [
                ("method", method),
                ("direction", direction),
                ("size", "100001"),
                ("files", "7"),
                ("cipher", "aes256-ctr"),
            ];
            let mut point = copying(scratch.path(), &settings);
            let mut started = point.started();
            assert!(started.ready.notes[0].contains("aes256-ctr"), "{:?}", started.ready.notes);
            let taken = samples(&mut started, &[1, 1]);
            assert_eq!(taken.iterations, [1, 1]);
            assert!(taken.values["near_cpu"][0] > 0.0 && taken.values["far_cpu"][0] > 0.0);
            drop(started);
            point.clean();
            assert_eq!(left_in(scratch.path()), 0, "{method} {direction}: something is left");
        }
    }
}

#[test]
fn a_copy_over_a_path_has_its_bandwidth() {
    let _alone = alone();
    let scratch = tempfile::tempdir().unwrap();
    let mut point =
        copying(scratch.path(), &[("path", "veth"), ("up", "40Mbit/s"), ("size", "2MiB")]);
    let mut started = point.started();
    // 1,448 bytes of payload in a frame of 1,514; a login takes 0.1 to 0.3 s more.
    let sending = f64::from(2 << 20) / (40e6 / 8.0 * 1448.0 / 1514.0);
    assert_ratio("the bandwidth of the path", 0.97..2.0, || {
        samples(&mut started, &[1]).elapsed_ns[0] as f64 / 1e9 / sending
    });
    drop(started);
    point.clean();
}

#[test]
fn a_folder_that_a_shell_would_read_differently_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let odd = scratch.path().join("a b");
    std::fs::create_dir(&odd).unwrap();
    let mut point = TestPoint::new(ALL, "ssh.copy", &[]).in_folder(scratch.path());
    point.prepare().unwrap();
    point.start.dir = odd.display().to_string();
    let (why, fix) = unsupported("an odd folder", point.try_start());
    assert!(why.contains("a b") && fix.contains("--dir"), "{why}; {fix}");
    point.clean();
}
