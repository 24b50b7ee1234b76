//! What a statically linked plumb measures of the system's OpenSSL. It cannot load libcrypto, so it starts the installed
//! `openssl speed -mr` (openssl-speed(1)), which counts operations by itself: one process per sample.

use std::process::{Command, Stdio};

use plumb_model::{Flag, FlagKind, Ready};
use plumb_protocol::{
    Batch, Failure, Instance, Start, StartError, StartedWorkload, current_cpu, now_ns,
};
use plumb_workload_kit::placement::Placement;
use plumb_workload_kit::processes::die_with_parent;
use plumb_workload_kit::spawn::find_program;
use plumb_workload_kit::{declare, ended};

/// How long one process measures; the shortest time that `-seconds` takes.
const SECONDS: &str = "1";

/// A test of `openssl speed`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SpeedTest {
    /// The arguments that choose it.
    pub(super) arguments: Vec<String>,
    /// The first field of the line that has its count and its seconds, as OpenSSL's apps/speed.c prints them.
    pub(super) line: &'static str,
}

impl SpeedTest {
    /// A test that encrypts or hashes messages of the size that `bytes` says.
    pub(super) fn of_messages(start: &Start, options: &[&str]) -> Self {
        let bytes = start.integer("bytes").to_string();
        let mut arguments = vec!["-bytes".to_owned(), bytes];
        arguments.extend(options.iter().map(|option| (*option).to_owned()));
        Self { arguments, line: "+R" }
    }

    fn command(&self, accelerated: bool) -> Command {
        let mut command = Command::new("openssl");
        command.args(["speed", "-mr", "-elapsed", "-seconds", SECONDS]).args(&self.arguments);
        if !accelerated {
            command.env("OPENSSL_ia32cap", crate::libcrypto::NO_ACCELERATION);
        }
        command.stdin(Stdio::null());
        die_with_parent(&mut command);
        command
    }
}

/// Whether `provider=system` has to be measured by `openssl speed`.
pub(super) fn is_needed(start: &Start) -> bool {
    cfg!(target_feature = "crt-static") && start.text("provider") == "system"
}

/// Measures this test; `amounts` is the work of one operation.
///
/// # Errors
/// Unsupported if there is no openssl, or it cannot do what the parameters ask for.
pub(super) fn started(
    start: &Start,
    amounts: &[(&str, u64)],
    test: SpeedTest,
) -> Result<StartedWorkload, StartError> {
    find_program("openssl").map_err(|_| {
        StartError::unsupported(
            "a statically linked plumb measures the installed `openssl speed`, and openssl is not installed",
            "install it: apt install openssl",
        )
    })?;
    let refused = [
        ("library", !start.text("library").is_empty(), "cannot load a library"),
        ("threads", start.integer("threads") > 1, "measures one thread of `openssl speed`"),
        ("placement", Placement::of(start)? != Placement::Free, "does not pin `openssl speed`"),
    ];
    for (parameter, is_asked_for, why) in refused {
        if is_asked_for {
            return Err(StartError::unsupported(
                format!("a statically linked plumb {why}"),
                format!("leave out `{parameter}`, or use a plumb from `cargo build --release`"),
            ));
        }
    }
    let mut ready = Ready { work: declare::work(amounts), ..Ready::default() };
    let version = version()?;
    let what = format!(
        "measured by the installed `openssl speed` of OpenSSL {version}, one process per sample: a statically linked \
         plumb cannot load libcrypto"
    );
    ready.flags.push(Flag::new(FlagKind::OpensslSpeed, what));
    ready.versions.insert("openssl".into(), version);
    let accelerated = start.text("acceleration") != "off";
    Ok(StartedWorkload { instance: Box::new(SpeedProcesses { test, accelerated }), ready })
}

/// The error of a test that `openssl speed` does not have.
pub(super) fn lacks(what: &str) -> StartError {
    StartError::unsupported(
        format!("`openssl speed`, which a statically linked plumb measures, has no {what}"),
        "set `provider=ring` or `provider=rustcrypto`, or use a plumb from `cargo build --release`",
    )
}

fn version() -> Result<String, StartError> {
    let output = ended::output(Command::new("openssl").arg("version"))
        .map_err(|error| Failure::io("starting openssl", &error))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.strip_prefix("OpenSSL ").and_then(|rest| rest.split(' ').next());
    version.map(str::to_owned).ok_or_else(|| {
        StartError::Failed("the installed openssl reports no version of OpenSSL".into())
    })
}

/// Processes of `openssl speed`, each of which is a sample.
struct SpeedProcesses {
    test: SpeedTest,
    accelerated: bool,
}

impl SpeedProcesses {
    /// What one process counted.
    fn once(&self) -> Result<SpeedCount, Failure> {
        let output = ended::output(&mut self.test.command(self.accelerated))
            .map_err(|error| Failure::io("starting openssl speed", &error))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            let last = text.lines().last().unwrap_or("it printed no message");
            return Err(Failure(format!("openssl speed ended with {}: {last}", output.status)));
        }
        // It prints counts to stderr, and rates to stdout.
        let text = [output.stdout, output.stderr].concat();
        counted(&String::from_utf8_lossy(&text), self.test.line)
    }
}

impl Instance for SpeedProcesses {
    fn run(&mut self, _iterations: u64) -> Result<(), Failure> {
        self.once().map(drop)
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        for _ in iterations {
            let begun_ns = now_ns();
            let SpeedCount { operations, elapsed_ns } = self.once()?;
            batch.record(begun_ns, elapsed_ns, operations, current_cpu());
        }
        Ok(())
    }

