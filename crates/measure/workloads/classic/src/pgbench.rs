//! `classic.pgbench`: reads of pgbench from a PostgreSQL server on the loopback of this machine.

use std::fs;
use std::path::Path;

use plumb_model::{AuditClass, Better, Description, Ready, Requirement, Role, SampleIs};
use plumb_protocol::{Failure, Held, Start, StartError, StartedWorkload, Workload};
use plumb_workload_kit::declare::{between, bytes, integer, reported, workload};
use plumb_workload_kit::folder::Folder;
use plumb_workload_kit::installed_server::{
    InstalledServer, OWNER, ServerKind, postgresql_program,
};

use crate::rated_program::RatedProgram;
use crate::servers::HOST;
use crate::version;

/// The command that installs server and client.
const INSTALL: &str = "apt install postgresql";
/// Rows of the table.
const ROWS: u64 = 10_000;
/// The endpoint that names the file with the password.
const PASSWORD_FILE: &str = "password_file";

/// The workload `classic.pgbench`: its parameters and metrics, and how it starts.
pub(crate) struct Pgbench;

impl Workload for Pgbench {
    fn describe(&self) -> Description {
        Description {
            roles: vec![Role::Workload, Role::Server],
            parameters: vec![
                between(1, 256, integer("clients", "clients", 1, "parallel sessions (-c)")),
                between(1, 1 << 20, bytes("bytes", 16, "size of a row's contents")),
                between(
                    1,
                    60,
                    integer("seconds", "seconds", 1, "how long one process measures (-T)"),
                ),
            ],
            metrics: vec![reported(
                "rate",
                "ops/s",
                Better::Higher,
                "transactions per second without the time to connect, as it prints them",
            )],
            requirements: vec![Requirement {
                needs: "PostgreSQL with pgbench".into(),
                why: "plumb measures the installed programs".into(),
                fix: INSTALL.into(),
            }],
            sample_is: SampleIs::Process,
            timeout_s: Some(600),
            audit_class: Some(AuditClass::Process),
            ..workload("classic.pgbench", "pgbench: reads random rows from a PostgreSQL server")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("pgbench.md")
    }

    fn start_server(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        if start.far_address().is_some() {
            return Err(StartError::unsupported(
                "plumb starts PostgreSQL only on loopback",
                "leave out --to",
            ));
        }
        let server = InstalledServer::start(ServerKind::Postgresql, Path::new(&start.dir))?;
        let endpoints = [
            ("port".to_owned(), server.port().to_string()),
            (PASSWORD_FILE.to_owned(), server.password_file().display().to_string()),
        ];
        Ok((Ready { endpoints: endpoints.into(), ..Ready::default() }, Box::new(server)))
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let program = postgresql_program("pgbench")
            .ok_or_else(|| StartError::unsupported("pgbench is not installed", INSTALL))?;
        let version = version::after(&program, &["--version"], "pgbench (PostgreSQL) ")?;
        let (Some(port), Some(file)) =
            (start.endpoints.get("port"), start.endpoints.get(PASSWORD_FILE))
        else {
            return Err(StartError::Failed("the server reported no port".into()));
        };
        let password = fs::read_to_string(file)
            .map_err(|error| Failure::io(format!("reading {file}"), &error))?;
        let folder = Folder::create(Path::new(&start.scratch), "pgbench")?;
        let size = start.integer("bytes");
        let loading = script(
            &folder,
            "load.sql",
            &format!(
                "DROP TABLE IF EXISTS entity;\n\
                 CREATE TABLE entity (key bigint PRIMARY KEY, body bytea NOT NULL);\n\
                 INSERT INTO entity SELECT key, decode(repeat('ab', {size}), 'hex') \
                 FROM generate_series(1, {ROWS}) AS key;\n"
            ),
        )?;
        let reading = script(
            &folder,
            "read.sql",
            &format!("\\set key random(1, {ROWS})\nSELECT body FROM entity WHERE key = :key;\n"),
        )?;
        let common = ["-h", HOST, "-p", port, "-U", OWNER, "-n", "-M", "prepared"];
        let clients = start.integer("clients").to_string();
        let seconds = start.integer("seconds").to_string();
        let load = ["-c", "1", "-t", "1", "-f", &loading, "postgres"];
        let measure = ["-c", &clients, "-j", "1", "-T", &seconds, "-f", &reading, "postgres"];
        let mut runs = RatedProgram {
            name: "pgbench",
            program,
            arguments: [&common[..], &load].concat().into_iter().map(str::to_owned).collect(),
            variable: Some(("PGPASSWORD", password.trim().to_owned())),
            read: Box::new(|text, _| transactions(text)),
            folder: Some(folder),
        };
        runs.once()?;
        runs.arguments = [&common[..], &measure].concat().into_iter().map(str::to_owned).collect();
        let versions = [("postgresql".to_owned(), version)].into();
        let ready = Ready { versions, ..Ready::default() };
        Ok(StartedWorkload { instance: Box::new(runs), ready })
    }
}

/// Writes a script: its path.
fn script(folder: &Folder, name: &str, text: &str) -> Result<String, Failure> {
    let path = folder.path().join(name);
    fs::write(&path, text)
        .map_err(|error| Failure::io(format!("writing {}", path.display()), &error))?;
    Ok(path.display().to_string())
}

/// The figure of `tps = 12345.6 (without initial connection time)`; releases before 14 print `(excluding connections
/// establishing)`.
fn transactions(text: &str) -> Result<f64, Failure> {
    text.lines()
        .filter(|line| line.contains("without initial") || line.contains("excluding"))
        .find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok())
        .filter(|rate| *rate > 0.0)
        .ok_or_else(|| Failure("pgbench printed no tps".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::transactions;

    #[test]
    fn the_figure_is_that_without_connecting() {
        let new = "number of failed transactions: 0 (0.000%)\ntps = 10543.216 (without initial connection time)\n";
        assert_eq!(transactions(new).unwrap(), 10543.216);
        let old = "tps = 900.5 (including connections establishing)\ntps = 905.25 (excluding connections establishing)\n";
        assert_eq!(transactions(old).unwrap(), 905.25);
        assert!(transactions("nothing").is_err());
    }
}
