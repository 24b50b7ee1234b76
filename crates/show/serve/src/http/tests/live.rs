//! A run is followed while it is written.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use plumb_model::{Decision, Event, Owner, Stamped};
use plumb_store::{Store, Writer};
use serde_json::Value;

use super::{HttpLimits, HttpReply, TestServer, connect, eventful, id};
use crate::events::{Script, done, work};

/// This process: what it stores goes on.
fn me() -> Owner {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let ticks = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    Owner { pid: std::process::id(), start_ticks: ticks.unwrap(), boot_id: boot.trim().to_owned() }
}

/// A run of this process under way.
struct TestRun {
    writer: Box<dyn Writer>,
    script: Script,
    stored: usize,
}

impl TestRun {
    fn begin(served: &TestServer) -> Self {
        let mut script = Script::new(id(20), 1_700_000_000_000_000_000, &[]);
        for event in &mut script.events {
            if let Event::SegmentStarted { owner, .. } = &mut event.event {
                *owner = me();
            }
        }
        let writer = Store::open(served.store()).unwrap().writer().unwrap();
        let mut run = Self { writer, script, stored: 0 };
        run.store();
        run
    }

    fn store(&mut self) {
        for event in &self.script.events[self.stored..] {
            self.writer.write(event).unwrap();
        }
        self.stored = self.script.events.len();
    }

    fn invocation(&mut self, n: u64) {
        let invocation = id(100 + n);
        self.script.start(invocation, 0, plumb_model::Role::Workload, work("bandwidth", 4096.0));
        self.script.say(Event::InvocationEnded { invocation, end: done(0) });
        self.script.say(Event::Decided(Box::new(Decision {
            point: 0,
            invocations: n as usize,
            ..decision()
        })));
        self.store();
    }

    fn end(&mut self) {
        self.script
            .say(Event::RunEnded { ended_unix_ns: 1_700_000_060_000_000_000, interrupted: false });
        self.store();
    }
}

fn decision() -> Decision {
    let found = eventful(id(1), id(2)).into_iter().find_map(|Stamped { event, .. }| match event {
        Event::Decided(decision) => Some(*decision),
        _ => None,
    });
    Decision { stop: None, compared: None, ..found.unwrap() }
}

/// Somebody who follows the run.
struct PageFollower(BufReader<TcpStream>);

impl PageFollower {
    fn of(served: &TestServer) -> Self {
        let mut stream = connect(served.server.address);
        let host = served.server.address;
        let run = id(20);
        write!(stream, "GET /events?run={run} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 200") && head.contains("text/event-stream"), "{head}");
        Self(reader)
    }

    /// The next message; None at the end.
    fn next(&mut self) -> Option<Value> {
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            if let Some(json) = line.strip_prefix("data: ") {
                return Some(serde_json::from_str(json).unwrap());
            }
        }
    }
}

#[test]
fn a_run_is_told_message_by_message_to_its_end() {
    let served = TestServer::new();
    let mut run = TestRun::begin(&served);
    let mut follower = PageFollower::of(&served);
    let first = follower.next().unwrap();
    assert_eq!((&first["whole"], &first["status"]), (&true.into(), &"running".into()));
    assert_eq!(first["points"].as_array().unwrap().len(), 2);
    run.invocation(1);
    let begun = Instant::now();
    let second = follower.next().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!((&second["whole"], &second["points"][0]["invocations"]), (&false.into(), &1.into()));
    assert_eq!(second["points"].as_array().unwrap().len(), 1, "what did not change is left out");
    run.invocation(2);
    run.invocation(3);
    run.end();
    served.server.finish(Duration::from_secs(5));
    let mut last = follower.next().unwrap();
    while last["status"] == "running" {
        last = follower.next().unwrap();
    }
    assert_eq!(last["status"], "complete");
    assert!(follower.next().is_none());
    let late = served.ask("GET", &format!("/events?run={}", id(20)), "");
    assert!(late.status() == 200 && late.body.contains("\"complete\""));
    let again = served.ask("GET", &format!("/events?run={}", id(20)), "Last-Event-ID: 7\r\n");
    assert_eq!(again.status(), 204, "a browser that asks again is told to stay away");
}

