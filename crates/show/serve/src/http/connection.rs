//! One connection: requests and answers in turn, or messages about a run until one side leaves.

use std::io::{ErrorKind, Read};
use std::net::{Shutdown, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use plumb_model::Id;

use super::request::{NoRequest, Requests};
use super::response::{Body, Content, Response, Status, write_within};
use super::route::{Answer, answer};
use super::{Follower, Shared};
use crate::Refusal;
use crate::follow::{Heard, Watcher};

/// Who follows a run in which nothing happens is looked after so often,
const LOOK: Duration = Duration::from_secs(2);
/// and hears something once in so many looks, so that nothing between takes the connection for dead.
const HEARTBEAT: u32 = 8;
/// After a refusal so much of what was sent is read, so that the answer is not lost with the connection.
const LINGER_BYTES: usize = 64 << 10;
const LINGER: Duration = Duration::from_millis(300);

/// Answers what is asked on a connection, until it ends.
pub(super) fn serve(mut stream: TcpStream, shared: &Arc<Shared>) {
    let limits = &shared.limits;
    let mut requests = Requests::default();
    let blocking = stream.set_nonblocking(false).and_then(|()| stream.set_nodelay(true));
    if blocking.is_err() {
        return;
    }
    while !shared.stops() {
        let request = match requests.next(&mut stream, limits) {
            Ok(request) => request,
            Err(NoRequest::Gone) => return,
            Err(NoRequest::Refused(status, why)) => return refuse(&mut stream, status, why),
        };
        let answered = catch_unwind(AssertUnwindSafe(|| answer(&request, shared)));
        let bug =
            |_| Answer::Whole(super::route::failed(&request, &Refusal::Bug("it panicked".into())));
        match answered.unwrap_or_else(bug) {
            Answer::Follow(run, again) => return follow(stream, shared, run, again),
            Answer::Whole(response) => {
                let (head_only, keep_alive) = (request.head_only, request.keep_alive);
                let time = limits.answer_time;
                let written = response.write(&mut stream, head_only, keep_alive, time);
                if written.is_err() || !keep_alive {
                    return;
                }
            }
        }
    }
}

/// Says why there is no other answer, and closes.
fn refuse(stream: &mut TcpStream, status: Status, why: &str) {
    let response = Response::made(status, Content::Text, format!("{why}\n"));
    let response =
        if status == Status::Method { response.with("Allow", "GET, HEAD") } else { response };
    if response.write(stream, false, false, LINGER).is_err() {
        return;
    }
    let _ = stream.shutdown(Shutdown::Write).and_then(|()| stream.set_read_timeout(Some(LINGER)));
    let mut piece = [0; 4096];
    for _ in 0..LINGER_BYTES / piece.len() {
        if !matches!(stream.read(&mut piece), Ok(1..)) {
            return;
        }
    }
}

/// Turns a connection away that is one too many; never waits for it.
pub(super) fn turn_away(stream: &TcpStream) {
    let Ok(mut stream) = stream.try_clone() else { return };
    let _ = stream.set_nonblocking(true);
    let why = "too many connections at once; try again in a moment\n";
    let response = Response::made(Status::Busy, Content::Text, why).with("Retry-After", "2");
    let _ = response.write(&mut stream, false, false, Duration::from_millis(1));
}

/// Tells what happens in a run. A browser that comes again after the end would come again and again: it is
/// told to stay away.
fn follow(mut stream: TcpStream, shared: &Arc<Shared>, run: Id, again: bool) {
    let time = shared.limits.answer_time;
    let (_place, watcher) = match joined(shared, run) {
        Ok(joined) => joined,
        Err(refusal) => {
            let _ = super::route::refused(&refusal).write(&mut stream, false, false, time);
            return;
        }
    };
    let over = again && watcher.is_over();
    let status = if over { Status::Nothing } else { Status::Fine };
    let head = Response::new(status, Content::Events, Body::Fixed(b"")).head(None, false);
    if write_within(&mut stream, head.as_bytes(), time).is_ok() && !over {
        tell(&mut stream, shared, watcher);
    }
}

fn joined(shared: &Arc<Shared>, run: Id) -> Result<(Follower, Watcher), Refusal> {
    let place = shared.follow().ok_or(Refusal::Busy)?;
    Ok((place, shared.watches.join(run)?))
}

/// Sends message after message. A reader who does not take one in time is left: they can come back, and
/// get in one message what they missed.
fn tell(stream: &mut TcpStream, shared: &Shared, mut watcher: Watcher) {
    let mut looks: u32 = 0;
    loop {
        looks += 1;
        let (text, over) = match watcher.next(LOOK) {
            Heard::Over => return,
            Heard::Nothing if has_gone(stream) => return,
            Heard::Nothing if !looks.is_multiple_of(HEARTBEAT) => continue,
            Heard::Nothing => (":\n\n".to_owned(), false),
            Heard::Message(mut message, over) => {
                if over && !shared.stays {
                    message.says.push_str("; `plumb serve` shows its pages");
                }
                let Ok(json) = serde_json::to_string(&message) else { return };
                (format!("id: {}\ndata: {json}\n\n", message.number), over)
            }
        };
        let sent = write_within(stream, text.as_bytes(), shared.limits.message_time);
        if over || sent.is_err() {
            return;
        }
    }
}

/// Whether the reader has closed the connection. What they may have sent is nothing to wait for.
fn has_gone(stream: &TcpStream) -> bool {
    let looked = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut [0]));
    let blocks = stream.set_nonblocking(false);
    let waits = looked.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
    blocks.is_err() || !(waits || matches!(looked, Ok(1..)))
}
