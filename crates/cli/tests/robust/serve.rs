//! `plumb serve`, and a run that is watched while it goes on. Connections are to loopback alone.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::processes::{signal, wait_for};
use crate::common::{ProgramOutput, TestEnvironment};
use crate::{PATIENCE, measured, parsed, place};

/// A server, and the first line that it printed.
struct RunningServe {
    process: Child,
    url: String,
}

impl RunningServe {
    fn start(place: &TestEnvironment, arguments: &str) -> Self {
        let mut plumb = place.marked(&format!("serve {arguments}"));
        let mut process = plumb.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let url = line(process.stdout.as_mut().unwrap());
        assert!(url.starts_with("http://"), "{url}: {}", rest(process.stderr.as_mut().unwrap()));
        Self { process, url }
    }

    fn get(&self, path: &str) -> String {
        get(&self.url, path)
    }

    fn end(self, with: &str) -> ProgramOutput {
        signal(with, self.process.id()).unwrap();
        self.process.wait_with_output().unwrap().into()
    }
}

/// A line, byte by byte, so that nothing after it is lost.
fn line(from: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while from.read(&mut byte).unwrap() == 1 && byte != *b"\n" {
        bytes.extend(byte);
    }
    String::from_utf8(bytes).unwrap()
}

fn rest(from: &mut impl Read) -> String {
    let mut text = String::new();
    from.read_to_string(&mut text).unwrap();
    text
}

/// Address and port of a URL.
fn host(url: &str) -> &str {
    url.strip_prefix("http://").unwrap().split('/').next().unwrap()
}

/// A request to the server of a URL, on loopback.
fn ask(url: &str, path: &str) -> TcpStream {
    let port = host(url).rsplit_once(':').unwrap().1;
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let fields = format!("Host: 127.0.0.1:{port}\r\nConnection: close\r\n");
    write!(stream, "GET {path} HTTP/1.1\r\n{fields}\r\n").unwrap();
    stream
}

fn get(url: &str, path: &str) -> String {
    rest(&mut ask(url, path))
}

#[test]
fn it_answers_until_a_signal_ends_it() {
    let place = measured();
    for with in ["INT", "TERM", "HUP"] {
        let served = RunningServe::start(&place, "--listen 127.0.0.1:0");
        let page = served.get("/");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.contains("<h1"), "{page}");
        let runs = served.get("/api/runs");
        assert!(runs.contains("\"schema\":\"plumb.runs/1\""), "{runs}");
        assert!(served.get("/../store/plumb.db").starts_with("HTTP/1.1 404"));
        // Somebody who is connected and silent is no reason to stay.
        let _silent = ask(&served.url, "/events?run=nobody");
        let begun = Instant::now();
        served.end(with).exits(0).says(&["press Ctrl-C to stop"]);
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    }
    assert_eq!(place.leftovers(), Vec::<String>::new());
}

#[test]
fn programs_get_a_document() {
    let place = measured();
    let mut plumb = place.plumb("serve --listen 0 --json");
    let mut process = plumb.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut reader = BufReader::new(process.stdout.take().unwrap());
    let mut text = String::new();
    while !text.ends_with("}\n") {
        assert_ne!(reader.read_line(&mut text).unwrap(), 0, "{text}");
    }
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&document["schema"], &document["token"]), (&"plumb.serve/1".into(), &Value::Null));
    assert_eq!(document["store"], place.store().to_str().unwrap());
    let url = document["url"].as_str().unwrap();
    assert!(get(url, "/").starts_with("HTTP/1.1 200"));
    signal("INT", process.id()).unwrap();
    assert_eq!(process.wait().unwrap().code(), Some(0));
}

#[test]
fn a_port_that_is_taken_is_said_and_the_usual_one_is_replaced() {
    let place = measured();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let ran = place.run(&format!("serve --listen {address}")).unwrap().exits(2);
    ran.says(&["can't listen on", &address.to_string(), "--listen 127.0.0.1:0 picks a free port"]);
    // Whether or not somebody has the usual port.
    let _usual = TcpListener::bind("127.0.0.1:7586");
    let served = RunningServe::start(&place, "");
    assert!(!served.url.contains(":7586/") && served.url.starts_with("http://127.0.0.1:"));
    served.end("INT").exits(0);
}

#[test]
fn a_store_that_is_none_is_said_before_anything_listens() {
    let place = place();
    place.run("serve").unwrap().exits(2).says(&["there is no store", "plumb run"]);
    place.run("serve --listen nowhere").unwrap().exits(2);
    std::fs::write(place.store(), "this is no database at all, however long it may be").unwrap();
    place.run("serve").unwrap().exits(6).says(&["plumb.db"]);
    std::fs::remove_file(place.store()).unwrap();
    std::fs::create_dir(place.store()).unwrap();
    place.run("serve").unwrap().exits(6).says(&["it is a folder"]);
    measured().run("serve --listen 1.2.3.4.5").unwrap().exits(2).says(&["is not an address"]);
}

