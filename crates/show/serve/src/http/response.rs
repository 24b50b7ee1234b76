//! Answers, and the fields that stand in all of them.

use std::borrow::Cow;

use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::HeaderValue;

use super::body::Body;
use super::events::Events;

/// The content of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseContent {
    /// An HTML page.
    Html,
    /// A script in JavaScript.
    Script,
    /// A style sheet.
    Style,
    /// A document in JSON.
    Json,
    /// Plain text in UTF-8.
    Text,
    /// Messages that come one after another.
    Events,
}

impl ResponseContent {
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

/// An answer that is complete.
#[derive(Debug, Clone)]
pub(super) struct Response {
    status: StatusCode,
    content: ResponseContent,
    bytes: Bytes,
    /// Its own fields.
    fields: Vec<(&'static str, Cow<'static, str>)>,
}

impl Response {
    /// An answer that holds a text made for it.
    pub(super) fn made(
        status: StatusCode,
        content: ResponseContent,
        text: impl Into<Bytes>,
    ) -> Self {
        Self { status, content, bytes: text.into(), fields: Vec::new() }
    }

    /// The requested settings.
    pub(super) fn fine(content: ResponseContent, text: impl Into<Bytes>) -> Self {
        Self::made(StatusCode::OK, content, text)
    }

    /// An answer that holds nothing.
    pub(super) fn empty(status: StatusCode) -> Self {
        Self::made(status, ResponseContent::Text, Bytes::new())
    }

    /// With a field.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// An answer that goes on with messages, until the connection ends.
    pub(super) fn of_events(events: Events) -> hyper::Response<Body> {
        let head = Self { content: ResponseContent::Events, ..Self::empty(StatusCode::OK) };
        head.with("Connection", "close").and(Body::of_events(events))
    }

    /// As text, for who is turned away before HTTP begins.
    pub(super) fn text(&self) -> String {
        let length = self.bytes.len();
        let mut text = format!(
            "HTTP/1.1 {}\r\nConnection: close\r\nContent-Length: {length}\r\n",
            self.status
        );
        for (name, value) in self.all_fields() {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text + "\r\n" + &String::from_utf8_lossy(&self.bytes)
    }

    fn all_fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let holds = !matches!(self.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        let own = || self.fields.iter().map(|(name, value)| (*name, value.as_ref()));
        let kind = holds.then(|| ("Content-Type", self.content.kind()));
        let is_cached = own().any(|(name, _)| name == "Cache-Control");
        let fresh = (!is_cached).then_some(("Cache-Control", "no-store"));
        let is_refused_method = self.status == StatusCode::METHOD_NOT_ALLOWED;
        let allow = is_refused_method.then_some(("Allow", "GET, HEAD"));
        kind.into_iter().chain(fresh).chain(allow).chain(ALWAYS.iter().copied()).chain(own())
    }

    fn and(self, body: Body) -> hyper::Response<Body> {
        let mut response = hyper::Response::new(body);
        *response.status_mut() = self.status;
        for (name, value) in self.all_fields() {
            // No value of ours has an end of line; should one ever, it does not become a field.
            if let Ok(value) = HeaderValue::from_str(value) {
                response.headers_mut().append(name, value);
            }
        }
        response
    }
}

impl From<Response> for hyper::Response<Body> {
    fn from(response: Response) -> Self {
        let body = Body::Whole(response.bytes.clone());
        response.and(body)
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