    fn fixed_iterations(&self) -> bool {
        true
    }
}

/// Operations that a process counted, and the time that they took.
#[derive(Debug, PartialEq, Eq)]
struct SpeedCount {
    operations: u64,
    elapsed_ns: u64,
}

/// Reads the line `+R:COUNT:…:SECONDS` with this first field.
fn counted(text: &str, first_field: &str) -> Result<SpeedCount, Failure> {
    let count = text.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next()? != first_field {
            return None;
        }
        let operations = fields.next()?.parse().ok()?;
        let seconds: f64 = fields.next_back()?.parse().ok()?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it measures for seconds"
        )]
        let elapsed_ns = (seconds * 1e9).round() as u64;
        (operations > 0 && elapsed_ns > 0).then_some(SpeedCount { operations, elapsed_ns })
    });
    count.ok_or_else(|| {
        Failure(format!("openssl speed printed no line `{first_field}` with a count and seconds"))
    })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use plumb_model::FlagKind;
    use plumb_protocol::{Start, StartError};
    use plumb_workload_testing::TestPoint;

    use super::{SpeedCount, SpeedProcesses, counted, started};
    use crate::{ALL, aead, hash, mac, sign, xts};

    /// What a workload is started with.
    fn start(id: &str, settings: &[(&str, &str)]) -> Start {
        TestPoint::new(ALL, id, settings).start.clone()
    }

    #[test]
    fn counts_and_seconds_are_read() {
        let text = "+DT:AES-128-GCM:1:1024\n+R:960219:AES-128-GCM:1.000000\n+F:25:AES-128-GCM:983264256.00\n";
        let wanted = SpeedCount { operations: 960_219, elapsed_ns: 1_000_000_000 };
        assert_eq!(counted(text, "+R").unwrap(), wanted);
        let text = "+R1:1700:2048:1.01\n+R2:53000:2048:0.99\n";
        let wanted = SpeedCount { operations: 53_000, elapsed_ns: 990_000_000 };
        assert_eq!(counted(text, "+R2").unwrap(), wanted);
        for nothing in ["", "+R:0:x:1.0", "+R:5:x:0.00", "+R:5:x:nan", "+R1:5:x:1.0"] {
            let why = counted(nothing, "+R").unwrap_err().0;
            assert!(why.contains("no line `+R`"), "{nothing}: {why}");
        }
    }

    /// Every test that the workloads name is one that the installed openssl has, with the line that is read.
    #[test]
    fn the_installed_openssl_has_every_test() {
        let mut tests = Vec::new();
        for cipher in ["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"] {
            for associated in ["0", "13"] {
                let start = start("crypto.aead", &[("cipher", cipher), ("aad", associated)]);
                tests.push(aead::speed_test(&start).unwrap());
            }
        }
        for hash in ["sha-1", "sha-256", "sha-384", "sha-512", "sha3-256", "blake2b-512"] {
            tests.push(hash::speed_test(&start("crypto.hash", &[("hash", hash)])));
        }
        for mac in ["hmac-sha-1", "hmac-sha-256", "hmac-sha-512"] {
            tests.push(mac::speed_test(&start("crypto.mac", &[("mac", mac)])));
        }
        for cipher in ["aes-128-xts", "aes-256-xts"] {
            for direction in ["encrypt", "decrypt"] {
                let settings = [("cipher", cipher), ("direction", direction)];
                tests.push(xts::speed_test(&start("crypto.xts", &settings)));
            }
        }
        for algorithm in ["ecdsa-p256", "ed25519", "rsa-2048", "rsa-4096"] {
            for operation in ["sign", "verify"] {
                let settings = [("algorithm", algorithm), ("operation", operation)];
                tests.push(sign::speed_test(&start("crypto.sign", &settings)));
            }
        }
        // All at once, because each waits for a second: their rates do not matter here.
        thread::scope(|scope| {
            for test in tests {
                scope.spawn(move || {
                    let named = format!("{test:?}");
                    let process = SpeedProcesses { test, accelerated: true };
                    let count =
                        process.once().unwrap_or_else(|error| panic!("{named}: {}", error.0));
                    assert!(count.operations > 1, "{named}: {count:?}");
                    assert!(count.elapsed_ns > 500_000_000, "{named}: {count:?}");
                });
            }
        });
    }

    #[test]
    fn what_openssl_speed_does_not_do_is_unsupported() {
        let opens = start("crypto.aead", &[("direction", "open")]);
        assert!(aead::speed_test(&opens).is_err());
        let associated = start("crypto.aead", &[("aad", "5")]);
        assert!(aead::speed_test(&associated).is_err());
        let one = start("crypto.hash", &[]);
        let ready = started(&one, &[("operations", 1)], hash::speed_test(&one)).unwrap().ready;
        assert_eq!(ready.flags[0].flag, FlagKind::OpensslSpeed);
        for (parameter, value) in
            [("threads", "2"), ("library", "/x.so"), ("placement", "same-cpu")]
        {
            let start = start("crypto.hash", &[(parameter, value)]);
            match started(&start, &[("operations", 1)], hash::speed_test(&start)) {
                Err(StartError::Unsupported { fix, .. }) => {
                    assert!(fix.contains(parameter), "{fix}")
                }
                _ => panic!("{parameter}={value} is not refused"),
            }
        }
    }
}
