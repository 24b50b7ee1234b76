//! The server from outside, on loopback.

mod bounds;
mod guard;
mod live;
mod stores;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use plumb_model::{Event, Stamped};
use plumb_store::Store;

use super::{HttpLimits, HttpServer, ReaderToken, ServeSettings};
use crate::events::{Script, eventful, id};

/// Longer than anything takes that is waited for, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Text that would do harm if it were taken for anything but text.
const HOSTILE: &str =
    "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\u{202e}\u{1b}[31m\n";

/// A store with an eventful run, one with hostile texts, and a server of it.
struct TestServer {
    folder: tempfile::TempDir,
    server: HttpServer,
}

impl TestServer {
    fn new() -> Self {
        Self::with(HttpLimits::default(), None)
    }

    fn with(limits: HttpLimits, token: Option<ReaderToken>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("plumb.db");
        write(&store, &eventful(id(1), id(2)));
        write(&store, &hostile());
        let server = server(&store, limits, token);
        Self { folder, server }
    }

    fn store(&self) -> std::path::PathBuf {
        self.folder.path().join("plumb.db")
    }

    /// How many connections are open.
    fn connections(&self) -> usize {
        let shared = &self.server.shared;
        shared.limits.connections - shared.connections.available_permits()
    }

    /// How many readers follow a run.
    fn followers(&self) -> usize {
        let shared = &self.server.shared;
        shared.limits.followers - shared.followers.available_permits()
    }

    fn get(&self, path: &str) -> HttpReply {
        self.ask("GET", path, "")
    }

