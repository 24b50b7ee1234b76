//! How much is taken on, and from whom.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use proptest::prelude::{any, prop};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::{HttpLimits, HttpReply, TestServer, connect};

fn short() -> HttpLimits {
    HttpLimits {
        connections: 3,
        head_time: Duration::from_millis(400),
        answer_time: Duration::from_millis(400),
        ..HttpLimits::default()
    }
}

#[test]
fn what_is_too_long_or_none_of_ours_is_refused() {
    let served = TestServer::new();
    let host = served.server.address;
    let long = "a".repeat(10_000);
    for (request, status) in [
        (format!("GET /{long} HTTP/1.1\r\nHost: {host}\r\n\r\n"), 414),
        (format!("GET / HTTP/1.1\r\nHost: {host}\r\nX: {long}{long}\r\n\r\n"), 431),
        (format!("GET /?{long}{long}"), 431),
        (format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(100)), 431),
        (format!("POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\n\r\n{{}}"), 405),
        (format!("DELETE /api/runs HTTP/1.1\r\nHost: {host}\r\n\r\n"), 405),
        (format!("GET / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\n\r\n{{}}"), 413),
        ("nonsense\r\n\r\n".into(), 400),
        ("GET / HTTP/9.9\r\n\r\n".into(), 400),
        ("CONNECT elsewhere:443 HTTP/1.1\r\n\r\n".into(), 405),
        (format!("GET http://elsewhere/ HTTP/1.1\r\nHost: {host}\r\n\r\n"), 400),
    ] {
        let reply = served.raw(&request);
        assert_eq!(reply.status(), status, "{request:.40}");
        assert_eq!(reply.field("connection"), Some("close"));
        assert_eq!(status == 405, reply.field("allow") == Some("GET, HEAD"));
    }
    assert_eq!(served.get("/").status(), 200);
}

#[test]
fn no_path_leaves_the_bundle() {
    let served = TestServer::new();
    for path in [
        "/../plumb.db",
        "/..%2fplumb.db",
        "/%2e%2e/plumb.db",
        "/..%5cplumb.db",
        "//plumb.db",
        "/data/../../plumb.db",
        "/data/%2e%2e%2f.js",
        "/%00",
        "/plumb.js%00.html",
        "/./plumb.js",
        "/plumb.js/..",
        "/api/../plumb.js",
        "/api/runs/../../etc/passwd",
        "/api/runs/%2e%2e",
        "/etc/passwd",
        "/.html",
        "/data/.js",
        "/events/../plumb.js",
    ] {
        let reply = served.get(path);
        assert_eq!(reply.status(), 404, "{path}");
        assert!(!reply.body.contains("SQLite") && !reply.body.contains("root:"), "{path}");
    }
}

#[test]
fn who_sends_slowly_is_left_and_disturbs_nobody() {
    let served = TestServer::with(short(), None);
    let begun = Instant::now();
    let mut slow = connect(served.server.address);
    slow.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    assert_eq!(served.get("/plumb.css").status(), 200);
    while begun.elapsed() < Duration::from_secs(2) && slow.write_all(b"X: y\r\n").is_ok() {
        std::thread::sleep(Duration::from_millis(50));
    }
    let reply = HttpReply::read(slow);
    assert!(reply.head.is_empty() || reply.status() == 408, "{reply:?}");
    assert!(begun.elapsed() < Duration::from_millis(1500), "{:?}", begun.elapsed());
}

#[test]
fn who_says_nothing_or_takes_nothing_is_left() {
    let served = TestServer::with(short(), None);
    let mut silent = connect(served.server.address);
    let mut deaf = connect(served.server.address);
    let host = served.server.address;
    // Far more answers than the sockets hold.
    let request = format!("GET /plumb.js HTTP/1.1\r\nHost: {host}\r\n\r\n").repeat(100);
    deaf.write_all(request.as_bytes()).unwrap();
    let begun = Instant::now();
    assert_eq!(silent.read(&mut [0; 8]).unwrap_or(0), 0);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    std::thread::sleep(Duration::from_millis(900));
    assert!(served.connections() == 0, "both have lost their place");
}

#[test]
fn who_takes_an_answer_drop_by_drop_is_left() {
    let served = TestServer::with(short(), None);
    let host = served.server.address;
    let mut slow = connect(host);
    let request = format!("GET /plumb.js HTTP/1.1\r\nHost: {host}\r\n\r\n").repeat(100);
    slow.write_all(request.as_bytes()).unwrap();
    let begun = Instant::now();
    while slow.read(&mut [0; 64]).is_ok_and(|length| length > 0) && served.connections() > 0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "it may read so for ever");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn there_are_so_many_places() {
    let served = TestServer::with(short(), None);
    let host = served.server.address;
    let taken: Vec<_> = (0..3).map(|_| connect(host)).collect();
    let until = Instant::now() + Duration::from_millis(300);
    while served.connections() < 3 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let turned_away = HttpReply::read(connect(host));
    assert_eq!((turned_away.status(), turned_away.field("retry-after")), (503, Some("2")));
    drop(taken);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(served.get("/plumb.css").status(), 200);
}

#[test]
fn any_bytes_are_survived() {
    let served = TestServer::with(HttpLimits { connections: 64, ..short() }, None);
    let mut runner = TestRunner::deterministic();
    let bytes = prop::collection::vec(any::<u8>(), 0..2000);
    let pieces = ["GET /", "HTTP/1.1\r\n", "Host: a\r\n", "\r\n\r\n", "%", "?token=", "\0"];
    for n in 0..150 {
        let mut bytes = bytes.new_tree(&mut runner).unwrap().current();
        let piece = pieces[n % pieces.len()];
        bytes.splice(0..0, piece.bytes());
        let mut stream = connect(served.server.address);
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        assert!(
            all.is_empty() || all.starts_with(b"HTTP/1.1 4"),
            "{:?}",
            String::from_utf8_lossy(&all)
        );
    }
    assert_eq!(served.get("/plumb.css").status(), 200);
}
