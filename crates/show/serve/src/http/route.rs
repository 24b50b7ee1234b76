//! The meaning of an address.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::body::Bytes;
use plumb_model::Id;
use plumb_site::{assets, entrance_page, message_page};

use super::api;
use super::events::Events;
use super::guard::{Credential, admit, cookie_name};
use super::request::HttpRequest;
use super::response::{Response, ResponseContent};
use super::shared::Shared;
use crate::refusal::ServeRefusal;

/// An answer, or the begin of one that goes on.
pub(super) enum Answer {
    /// All of it.
    Whole(Response),
    /// Messages about a run.
    Follow(Events),
}

/// The type of request.
enum Resource<'r> {
    Page(&'r str),
    Charts(&'r str),
    Search,
    Script,
    Style,
    Icon,
    Events,
    Document(&'r str),
}

impl<'r> Resource<'r> {
    /// What a path means. Paths are looked up as they came: what is encoded or climbs is none of them.
    fn of(path: &'r str) -> Option<Self> {
        Some(match path {
            "/" => Self::Page("index"),
            "/plumb.js" => Self::Script,
            "/plumb.css" => Self::Style,
            "/favicon.ico" => Self::Icon,
            "/events" => Self::Events,
            "/data/search.js" => Self::Search,
            _ => {
                let path = path.strip_prefix('/')?;
                if let Some(document) = path.strip_prefix("api/") {
                    return Some(Self::Document(document));
                }
                match path.strip_prefix("data/") {
                    Some(script) => Self::Charts(page_name(script.strip_suffix(".js")?)?),
                    None => Self::Page(page_name(path.strip_suffix(".html")?)?),
                }
            }
        })
    }
}

/// A name that a page could have.
fn page_name(name: &str) -> Option<&str> {
    let fits = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"._-".contains(&c);
    (!name.is_empty() && !name.starts_with('.') && name.bytes().all(fits)).then_some(name)
}

/// Answers a request.
pub(super) fn answer(request: &HttpRequest, shared: &Arc<Shared>) -> Answer {
    let shown = match admit(request, shared.address, shared.token.as_ref()) {
        Ok(shown) => shown,
        Err((status, why)) => {
            return Answer::Whole(said(request, status, "Access denied", why, None));
        }
    };
    match found(request, shared, shown) {
        Ok(Answer::Whole(response)) if shown == Credential::InAddress => {
            Answer::Whole(with_cookie(response, shared))
        }
        Ok(answer) => answer,
        Err(refusal) => Answer::Whole(failed(request, &refusal)),
    }
}

fn found(
    request: &HttpRequest,
    shared: &Arc<Shared>,
    shown: Credential,
) -> Result<Answer, ServeRefusal> {
    let nothing = || ServeRefusal::unknown(format!("no such page: {}", request.path));
    let resource = Resource::of(&request.path).ok_or_else(nothing)?;
    let page = |name| api::page(shared, name);
    Ok(Answer::Whole(match resource {
        // The token does not stay where people could copy it from.
        Resource::Page(name) if shown == Credential::InAddress => Response::fine(
            ResponseContent::Html,
            entrance_page(&format!("{name}.html")).render().html,
        ),
        Resource::Page(name) => Response::fine(ResponseContent::Html, page(name)?.html.clone()),
        Resource::Charts(name) => {
            Response::fine(ResponseContent::Script, page(name)?.charts.clone())
        }
        Resource::Search => {
            Response::fine(ResponseContent::Script, shared.page_cache.search()?.charts.clone())
        }
        Resource::Script => asset(request, ResponseContent::Script, assets::SCRIPT),
        Resource::Style => asset(request, ResponseContent::Style, assets::STYLE),
        // Browsers ask for it unasked.
        Resource::Icon => Response::empty(StatusCode::NO_CONTENT),
        Resource::Document(path) => {
            Response::fine(ResponseContent::Json, api::document(shared, path, request)?)
        }
        Resource::Events => return events(request, shared),
    }))
}

/// Messages about a run. A browser asks again when the connection has ended, and tells the last message it
/// had. After the end of the run it would ask repeatedly: it is told to stay away.
fn events(request: &HttpRequest, shared: &Shared) -> Result<Answer, ServeRefusal> {
    let run = request
        .asked("run")
        .and_then(|run| Id::parse_str(run).ok())
        .ok_or_else(|| ServeRefusal::unknown("no run is named").hint("/events?run=ID"))?;
    // Before the permit: a HEAD request follows nothing and must not take a follower's place.
    if request.head_only {
        return Ok(Answer::Whole(Response::fine(ResponseContent::Events, Bytes::new())));
    }
    let permit =
        Arc::clone(&shared.followers).try_acquire_owned().map_err(|_| ServeRefusal::Busy)?;
    let events = Events::of(shared.followed.join(run)?, permit, shared.stays);
    // 204 is the one answer after which an EventSource does not connect again.
    Ok(if request.field("last-event-id").is_some() && events.is_over() {
        Answer::Whole(Response::empty(StatusCode::NO_CONTENT))
    } else {
        Answer::Follow(events)
    })
}

/// A part of the program; a browser that has it already is told so.
fn asset(request: &HttpRequest, content: ResponseContent, bytes: &'static [u8]) -> Response {
    let tag = format!("\"{:016x}\"", fingerprint(bytes));
    let has_it = request.field("if-none-match").is_some_and(|tags| tags.contains(&tag));
    let response = if has_it {
        Response::empty(StatusCode::NOT_MODIFIED)
    } else {
        Response::fine(content, Bytes::from_static(bytes))
    };
    // A browser may keep it but must ask each time: after an update, old scripts would not fit the new pages.
    response.with("ETag", tag).with("Cache-Control", "no-cache")
}

/// FNV-1a: another one when another plumb has another script.
fn fingerprint(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// With the token as a cookie that no script sees and no other site's page sends.
fn with_cookie(response: Response, shared: &Shared) -> Response {
    let Some(token) = &shared.token else { return response };
    // Browsers send cookies to all ports of a host, so the name tells several servers apart.
    let name = cookie_name(shared.address);
    let cookie = format!("{name}={}; Path=/; HttpOnly; SameSite=Strict", token.text());
    response.with("Set-Cookie", cookie)
}

/// A refusal in the form of what was asked for.
pub(super) fn failed(request: &HttpRequest, refusal: &ServeRefusal) -> Response {
    let (status, title) = kind(refusal);
    let hint = match refusal {
        ServeRefusal::Unknown { hint, .. } => hint.as_deref(),
        _ => None,
    };
    said(request, status, title, &refusal.to_string(), hint)
}

fn kind(refusal: &ServeRefusal) -> (StatusCode, &'static str) {
    use plumb_store::ErrorKind;
    match refusal {
        ServeRefusal::Unknown { .. } => (StatusCode::NOT_FOUND, "Page not found"),
        ServeRefusal::Busy => (StatusCode::SERVICE_UNAVAILABLE, "Too many requests"),
        ServeRefusal::Store(error) if error.kind() == ErrorKind::Name => {
            (StatusCode::NOT_FOUND, "Run not found")
        }
        ServeRefusal::Store(_) => (StatusCode::INTERNAL_SERVER_ERROR, "The store can't be read"),
        ServeRefusal::Bug(_) => (StatusCode::INTERNAL_SERVER_ERROR, "Internal error"),
    }
}

fn said(
    request: &HttpRequest,
    status: StatusCode,
    title: &str,
    says: &str,
    hint: Option<&str>,
) -> Response {
    if request.path.starts_with("/api/") {
        let document = serde_json::json!({ "error": says, "try": hint });
        return Response::made(status, ResponseContent::Json, document.to_string());
    }
    if request.path.starts_with("/data/") || request.path == "/events" {
        return Response::made(status, ResponseContent::Text, format!("{says}\n"));
    }
    Response::made(status, ResponseContent::Html, message_page(title, says, hint).render().html)
}

#[cfg(test)]
mod tests {
    use super::Resource;

    #[test]
    fn paths_are_names_and_lead_nowhere() {
        for known in ["/", "/index.html", "/run-a.b-c.html", "/data/index.js", "/api/runs"] {
            assert!(Resource::of(known).is_some(), "{known}");
        }
        for unknown in [
            "",
            "//",
            "/..",
            "/../etc/passwd",
            "/../index.html",
            "/..%2findex.html",
            "/%2e%2e/a.html",
            "/a%00.html",
            "/.html",
            "/data/../index.html",
            "/data/%2e.js",
            "/data//a.js",
            "/a/b.html",
            "/A.html",
            "/index.HTML",
            "/index.html/",
            "/data/",
            "/plumb.js/",
            "/~a.html",
            "/a\u{e4}.html",
        ] {
            assert!(Resource::of(unknown).is_none(), "{unknown}");
        }
    }
}