    /// A request on its own connection.
    fn ask(&self, method: &str, path: &str, fields: &str) -> HttpReply {
        let host = self.server.address;
        let connection = if fields.contains("Connection:") { "" } else { "Connection: close\r\n" };
        self.raw(&format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{connection}{fields}\r\n"))
    }

    fn raw(&self, request: &str) -> HttpReply {
        let mut stream = connect(self.server.address);
        // Who is refused early may not take all of it.
        let _ = stream.write_all(request.as_bytes());
        HttpReply::read(stream)
    }
}

fn server(store: &Path, limits: HttpLimits, token: Option<ReaderToken>) -> HttpServer {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    HttpServer::start(
        listener,
        ServeSettings { store: store.to_owned(), token, limits, stays: false },
    )
    .unwrap()
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn write(store: &Path, events: &[Stamped]) {
    let store = Store::open(store).unwrap();
    let mut writer = store.writer().unwrap();
    events.iter().for_each(|event| writer.write(event).unwrap());
}

/// A run whose every text is hostile, at an impossible time.
fn hostile() -> Vec<Stamped> {
    let mut script = Script::new(id(3), i64::MIN, &[(HOSTILE, HOSTILE)]);
    if let Event::RunStarted { plan, command, .. } = &mut script.events[0].event {
        plan.suite = Some(HOSTILE.into());
        command.push(HOSTILE.into());
        for point in &mut plan.points {
            point.title = Some(HOSTILE.into());
            point.description.metrics[0].unit = HOSTILE.into();
        }
    }
    script.say(Event::Unsupported(plumb_model::Missing {
        point: 1,
        why: HOSTILE.into(),
        fix: HOSTILE.into(),
    }));
    script.say(Event::Log { text: HOSTILE.into() });
    script.copy(id(4), 100).end(false).events
}

/// What came back.
#[derive(Debug)]
struct HttpReply {
    head: String,
    body: String,
}

impl HttpReply {
    fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        // A connection that is cut counts as its end.
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        Self { head: head.to_owned(), body: body.to_owned() }
    }

    fn status(&self) -> u16 {
        let word = self.head.split(' ').nth(1).unwrap_or("0");
        word.parse().unwrap_or_else(|_| panic!("{self:?}"))
    }

    fn field(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

#[test]
fn every_address_has_its_kind_and_all_the_fields() {
    let served = TestServer::new();
    let run = id(1);
    let json = "application/json";
    for (path, status, kind) in [
        ("/".to_owned(), 200, "text/html; charset=utf-8"),
        ("/index.html".into(), 200, "text/html; charset=utf-8"),
        (format!("/run-{run}.html"), 200, "text/html; charset=utf-8"),
        (format!("/live-{run}.html"), 200, "text/html; charset=utf-8"),
        ("/method.html".into(), 200, "text/html; charset=utf-8"),
        ("/data/index.js".into(), 200, "text/javascript; charset=utf-8"),
        ("/data/search.js".into(), 200, "text/javascript; charset=utf-8"),
        ("/plumb.js".into(), 200, "text/javascript; charset=utf-8"),
        ("/plumb.css".into(), 200, "text/css; charset=utf-8"),
        ("/api/runs".into(), 200, json),
        (format!("/api/runs/{run}"), 200, json),
        ("/api/runs/last~1".into(), 200, json),
        (format!("/api/runs/{run}/charts"), 200, json),
        (format!("/api/compare?runs={run},{}", id(3)), 200, json),
        ("/api/history?series=memory.copy%3Amethod=libc/bandwidth".into(), 200, json),
        ("/api/history?series=none".into(), 404, json),
        (format!("/api/compare?runs={run},{run}"), 404, json),
        (format!("/api/compare?runs={run}"), 404, json),
        ("/api/runs/nobody".into(), 404, json),
        (format!("/api/runs/{}", id(9)), 404, json),
        ("/api/nothing".into(), 404, json),
        (format!("/run-{}.html", id(9)), 404, "text/html; charset=utf-8"),
        (format!("/live-{}.html", id(9)), 404, "text/html; charset=utf-8"),
        ("/nothing.html".into(), 404, "text/html; charset=utf-8"),
        ("/data/nothing.js".into(), 404, "text/plain; charset=utf-8"),
        ("/events".into(), 404, "text/plain; charset=utf-8"),
        (format!("/events?run={}", id(9)), 404, "text/plain; charset=utf-8"),
    ] {
        let reply = served.get(&path);
        assert_eq!((reply.status(), reply.field("content-type")), (status, Some(kind)), "{path}");
        let policy = reply.field("content-security-policy").unwrap();
        for part in ["default-src 'none'", "script-src 'self';", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(reply.field("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(reply.field("referrer-policy"), Some("no-referrer"), "{path}");
        assert_eq!(reply.field("cross-origin-resource-policy"), Some("same-origin"), "{path}");
        assert!(reply.field("cache-control").is_some() && reply.field("date").is_some(), "{path}");
        let length: usize = reply.field("content-length").unwrap().parse().unwrap();
        assert_eq!(length, reply.body.len(), "{path}");
        assert!(reply.field("access-control-allow-origin").is_none());
        if kind == json {
            let document: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
            assert_eq!(status == 404, document["error"].is_string(), "{path}");
        }
    }
}

/// Whether what follows `<img` is a picture that plumb drew: an SVG file as an address of data, whose text stays inside
/// its attribute, and words in place of it. Nothing else on a page may be a picture.
fn is_own_picture(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix(" src=\"data:image/svg+xml,%3csvg ") else { return false };
    let Some((drawing, rest)) = rest.split_once("\" alt=\"") else { return false };
    let Some((words, _)) = rest.split_once("\">") else { return false };
    let is_text = |text: &str| !text.contains(['<', '>', '"', '\'']);
    is_text(drawing) && is_text(words)
}

#[test]
fn texts_from_elsewhere_stay_texts() {
    let served = TestServer::new();
    let run = id(3);
    for path in [
        "/".to_owned(),
        format!("/run-{run}.html"),
        format!("/live-{run}.html"),
        format!("/data/run-{run}.js"),
        format!("/run-{run}-memory.copy.html"),
        "/data/search.js".to_owned(),
        format!("/api/runs/{run}/%3Cscript%3E"),
        format!("/compare-{}-{run}.html", id(1)),
    ] {
        let reply = served.get(&path);
        assert!(reply.status() == 200 || path.contains('%'), "{path}: {}", reply.head);
        for picture in reply.body.split("<img").skip(1) {
            assert!(is_own_picture(picture), "{path}: <img{picture:.200}");
        }
        assert!(!reply.body.contains("<script>"), "{path}");
        assert!(!reply.body.contains('\u{1b}') && !reply.body.contains('\u{202e}'), "{path}");
    }
}

#[test]
fn an_asset_that_the_browser_has_is_not_sent_again() {
    let served = TestServer::new();
    let first = served.get("/plumb.js");
    let tag = first.field("etag").unwrap().to_owned();
    assert_eq!(first.field("cache-control"), Some("no-cache"));
    let again = served.ask("GET", "/plumb.js", &format!("If-None-Match: {tag}\r\n"));
    assert_eq!((again.status(), again.body.as_str()), (304, ""));
    let other = served.ask("GET", "/plumb.js", "If-None-Match: \"0\"\r\n");
    assert_eq!(other.status(), 200);
    assert_eq!(served.get("/").field("cache-control"), Some("no-store"));
}

#[test]
fn a_connection_takes_many_requests() {
    let served = TestServer::new();
    let host = served.server.address;
    let mut stream = connect(host);
    let one = format!("HEAD /plumb.js HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let last = format!("GET /nothing HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    // All at once, and cut if a request is not complete.
    let begin = format!("{one}{one}{}", &last[..20]);
    let end = &last[20..];
    stream.write_all(begin.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    stream.write_all(end.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 2, "{text}");
    assert_eq!(text.matches("HTTP/1.1 404").count(), 1);
    assert_eq!(text.matches("connection: close").count(), 1);
}

#[test]
fn a_page_is_kept_until_something_is_stored() {
    let served = TestServer::new();
    let page = |served: &TestServer| served.get("/api/runs").body.matches("\"id\"").count();
    let before = served.get("/").body;
    assert_eq!(before, served.get("/").body);
    assert_eq!(page(&served), 2);
    write(&served.store(), &eventful(id(5), id(6)));
    assert_eq!(page(&served), 3);
    assert_ne!(before, served.get("/").body);
}
