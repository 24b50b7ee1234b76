//! One connection: requests and answers in turn, or messages about a run until one side leaves.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::body::Body;
use super::limits::HttpLimits;
use super::request::HttpRequest;
use super::response::{Response, ResponseContent};
use super::route::{Answer, answer, failed};
use super::shared::Shared;
use super::timed::TimedConnection;
use crate::refusal::ServeRefusal;

/// Fields of a head.
const MOST_FIELDS: usize = 64;
/// At the end so much of what was sent is read, so that the last answer is not lost with the connection.
const LINGER_BYTES: usize = 64 << 10;
const LINGER: Duration = Duration::from_millis(300);

/// Answers what is asked on a connection, until it ends.
pub(super) async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let follows = Arc::new(AtomicBool::new(false));
    let timed = TimedConnection::new(stream, &shared.limits, Arc::clone(&follows));
    let http = http(&shared.limits);
    let service = service_fn(move |request| {
        Box::pin(answered(request, Arc::clone(&shared), Arc::clone(&follows)))
    });
    let mut connection = http.serve_connection(TokioIo::new(timed), service);
    // An error is one of the reader's: they were told if that was possible, or have gone.
    let _ = poll_fn(|context| connection.poll_without_shutdown(context)).await;
    let stream = connection.into_parts().io.into_inner().into_inner();
    let _ = timeout(LINGER, linger(stream)).await;
}

fn http(limits: &HttpLimits) -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new());
    http.header_read_timeout(limits.head_time);
    http.max_buf_size(limits.head_bytes);
    http.max_headers(MOST_FIELDS);
    http
}

/// The answer to a request. What it takes from the store is read by a thread that may block.
async fn answered(
    request: hyper::Request<Incoming>,
    shared: Arc<Shared>,
    follows: Arc<AtomicBool>,
) -> Result<hyper::Response<Body>, Infallible> {
    let request = match HttpRequest::of(&request, &shared.limits) {
        Ok(request) => Arc::new(request),
        Err((status, why)) => {
            let said = Response::made(status, ResponseContent::Text, format!("{why}\n"));
            return Ok(said.with("Connection", "close").into());
        }
    };
    let asked = Arc::clone(&request);
    // An answer may read a long run from the store: the thread that serves everybody must not wait for that.
    let found = spawn_blocking(move || answer(&asked, &shared)).await;
    let bug = |_| Answer::Whole(failed(&request, &ServeRefusal::Bug("it panicked".into())));
    Ok(match found.unwrap_or_else(bug) {
        Answer::Whole(response) => response.into(),
        Answer::Follow(events) => {
            follows.store(true, Ordering::Relaxed);
            Response::of_events(events)
        }
    })
}

/// Says that nothing more comes, and takes what the reader still sends: were it left unread, the system would
/// take the answer back.
async fn linger(mut stream: TcpStream) {
    if stream.shutdown().await.is_err() {
        return;
    }
    let mut piece = [0; 4096];
    for _ in 0..LINGER_BYTES / piece.len() {
        if !matches!(stream.read(&mut piece).await, Ok(1..)) {
            return;
        }
    }
}

/// Turns a connection away that is one too many; never waits for it.
pub(super) fn turn_away(stream: TcpStream) {
    let why = "too many connections at once; try again in a moment\n";
    let response =
        Response::made(hyper::StatusCode::SERVICE_UNAVAILABLE, ResponseContent::Text, why);
    let response = response.with("Retry-After", "2");
    let Ok(mut stream) = stream.into_std() else { return };
    loop {
        match std::io::Write::write(&mut stream, response.text().as_bytes()) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // It fits into the empty buffer of a new connection, or is lost.
            _ => return,
        }
    }
}
