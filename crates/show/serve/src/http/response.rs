//! Answers, and the fields that stand in all of them.

use std::borrow::Cow;
use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;

/// How an answer begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// 200.
    Fine,
    /// 204.
    Nothing,
    /// 304.
    Same,
    /// 400.
    Bad,
    /// 401.
    NoToken,
    /// 403.
    Forbidden,
    /// 404.
    Unknown,
    /// 405.
    Method,
    /// 408.
    Late,
    /// 413.
    Body,
    /// 414.
    TargetTooLong,
    /// 421.
    Misdirected,
    /// 431.
    HeadTooLong,
    /// 500.
    Failed,
    /// 503.
    Busy,
}

impl Status {
    /// Its number and its words.
    pub(super) fn line(self) -> &'static str {
        match self {
            Self::Fine => "200 OK",
            Self::Nothing => "204 No Content",
            Self::Same => "304 Not Modified",
            Self::Bad => "400 Bad Request",
            Self::NoToken => "401 Unauthorized",
            Self::Forbidden => "403 Forbidden",
            Self::Unknown => "404 Not Found",
            Self::Method => "405 Method Not Allowed",
            Self::Late => "408 Request Timeout",
            Self::Body => "413 Content Too Large",
            Self::TargetTooLong => "414 URI Too Long",
            Self::Misdirected => "421 Misdirected Request",
            Self::HeadTooLong => "431 Request Header Fields Too Large",
            Self::Failed => "500 Internal Server Error",
            Self::Busy => "503 Service Unavailable",
        }
    }
}

/// What an answer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// A page.
    Html,
    /// A script.
    Script,
    /// A style sheet.
    Style,
    /// A document.
    Json,
    /// A text.
    Text,
    /// Messages that come one after another.
    Events,
}

impl Content {
    fn kind(self) -> &'static str {
        match self {
            Self::Html => "text/html; charset=utf-8",
            Self::Script => "text/javascript; charset=utf-8",
            Self::Style => "text/css; charset=utf-8",
            Self::Json => "application/json",
            Self::Text => "text/plain; charset=utf-8",
            Self::Events => "text/event-stream",
        }
    }
}

/// The bytes of an answer.
#[derive(Debug, Clone)]
pub(super) enum Body {
    /// In the program.
    Fixed(&'static [u8]),
    /// Made, and perhaps kept for others.
    Made(Arc<str>),
}

impl Body {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Fixed(bytes) => bytes,
            Self::Made(text) => text.as_bytes(),
        }
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub(super) struct Response {
    pub(super) status: Status,
    pub(super) content: Content,
    pub(super) body: Body,
    /// Fields of its own.
    pub(super) fields: Vec<(&'static str, Cow<'static, str>)>,
}

impl Response {
    /// An answer that holds this.
    pub(super) fn new(status: Status, content: Content, body: Body) -> Self {
        Self { status, content, body, fields: Vec::new() }
    }

    /// A text that was made for this answer.
    pub(super) fn made(status: Status, content: Content, text: impl Into<Arc<str>>) -> Self {
        Self::new(status, content, Body::Made(text.into()))
    }

    /// With a field.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// The head. `length` is None where messages follow until the connection closes.
    pub(super) fn head(&self, length: Option<usize>, keep_alive: bool) -> String {
        let mut head = format!("HTTP/1.1 {}\r\n", self.status.line());
        let date = Timestamp::now().strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let connection = if keep_alive { "keep-alive" } else { "close" };
        let empty = self.status == Status::Nothing;
        let length = length.filter(|_| !empty).map(|length| length.to_string());
        let always = [("Date", Some(date.as_str())), ("Content-Length", length.as_deref())];
        let named = always.into_iter().chain([
            ("Content-Type", (!empty).then(|| self.content.kind())),
            ("Connection", Some(connection)),
        ]);
        let own = self.fields.iter().map(|(name, value)| (*name, value.as_ref()));
        let fields = named.filter_map(|(name, value)| Some((name, value?)));
        for (name, value) in fields.chain(ALWAYS.iter().copied()).chain(own) {
            head.push_str(name);
            head.push_str(": ");
            // No value of ours has an end of line; should one ever, it does not become a field.
            head.extend(value.chars().filter(|c| !c.is_control()));
            head.push_str("\r\n");
        }
        if !self.fields.iter().any(|(name, _)| *name == "Cache-Control") {
            head.push_str("Cache-Control: no-store\r\n");
        }
        head + "\r\n"
    }

    /// Writes it, within this time.
    pub(super) fn write(
        &self,
        stream: &mut TcpStream,
        head_only: bool,
        keep_alive: bool,
        time: Duration,
    ) -> io::Result<()> {
        let body = self.body.bytes();
        let head = self.head(Some(body.len()), keep_alive);
        let silent = head_only || matches!(self.status, Status::Nothing | Status::Same);
        let mut all = head.into_bytes();
        if !silent {
            all.extend_from_slice(body);
        }
        write_within(stream, &all, time)
    }
}

/// What stands in every answer: nothing comes from elsewhere, runs inline, or is shown inside other pages;
/// and no other site's page can read what is here.
const ALWAYS: &[(&str, &str)] = &[
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Embedder-Policy", "require-corp"),
];

/// Writes everything, or fails when that takes longer.
pub(super) fn write_within(stream: &mut TcpStream, bytes: &[u8], time: Duration) -> io::Result<()> {
    let until = Instant::now() + time;
    let mut rest = bytes;
    while !rest.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(left.max(Duration::from_millis(1))))?;
        match stream.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(length) => rest = &rest[length..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
