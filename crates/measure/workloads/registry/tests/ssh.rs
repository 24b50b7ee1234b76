//! The ssh workload, driven through its traits as the engine drives it, with a real sshd where the
//! machine lets one run.
#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use plumb_model::{Facts, Point, Role, Samples, Settings, Value};
use plumb_protocol::{Batch, Held, Instance, Start, StartError, Started, Workload};

fn workload() -> &'static dyn Workload {
    plumb_workloads::find("ssh.cipher").expect("it is registered")
}

/// A stand-in for the plumb binary: this test program again, running only the test below.
fn sink(folder: &Path) -> PathBuf {
    let test = std::env::current_exe().expect("this test is a program");
    let script = format!(
        "#!/bin/sh\n{SINK}=1 exec '{}' -q --nocapture --exact far_end_of_a_session\n",
        test.display()
    );
    let path = folder.join("plumb");
    std::fs::write(&path, script).expect("written");
    let runnable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, runnable).expect("made a program");
    path
}

/// Set where the test below is to be the far end of a session.
const SINK: &str = "PLUMB_TEST_SSH_SINK";

#[test]
fn far_end_of_a_session() {
    if std::env::var_os(SINK).is_some() {
        plumb_workloads::ssh_sink().expect("the session ends between frames");
    }
}

fn start_of(scratch: &Path, settings: &[(&str, &str)]) -> Start {
    let given: Settings =
        settings.iter().map(|(k, v)| ((*k).to_owned(), Value::Text((*v).to_owned()))).collect();
    let point = Point::new(&workload().describe(), &given, 1).expect("the point is valid");
    let plumb = sink(scratch).display().to_string();
    Start {
        role: Role::Workload,
        params: point.settings,
        dir: "/nowhere".into(),
        scratch: scratch.display().to_string(),
        seed: 42,
        endpoints: [].into(),
        facts: Facts { plumb, ..Facts::default() },
    }
}

/// The fixture with the start that names its endpoints.
fn fixture(scratch: &Path) -> (Start, Box<dyn Held>) {
    let mut start = start_of(scratch, &[]);
    match workload().prepare(&start) {
        Ok((ready, held)) => {
            start.endpoints = ready.endpoints;
            (start, held)
        }
        Err(StartError::Unsupported { why, fix }) => {
            panic!("this test needs an SSH server and client: {why}; {fix}")
        }
        Err(StartError::Failed(why)) => panic!("{why}"),
    }
}

fn open(fixture: &Start, settings: &[(&str, &str)]) -> Result<Started, StartError> {
    let mut start = start_of(Path::new(&fixture.scratch), settings);
    start.endpoints.clone_from(&fixture.endpoints);
    workload().start(&start)
}

fn sample(instance: &mut dyn Instance, iterations: &[u64]) -> Samples {
    let mut batch = Batch::with_room(iterations.len(), &[]);
    instance.batch(iterations, &mut batch).expect("the batch worked");
    instance.verify().expect("the result is right");
    let samples = batch.finish().0;
    samples.check().expect("the columns fit");
    samples
}

/// Files and folders beside the stand-in.
fn left_in(scratch: &Path) -> usize {
    std::fs::read_dir(scratch).expect("it is there").count() - 1
}

fn is_alive(pid: &str) -> bool {
    Path::new("/proc").join(pid).exists()
}

#[test]
fn sessions_use_the_cipher_that_was_asked_for_and_count_at_the_far_end() {
    let scratch = tempfile::tempdir().unwrap();
    let (fixture, held) = fixture(scratch.path());
    for cipher in ["aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com", "aes256-ctr"] {
        let mut started = match open(&fixture, &[("cipher", cipher)]) {
            Ok(started) => started,
            Err(StartError::Unsupported { why, .. }) => {
                assert!(why.contains(cipher), "{why}");
                continue;
            }
            Err(StartError::Failed(why)) => panic!("{why}"),
        };
        assert!(started.ready.notes[0].contains(cipher), "{:?}", started.ready.notes);
        assert!(started.ready.versions["openssh"].contains("OpenSSH"), "{:?}", started.ready);
        assert!(started.instance.helpers().len() >= 3, "client, server and sink");
        sample(started.instance.as_mut(), &[1, 20, 3]);
    }
    let sshd = fixture.endpoints["sshd"].clone();
    assert!(is_alive(&sshd));
    held.clean().expect("the fixture ends");
    assert!(!is_alive(&sshd), "sshd outlives its fixture");
    assert_eq!(left_in(scratch.path()), 0, "keys are left");
}

#[test]
fn twice_the_bytes_take_about_twice_the_time() {
    let scratch = tempfile::tempdir().unwrap();
    let (fixture, _held) = fixture(scratch.path());
    let mut started = open(&fixture, &[]).map_err(|e| format!("{e:?}")).expect("it starts");
    let mut least = |k: u64| {
        let samples = sample(started.instance.as_mut(), &[k; 8]);
        samples.elapsed_ns.into_iter().min().unwrap_or(0)
    };
    let mut ratios = Vec::new();
    for _ in 0..6 {
        #[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
        let ratio = 1.0 / least(60) as f64 * least(120) as f64;
        if (1.4..2.8).contains(&ratio) {
            return;
        }
        ratios.push(ratio);
    }
    panic!("twice the work took {ratios:?} times as long");
}

#[test]
fn a_server_that_dies_and_a_session_that_does_not_come_up_fail_with_a_reason() {
    let scratch = tempfile::tempdir().unwrap();
    let (fixture, held) = fixture(scratch.path());
    let mut nowhere = fixture.clone();
    nowhere.facts.plumb = "/nowhere/plumb".into();
    let Err(StartError::Failed(why)) = workload().start(&nowhere) else { panic!("it started") };
    assert!(why.contains("client: ") && why.contains("server: "), "{why}");
    let mut started = open(&fixture, &[]).map_err(|e| format!("{e:?}")).expect("it starts");
    drop(held);
    let mut batch = Batch::with_room(1, &[]);
    let failure = started.instance.batch(&[1000], &mut batch).expect_err("nobody answers");
    assert!(failure.0.contains("does not answer"), "{failure}");
}

#[test]
fn a_cipher_that_is_not_there_is_unsupported() {
    let scratch = tempfile::tempdir().unwrap();
    let mut start = start_of(scratch.path(), &[]);
    start.endpoints =
        [("ciphers", "aes256-ctr"), ("macs", "hmac-sha2-256"), ("openssh", "OpenSSH")]
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .into();
    let Err(StartError::Unsupported { why, fix }) = workload().start(&start) else {
        panic!("it is there");
    };
    assert!(why.contains("aes128-gcm"), "{why}");
    assert!(fix.contains("ssh -Q cipher"), "{fix}");
}

#[test]
fn the_manual_names_every_parameter_and_metric() {
    let (manual, description) = (workload().manual(), workload().describe());
    for parameter in &description.parameters {
        assert!(manual.contains(&format!("`{}`", parameter.name)), "{}", parameter.name);
    }
    for metric in &description.metrics {
        assert!(manual.contains(&format!("`{}`", metric.name)), "{}", metric.name);
    }
}
