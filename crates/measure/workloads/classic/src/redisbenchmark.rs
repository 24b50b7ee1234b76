//! `classic.redisbenchmark`: GET requests of redis-benchmark to a Redis server on the loopback of this machine.

use std::path::Path;

use plumb_model::{AuditClass, Better, Description, Ready, Requirement, Role, SampleIs};
use plumb_protocol::{Failure, Held, Start, StartError, StartedWorkload, Workload};
use plumb_workload_kit::declare::{between, bytes, integer, reported, workload};
use plumb_workload_kit::installed_server::{InstalledServer, ServerKind};
use plumb_workload_kit::spawn::find_program;

use crate::rated_program::RatedProgram;
use crate::servers::HOST;
use crate::version;

/// The command that installs both programs.
const INSTALL: &str = "apt install redis-server";
/// Keys are drawn from so many; each is written before anything is timed.
const KEYS: &str = "10000";
/// SET requests that write them all, and how many are under way at once.
const LOADING: [&str; 8] = ["-t", "set", "-n", "200000", "-c", "8", "-P", "16"];

/// The workload `classic.redisbenchmark`: its parameters and metrics, and how it starts.
pub(crate) struct RedisBenchmark;

impl Workload for RedisBenchmark {
    fn describe(&self) -> Description {
        Description {
            roles: vec![Role::Workload, Role::Server],
            parameters: vec![
                between(1, 256, integer("clients", "clients", 1, "parallel connections (-c)")),
                between(16, 1 << 20, bytes("bytes", 1000, "size of a value (-d)")),
                between(
                    1000,
                    10_000_000,
                    integer("requests", "requests", 50_000, "requests of one process (-n)"),
                ),
            ],
            metrics: vec![reported(
                "rate",
                "ops/s",
                Better::Higher,
                "GET requests per second, as it prints them",
            )],
            requirements: vec![Requirement {
                needs: "redis-server and redis-benchmark".into(),
                why: "plumb measures the installed programs".into(),
                fix: INSTALL.into(),
            }],
            sample_is: SampleIs::Process,
            timeout_s: Some(600),
            audit_class: Some(AuditClass::Process),
            ..workload(
                "classic.redisbenchmark",
                "redis-benchmark: reads random keys from a Redis server",
            )
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("redisbenchmark.md")
    }

    fn start_server(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        if start.far_address().is_some() {
            return Err(StartError::unsupported(
                "a Redis server without a password accepts any client, so it listens only on loopback",
                "leave out --to",
            ));
        }
        let kind = ServerKind::Redis { is_logged: false };
        let server = InstalledServer::start(kind, Path::new(&start.dir))?;
        let endpoints = [("port".to_owned(), server.port().to_string())].into();
        Ok((Ready { endpoints, ..Ready::default() }, Box::new(server)))
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let program = find_program("redis-benchmark")
            .map_err(|_| StartError::unsupported("redis-benchmark is not installed", INSTALL))?;
        let version = version::after(&program, &["--version"], "redis-benchmark ")?;
        let Some(port) = start.endpoints.get("port") else {
            return Err(StartError::Failed("the server reported no port".into()));
        };
        let bytes = start.integer("bytes").to_string();
        let common = ["-h", HOST, "-p", port, "-d", &bytes, "-r", KEYS, "--csv"].map(str::to_owned);
        let count = start.integer("requests").to_string();
        let clients = start.integer("clients").to_string();
        let measuring = ["-t", "get", "-n", &count, "-c", &clients].map(str::to_owned);
        let mut runs = RatedProgram {
            name: "redis-benchmark",
            program,
            arguments: common.iter().cloned().chain(LOADING.map(str::to_owned)).collect(),
            variable: None,
            read: Box::new(|text, _| requests_per_second(text, "SET")),
            folder: None,
        };
        runs.once()?;
        runs.arguments = common.into_iter().chain(measuring).collect();
        runs.read = Box::new(|text, _| requests_per_second(text, "GET"));
        let versions = [("redis".to_owned(), version)].into();
        let ready = Ready { versions, ..Ready::default() };
        Ok(StartedWorkload { instance: Box::new(runs), ready })
    }
}

/// The second column of the line of a test: `"GET","54347.83",…`.
fn requests_per_second(text: &str, test: &str) -> Result<f64, Failure> {
    let begin = format!("\"{test}\",\"");
    text.lines()
        .find_map(|line| line.strip_prefix(&begin)?.split('"').next()?.parse().ok())
        .filter(|rate| *rate > 0.0)
        .ok_or_else(|| Failure(format!("redis-benchmark printed no figure of {test}")))
}

#[cfg(test)]
mod tests {
    use super::requests_per_second;

    #[test]
    fn the_figure_of_a_test_is_its_second_column() {
        let text = "\"test\",\"rps\",\"avg_latency_ms\"\n\"GET\",\"54347.83\",\"0.017\"\n";
        assert_eq!(requests_per_second(text, "GET").unwrap(), 54347.83);
        assert!(requests_per_second(text, "SET").is_err());
    }
}