#[test]
fn what_a_program_says_that_it_is_doing_is_told_though_it_is_not_stored() {
    let served = TestServer::new();
    let mut run = TestRun::begin(&served);
    let mut follower = PageFollower::of(&served);
    assert!(!follower.next().unwrap()["says"].as_str().unwrap().contains("phase"));
    let phase = "phase 4 of 12: rewrite\u{1b}[2J".to_owned();
    served.server.doing(id(20), Some((1, phase)));
    served.server.doing(id(20), Some((1, "phase 5 of 12: read_byte".to_owned())));
    let second = follower.next().unwrap();
    assert!(
        second["says"].as_str().unwrap().contains(" · phase 5 of 12: read_byte · "),
        "{second}"
    );
    assert_eq!((&second["current"], &second["points"].as_array().unwrap().len()), (&1.into(), &0));
    served.server.doing(id(20), None);
    assert!(!follower.next().unwrap()["says"].as_str().unwrap().contains("phase"));
    run.end();
}

#[test]
fn messages_come_once_a_second_at_most() {
    let served = TestServer::new();
    let mut run = TestRun::begin(&served);
    let mut follower = PageFollower::of(&served);
    follower.next().unwrap();
    let begun = Instant::now();
    let mut messages = 0;
    for n in 1..40 {
        run.invocation(n);
        std::thread::sleep(Duration::from_millis(50));
    }
    run.end();
    while let Some(message) = follower.next() {
        messages += 1;
        if message["status"] == "complete" {
            break;
        }
    }
    let seconds = begun.elapsed().as_secs() + 2;
    assert!((1..=seconds).contains(&messages), "{messages} in {seconds} s");
}

#[test]
fn a_reader_who_is_stuck_keeps_nobody_waiting_and_is_left() {
    let limits = HttpLimits {
        message_time: Duration::from_millis(300),
        followers: 2,
        ..HttpLimits::default()
    };
    let served = TestServer::with(limits, None);
    let mut run = TestRun::begin(&served);
    // Lines that fill the sockets of who does not read them.
    let text = "x".repeat(60_000);
    let stuck = PageFollower::of(&served);
    let mut follower = PageFollower::of(&served);
    follower.next().unwrap();
    let third = served.ask("GET", &format!("/events?run={}", id(20)), "");
    assert_eq!(third.status(), 503);
    let begun = Instant::now();
    let mut slowest = Duration::ZERO;
    for n in 1.. {
        for _ in 0..90 {
            run.script.say(Event::Log { text: text.clone() });
        }
        let stored = Instant::now();
        run.invocation(n);
        slowest = slowest.max(stored.elapsed());
        assert!(!follower.next().unwrap()["log"].as_array().unwrap().is_empty());
        let left = served.followers() == 1;
        if left {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "the stuck reader is never left");
    }
    drop(stuck);
    run.end();
    while let Some(message) = follower.next() {
        assert!(message["status"] == "running" || message["status"] == "complete");
    }
    assert!(slowest < Duration::from_secs(2), "storing waited for a reader: {slowest:?}");
}

#[test]
fn so_many_runs_are_followed() {
    let served = TestServer::new();
    let _run = TestRun::begin(&served);
    let followers: Vec<PageFollower> = (0..5).map(|_| PageFollower::of(&served)).collect();
    assert_eq!(served.server.shared.followed.count(), 1, "one task for all");
    drop(followers);
    let until = Instant::now() + Duration::from_secs(10);
    // Who has gone is noticed at the next look.
    while served.server.shared.followed.count() > 0 {
        assert!(Instant::now() < until, "the run is followed for nobody");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_run_whose_owner_is_gone_is_over() {
    let served = TestServer::new();
    let reply = HttpReply::read({
        let mut stream = connect(served.server.address);
        let host = served.server.address;
        let run = id(1);
        write!(stream, "GET /events?run={run} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        stream
    });
    assert!(reply.body.contains("\"complete\"") && reply.body.matches("data: ").count() == 1);
}