#[test]
fn whoever_is_elsewhere_needs_the_token() {
    let place = measured();
    for arguments in ["--listen 0.0.0.0:0", "--listen 127.0.0.1:0 --token"] {
        let served = RunningServe::start(&place, arguments);
        let (_, token) = served.url.split_once("?token=").unwrap();
        assert_eq!(token.len(), 32);
        assert!(served.get("/api/runs").starts_with("HTTP/1.1 401"));
        assert!(served.get("/api/runs?token=0").starts_with("HTTP/1.1 401"));
        assert!(served.get(&format!("/api/runs?token={token}")).starts_with("HTTP/1.1 200"));
        let token = token.to_owned();
        let ran = served.end("INT").exits(0);
        assert!(!ran.stderr.contains(&token), "the address stands on stdout alone");
        assert_eq!(
            ran.stderr.contains("other machines can connect"),
            arguments.contains("0.0.0.0")
        );
    }
}

/// Starts a command that measures, with a page, and waits for its address.
fn live(place: &TestEnvironment, command: &str, last: Option<&str>) -> (Child, String) {
    let mut plumb = place.marked(&format!("{command} --live --no-lock"));
    let plumb = plumb.args(last).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = plumb.spawn().unwrap();
    let said = line(process.stderr.as_mut().unwrap());
    let url = said.split_once("live at ").unwrap_or_else(|| panic!("{said}")).1.to_owned();
    (process, url)
}

/// The path of a URL.
fn path(url: &str) -> String {
    format!("/{}", url.splitn(4, '/').nth(3).unwrap())
}

fn events(url: &str) -> String {
    format!("/events?run={}", path(url).trim_start_matches("/live-").trim_end_matches(".html"))
}

#[test]
fn a_run_is_watched_to_its_end() {
    let place = place();
    let run = "run cpu.sieve -p threads=1 --min-invocations 8 --max-time 6s";
    let (process, url) = live(&place, run, None);
    let page = get(&url, &path(&url));
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("data-live=\"events?run="), "{page}");
    let mut messages = BufReader::new(ask(&url, &events(&url))).lines();
    let mut last = Value::Null;
    let mut numbers = Vec::new();
    while last["status"] != "complete" {
        let line = messages.next().expect("the end is told").unwrap();
        let Some(json) = line.strip_prefix("data: ") else { continue };
        last = serde_json::from_str(json).unwrap();
        numbers.push(last["number"].as_u64().unwrap());
    }
    let heard = Instant::now();
    assert!(numbers.len() > 1 && numbers.is_sorted(), "{numbers:?}");
    let ran: ProgramOutput = process.wait_with_output().unwrap().into();
    assert!(heard.elapsed() < Duration::from_secs(2), "{:?}", heard.elapsed());
    ran.exits(0).shows(&["cpu", "sieve"]);
    assert_eq!(place.leftovers(), Vec::<String>::new());
}

#[test]
fn readers_who_never_read_slow_no_run() {
    let place = place();
    let command = "sleep 0.03";
    let begun = Instant::now();
    crate::exec(&place, "-n 40 -q", &[command]).exits(0);
    let alone = begun.elapsed();
    let begun = Instant::now();
    let (process, url) = live(&place, "exec -n 40", Some(command));
    let events = events(&url);
    // Some follow and never read, some never even ask.
    let stuck: Vec<TcpStream> = (0..8).map(|_| ask(&url, &events)).collect();
    let host = host(&url).to_owned();
    let silent: Vec<_> = (0..80).map(|_| TcpStream::connect(&host)).collect();
    let ran: ProgramOutput = process.wait_with_output().unwrap().into();
    let watched = begun.elapsed();
    ran.exits(0);
    drop((stuck, silent));
    // The last words may take a second and a half.
    let limit = alone.mul_f64(1.5) + Duration::from_millis(2500);
    assert!(watched < limit, "{watched:?} instead of {alone:?}");
    let invocations = crate::results(&crate::last(&place), "wall")[0]["invocations"].clone();
    assert_eq!(invocations, 40);
}

#[test]
fn a_run_in_another_process_is_watched_too() {
    let place = measured();
    let served = RunningServe::start(&place, "--listen 0");
    let mut plumb = place.marked("exec -n 400 -q --no-lock");
    let mut process = plumb.arg("sleep 0.02").stdout(Stdio::null()).spawn().unwrap();
    let running = || {
        let runs = served.get("/api/runs");
        let runs: Value = serde_json::from_str(runs.split_once("\r\n\r\n").unwrap().1).unwrap();
        let run = runs["runs"].as_array().unwrap().iter().find(|run| run["status"] == "running");
        run.map(|run| run["id"].as_str().unwrap().to_owned())
    };
    let run = wait_for(PATIENCE, running).unwrap();
    let mut messages = BufReader::new(ask(&served.url, &format!("/events?run={run}"))).lines();
    let mut next = || loop {
        let line = messages.next().unwrap().unwrap();
        if let Some(json) = line.strip_prefix("data: ") {
            break serde_json::from_str::<Value>(json).unwrap();
        }
    };
    assert_eq!(next()["status"], "running");
    signal("KILL", process.id()).unwrap();
    process.wait().unwrap();
    let mut last = next();
    while last["status"] == "running" {
        last = next();
    }
    assert_eq!(last["status"], "interrupted", "that its owner is gone is noticed");
    served.end("INT").exits(0);
    let parsed = parsed(&place.run("show --json").unwrap().exits(0));
    assert_eq!(parsed["run"]["status"], "interrupted");
}
