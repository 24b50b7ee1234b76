//! Servers of datastores that the user names: a login that fails, entities that are lost, a server that ends.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use crate::common::processes::wait_for;
use crate::common::{ProgramOutput, TestEnvironment, ran};
use crate::secrets::{SECRET, file_with_secret};
use crate::{PATIENCE, parsed, place, results};

/// A Redis of the user; it ends with the test.
struct RedisServer {
    child: Child,
    port: u16,
}

impl RedisServer {
    fn start(place: &TestEnvironment, password: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let port_text = port.to_string();
        let words = ["--port", &port_text, "--bind", "127.0.0.1", "--save", "", "--dir"];
        let child = Command::new("redis-server")
            .args(words)
            .arg(place.tmp())
            .args(["--requirepass", password])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { child, port };
        wait_for(PATIENCE, || TcpStream::connect(("127.0.0.1", port)).ok()).unwrap();
        server
    }

    fn url(&self, login: &str) -> String {
        format!("redis://{login}127.0.0.1:{}", self.port)
    }

    /// Sends a command and gives the answer; None if the server has ended.
    fn ask(&self, command: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.write_all(format!("{command}\r\n").as_bytes()).ok()?;
        stream.shutdown(Shutdown::Write).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// A run of a workload that reads from this server and of one that needs none; `meanwhile` happens whenever entities are
/// there.
fn run_while(place: &TestEnvironment, server: &RedisServer, meanwhile: &str) -> ProgramOutput {
    let point = format!("datastore.mix:engine=redis,mix=c,entities=20,url={}", server.url(""));
    let mut plumb = place.plumb("run --json --no-lock -q --prepare none --max-invocations 2");
    plumb.args([&point, "memory.free"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut plumb = plumb.spawn().unwrap();
    wait_for(PATIENCE, || {
        if server.ask("DBSIZE") == Some(":20\r\n".to_owned()) {
            server.ask(meanwhile);
        }
        plumb.try_wait().unwrap()
    })
    .unwrap();
    ProgramOutput::from(plumb.wait_with_output().unwrap())
}

/// The run failed with these words, and the workload without a server was measured.
fn only_one_failed(ran: ProgramOutput, words: &str) {
    let ran = ran.exits(4);
    let document = parsed(&ran);
    assert_eq!(results(&document, "free").len(), 1, "{}", ran.stdout);
    assert!(ran.stdout.contains(words), "{}", ran.stdout);
}

#[test]
fn a_wrong_password_is_refused_and_neither_stored_nor_shown() {
    let place = place();
    let server = RedisServer::start(&place, "right");
    for login in [format!(":{SECRET}@"), format!("joe:{SECRET}@")] {
        for workload in ["datastore.mix:", "datastore.batch:durability=none,"] {
            let point = format!("{workload}engine=redis,url={}", server.url(&login));
            let mut plumb = place.plumb("run --full --no-lock --prepare none");
            let refused = ran(plumb.arg(&point)).unwrap().exits(3);
            let refused = refused.shows(&["refuses the password"]);
            place.run("report -o pages").unwrap().exits(0);
            for text in [&refused.stdout, &refused.stderr] {
                assert!(!text.contains(SECRET), "{point}: {text}");
            }
            assert_eq!(file_with_secret(place.root()), None, "{point}");
        }
    }
}

#[test]
fn entities_that_were_flushed_fail_the_run_with_their_key() {
    let place = place();
    let server = RedisServer::start(&place, "");
    let ran = run_while(&place, &server, "FLUSHALL");
    only_one_failed(ran, "is missing");
    assert_eq!(server.ask("DBSIZE"), Some(":0\r\n".to_owned()), "nothing is left there");
}

#[test]
fn a_server_that_ends_fails_its_point_and_the_rest_is_measured() {
    let place = place();
    let server = RedisServer::start(&place, "");
    let ran = run_while(&place, &server, "SHUTDOWN NOSAVE");
    only_one_failed(ran, "datastore.mix");
}
