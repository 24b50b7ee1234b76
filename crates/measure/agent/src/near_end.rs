//! What the agent hears from the near end: its ticket, signs of life, and the request to stop.

use std::io;
use std::os::fd::AsFd;
use std::thread::Builder;
use std::time::Duration;

use plumb_model::SharedStart;
use plumb_protocol::{LineError, LineReader};

use crate::ticket::{AgentTicket, TICKET_SCHEMA};

/// After so much silence the near end counts as gone.
pub const SILENCE: Duration = Duration::from_secs(10);
/// A ticket is shorter than this, in bytes, even with the record of a long run.
const LONGEST_TICKET: usize = 1 << 30;
/// The ticket follows at once.
const TICKET_WITHIN: Duration = Duration::from_secs(60);

/// A sign of life of the near end.
pub(crate) const BEAT: &str = "beat";
/// The request to stop.
pub(crate) const STOP: &str = "stop";
/// The request for the time, with its number.
pub(crate) const CLOCK: &str = "clock";
/// The announcement of a start, with its three figures.
pub(crate) const START: &str = "start";

/// What the near end wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NearRequest {
    /// That the run ends early, in order.
    Stop,
    /// The time of this machine, in answer to the request of this number.
    Clock(u32),
    /// That the samples of an invocation begin.
    Start(SharedStart),
    /// Nothing more: it is gone.
    Gone,
}

/// Reads the ticket, and returns the reader of what follows.
///
/// # Errors
/// When there is none, or it is not a ticket of this version.
pub fn read_ticket<F: AsFd>(from: F) -> Result<(AgentTicket, LineReader<F>), String> {
    let mut lines = LineReader::new(from, LONGEST_TICKET);
    let line = loop {
        match lines.next_line(Some(TICKET_WITHIN)) {
            Ok(line) => break line,
            Err(LineError::Interrupted) => {}
            Err(error) => return Err(format!("no ticket: {error}")),
        }
    };
    let ticket: AgentTicket =
        serde_json::from_str(&line).map_err(|error| format!("not a ticket: {error}"))?;
    if ticket.schema != TICKET_SCHEMA {
        return Err(format!("the ticket has the schema {}, not {TICKET_SCHEMA}", ticket.schema));
    }
    Ok((ticket, lines))
}

/// Starts a thread that passes on each request of the near end. It ends after [`NearRequest::Gone`].
///
/// # Errors
/// When no thread can be started.
pub fn watch<F: AsFd + Send + 'static>(
    mut lines: LineReader<F>,
    mut on: impl FnMut(NearRequest) + Send + 'static,
) -> io::Result<()> {
    let watching = move || {
        loop {
            match lines.next_line(Some(SILENCE)) {
                // Whatever else it says, it is there.
                Ok(line) => request(&line).into_iter().for_each(&mut on),
                Err(LineError::Interrupted) => {}
                Err(_) => return on(NearRequest::Gone),
            }
        }
    };
    Builder::new().name("near end".to_owned()).spawn(watching).map(drop)
}

/// The request in a line; None for a sign of life.
fn request(line: &str) -> Option<NearRequest> {
    let mut words = line.split(' ');
    match words.next()? {
        STOP => Some(NearRequest::Stop),
        CLOCK => words.next()?.parse().ok().map(NearRequest::Clock),
        START => Some(NearRequest::Start(SharedStart {
            at_ns: words.next()?.parse().ok()?,
            ahead_ns: words.next()?.parse().ok()?,
            error_ns: words.next()?.parse().ok()?,
        })),
        _ => None,
    }
}

/// The line that announces a start.
pub(crate) fn announcement(start: SharedStart) -> String {
    format!("{START} {} {} {}", start.at_ns, start.ahead_ns, start.error_ns)
}

#[cfg(test)]
mod tests {
    use std::io::{Write, pipe};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use plumb_model::SharedStart;

    use super::{NearRequest, announcement, read_ticket, request, watch};
    use crate::ticket::AgentWork;

    #[test]
    fn requests_follow_the_ticket_until_the_near_end_is_gone() {
        let (from, mut to) = pipe().unwrap();
        let ticket = r#"{"schema":"plumb.ticket/1","nonce":"n","run":"00000000-0000-7000-8000-000000000000","work":{"command":{"words":["run"],"suites":{}}},"command":[],"salt":""}"#;
        writeln!(to, "{ticket}\nbeat\nstop\nbeat").unwrap();
        let (ticket, lines) = read_ticket(from).unwrap();
        let words = vec!["run".to_owned()];
        assert_eq!(ticket.work, AgentWork::Command { words, suites: [].into() });
        let (heard, requests) = channel();
        watch(lines, move |request| heard.send(request).unwrap()).unwrap();
        assert_eq!(requests.recv_timeout(Duration::from_secs(5)), Ok(NearRequest::Stop));
        drop(to);
        assert_eq!(requests.recv_timeout(Duration::from_secs(5)), Ok(NearRequest::Gone));
        assert!(requests.recv_timeout(Duration::from_secs(5)).is_err(), "the thread has ended");
    }

    #[test]
    fn starts_and_requests_for_the_time_are_read_and_all_else_is_a_sign_of_life() {
        let start = SharedStart { at_ns: 5_000_000_000, ahead_ns: -7, error_ns: 90_000 };
        assert_eq!(request(&announcement(start)), Some(NearRequest::Start(start)));
        assert_eq!(request("clock 3"), Some(NearRequest::Clock(3)));
        for other in ["beat", "", "clock", "clock x", "start 1 2", "start -1 2 3", "started 1 2 3"]
        {
            assert_eq!(request(other), None, "{other}");
        }
    }

    #[test]
    fn other_tickets_are_refused() {
        for (line, why) in [
            ("", "no ticket"),
            ("hello\n", "not a ticket"),
            (
                "{\"schema\":\"plumb.ticket/9\",\"nonce\":\"n\",\"run\":\"00000000-0000-7000-8000-000000000000\",\"work\":{\"command\":{\"words\":[],\"suites\":{}}},\"command\":[],\"salt\":\"\"}\n",
                "plumb.ticket/9",
            ),
        ] {
            let (from, mut to) = pipe().unwrap();
            to.write_all(line.as_bytes()).unwrap();
            drop(to);
            let error = read_ticket(from).map(|(ticket, _)| ticket).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
