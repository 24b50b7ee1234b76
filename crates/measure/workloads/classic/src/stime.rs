//! `classic.stime`: handshakes of `openssl s_time` with `openssl s_server`, by our clock.

use std::path::{Path, PathBuf};
use std::process::Command;

use plumb_model::{AuditClass, Better, Description, Ready, Requirement, Role, SampleIs};
use plumb_protocol::{Failure, Held, Start, StartError, StartedWorkload, Workload};
use plumb_workload_kit::declare::{between, choice, integer, reported, workload};
use plumb_workload_kit::ended;
use plumb_workload_kit::folder::Folder;
use plumb_workload_kit::listening::ListenerTransport;
use plumb_workload_kit::spawn::find_program;

use crate::rated_program::RatedProgram;
use crate::servers::{self, HOST};
use crate::version;

/// The command that installs OpenSSL's program.
const INSTALL: &str = "apt install openssl";

/// The workload `classic.stime`: its parameters and metrics, and how it starts.
pub(crate) struct STime;

impl Workload for STime {
    fn describe(&self) -> Description {
        let seconds = integer("seconds", "seconds", 2, "how long one process measures (-time)");
        Description {
            roles: vec![Role::Workload, Role::Server],
            parameters: vec![
                choice("version", &["1.3", "1.2"], "protocol version (-tls1_3, -tls1_2)"),
                choice("mode", &["full", "resumed"], "full handshakes (-new), or resumed (-reuse)"),
                choice("key", &["ecdsa-p256", "rsa-2048"], "key of the server"),
                between(1, 60, seconds),
            ],
            metrics: vec![reported(
                "rate",
                "handshakes/s",
                Better::Higher,
                "connections divided by the time of the process",
            )],
            requirements: vec![Requirement {
                needs: "openssl".into(),
                why: "plumb measures the installed program".into(),
                fix: INSTALL.into(),
            }],
            sample_is: SampleIs::Process,
            timeout_s: Some(600),
            audit_class: Some(AuditClass::Process),
            ..workload(
                "classic.stime",
                "openssl s_time: makes TLS handshakes with openssl s_server",
            )
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("stime.md")
    }

    fn start_server(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        if start.far_address().is_some() {
            return Err(StartError::unsupported(
                "openssl s_server accepts any client, so it listens only on loopback",
                "leave out --to, or measure tls.handshake",
            ));
        }
        let program = openssl()?;
        let folder = Folder::create(Path::new(&start.scratch), "s-server")?;
        let [certificate, key] =
            ["certificate.pem", "key.pem"].map(|name| folder.path().join(name));
        make_certificate(&program, start.text("key"), [&certificate, &key])?;
        let accept = format!("{HOST}:PORT");
        let paths = [certificate, key].map(|path| path.display().to_string());
        // -www: it answers a request for a page, which s_time needs to resume sessions of TLS 1.3.
        let mut words = vec!["s_server", "-quiet", "-www", "-accept", &accept];
        words.extend(["-curves", "X25519", "-cert", &paths[0], "-key", &paths[1]]);
        let (ready, server) = servers::start(&program, ListenerTransport::Tcp, &words)?;
        Ok((ready, Box::new((server, CertificateFolder(folder)))))
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let program = openssl()?;
        let version = version::after(&program, &["version"], "OpenSSL ")?;
        let Some(port) = start.endpoints.get("port") else {
            return Err(StartError::Failed("the server reported no port".into()));
        };
        let is_old = start.text("version") == "1.2";
        let is_resumed = start.text("mode") == "resumed";
        let mut arguments = vec!["s_time".to_owned(), "-connect".to_owned()];
        arguments.push(format!("{HOST}:{port}"));
        arguments.extend(["-time".to_owned(), start.integer("seconds").to_string()]);
        let mode: &[&str] = if is_resumed { &["-reuse", "-www", "/"] } else { &["-new"] };
        let cipher: &[&str] = match is_old {
            true => {
                &["-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384"]
            }
            false => &["-tls1_3", "-ciphersuites", "TLS_AES_256_GCM_SHA384"],
        };
        arguments.extend(mode.iter().chain(cipher).map(|word| (*word).to_owned()));
        let runs = RatedProgram {
            name: "openssl s_time",
            program,
            arguments,
            variable: None,
            read: Box::new(move |text, took_s| {
                #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
                let count = connections(text, is_resumed)? as f64;
                Ok(count / took_s)
            }),
            folder: None,
        };
        let versions = [("openssl".to_owned(), version)].into();
        let ready = Ready { versions, ..Ready::default() };
        Ok(StartedWorkload { instance: Box::new(runs), ready })
    }
}

fn openssl() -> Result<PathBuf, StartError> {
    find_program("openssl")
        .map_err(|_| StartError::unsupported("openssl is not installed", INSTALL))
}

/// A certificate for `localhost`, signed by itself, with its key.
fn make_certificate(
    program: &Path,
    key: &str,
    [certificate, key_file]: [&Path; 2],
) -> Result<(), Failure> {
    let of_key: &[&str] = match key {
        "rsa-2048" => &["-newkey", "rsa:2048"],
        _ => &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
    };
    let mut command = Command::new(program);
    command.args(["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost"]).args(of_key);
    command.arg("-keyout").arg(key_file).arg("-out").arg(certificate);
    let output =
        ended::output(&mut command).map_err(|error| Failure::io("starting openssl req", &error))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(Failure(format!("openssl req: {}", text.lines().last().unwrap_or("no message"))))
}

/// The folder of a certificate, which goes with its server.
struct CertificateFolder(Folder);

impl Held for CertificateFolder {
    fn clean(self: Box<Self>) -> Result<(), Failure> {
        self.0.remove()
    }
}

/// The connections that s_time counts in real seconds. It prints `r` for each that resumed a session and `*` or `t` for
/// each that did not.
fn connections(text: &str, is_resumed: bool) -> Result<u64, Failure> {
    let count = text
        .lines()
        .rfind(|line| line.contains(" real seconds"))
        .and_then(|line| line.split(' ').next()?.parse().ok())
        .filter(|count| *count > 0)
        .ok_or_else(|| Failure("openssl s_time printed no connections".to_owned()))?;
    let marks = text.lines().find(|line| is_of_marks(line)).unwrap_or_default();
    let resumed = marks.chars().filter(|mark| *mark == 'r').count() as u64;
    let expected = if is_resumed { count } else { 0 };
    if resumed == expected {
        return Ok(count);
    }
    Err(Failure(format!("openssl s_time resumed {resumed} of {count} sessions")))
}

fn is_of_marks(line: &str) -> bool {
    !line.is_empty() && line.chars().all(|c| matches!(c, 'r' | '*' | 't'))
}

#[cfg(test)]
mod tests {
    use super::connections;

    #[test]
    fn connections_are_counted_and_marks_say_whether_they_resumed() {
        let text = "Collecting connection statistics for 1 seconds\n****\n\n\n\
            4 connections in 0.55s; 7.27 connections/user sec, bytes read 0\n\
            4 connections in 2 real seconds, 0 bytes read per connection\n";
        assert_eq!(connections(text, false).unwrap(), 4);
        let why = connections(text, true).unwrap_err().0;
        assert_eq!(why, "openssl s_time resumed 0 of 4 sessions");
        assert!(connections("nothing", false).is_err());
    }
}
