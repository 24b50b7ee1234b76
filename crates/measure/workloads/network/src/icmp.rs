//! `network.icmp`: echo requests to this machine itself.

use plumb_model::{AuditClass, CurveKind, Description, Ready, Requirement};
use plumb_protocol::{Failure, Instance, SplitMix64, Start, StartError, Started, Workload};

use crate::echo::{EchoSocket, OpenError};
use plumb_workload_kit::declare::{bytes, curve, integer, rate, time, workload};

/// At least this long: with several requests outstanding the borders of a sample would show.
const SHORTEST_SAMPLE_NS: u64 = 1_000_000;

/// Bytes of a payload that tell one request from another.
const MARK: usize = 8;

/// The most requests that may be outstanding; more overflow the socket's buffer.
const MOST_OUTSTANDING: u64 = 64;

/// What opens the door to unprivileged echo sockets.
const FIX: &str = "sysctl net.ipv4.ping_group_range=\"0 2147483647\"";

/// Sends echo requests to 127.0.0.1, a new one for each reply.
pub struct Icmp;

impl Workload for Icmp {
    fn describe(&self) -> Description {
        Description {
            parameters: vec![
                curve(
                    CurveKind::Knee,
                    integer("outstanding", "requests", 1, "requests in flight at a time"),
                ),
                curve(
                    CurveKind::Line,
                    bytes("bytes", 56, "payload of a request, without the 8-byte header"),
                ),
            ],
            metrics: vec![
                rate("rate", "ops/s", "replies received; a request and its reply count once"),
                time("time", "time per reply; the round trip when one request is outstanding"),
            ],
            requirements: vec![Requirement {
                needs: "an ICMP echo socket".into(),
                why: "the group must be in net.ipv4.ping_group_range, or the process have \
                      CAP_NET_RAW"
                    .into(),
                fix: FIX.into(),
            }],
            audit_class: Some(AuditClass::Scheduler),
            ..workload("network.icmp", "ICMP echo requests to 127.0.0.1, a new one for each reply")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("icmp.md")
    }

    fn start(&self, start: &Start) -> Result<Started, StartError> {
        let (outstanding, payload) = read_settings(start)?;
        let socket = EchoSocket::open().map_err(refused)?;
        let notes = vec![format!("socket: {}", socket.kind())];
        let echo = Echo::new(socket, outstanding, payload, start.seed);
        Ok(Started { instance: Box::new(echo), ready: Ready { notes, ..Ready::default() } })
    }
}

fn read_settings(start: &Start) -> Result<(u16, usize), StartError> {
    let (outstanding, payload) = (start.integer("outstanding"), start.size("bytes"));
    let wrong = |text: String| Err(StartError::Failed(text));
    if !(1..=MOST_OUTSTANDING).contains(&outstanding) {
        return wrong(format!("`outstanding` must be 1 to {MOST_OUTSTANDING}, not {outstanding}"));
    }
    if !(MARK..=8192).contains(&payload) {
        return wrong(format!("`bytes` must be {MARK} to 8192, not {payload}"));
    }
    Ok((u16::try_from(outstanding).unwrap_or(1), payload))
}

fn refused(error: OpenError) -> StartError {
    match error {
        OpenError::Forbidden(why) => StartError::unsupported(why, FIX),
        OpenError::Other(why) => StartError::Failed(why),
    }
}

struct Echo {
    socket: EchoSocket,
    outstanding: u16,
    /// Requests without a reply.
    waiting: u16,
    /// Of the next request; the sequence number is its low 16 bits.
    next: u64,
    /// Marks the requests of this invocation.
    secret: u64,
    /// Which sequence numbers have no reply yet.
    sent: Vec<bool>,
    request: Vec<u8>,
    reply: Vec<u8>,
}

impl Echo {
    fn new(socket: EchoSocket, outstanding: u16, payload: usize, seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        let mut request = vec![0; payload];
        random.fill(&mut request);
        Self {
            socket,
            outstanding,
            waiting: 0,
            next: 0,
            secret: random.next_u64(),
            sent: vec![false; 1 << 16],
            request,
            reply: vec![0; payload + 64],
        }
    }

    fn send(&mut self) -> Result<(), Failure> {
        let number = self.next;
        self.request[..MARK].copy_from_slice(&mark(self.secret, number));
        let sequence = low_bits(number);
        self.socket
            .send(sequence, &self.request)
            .map_err(|error| Failure::io("sending an echo request", &error))?;
        self.sent[usize::from(sequence)] = true;
        self.next += 1;
        self.waiting += 1;
        Ok(())
    }

    fn receive(&mut self) -> Result<(), Failure> {
        let (sequence, payload) = self.socket.receive(&mut self.reply).map_err(|error| {
            Failure::io(format!("{} requests got no reply within 1 s", self.waiting), &error)
        })?;
        if !std::mem::take(&mut self.sent[usize::from(sequence)]) {
            return Err(Failure(format!("reply {sequence} matches no outstanding request")));
        }
        let number = newest_with(sequence, self.next - 1);
        if !answers(payload, mark(self.secret, number), &self.request[MARK..]) {
            return Err(Failure(format!("reply {sequence} does not carry its request's payload")));
        }
        self.waiting -= 1;
        Ok(())
    }
}

/// The newest number, none above `newest`, with this sequence number.
fn newest_with(sequence: u16, newest: u64) -> u64 {
    newest - u64::from(low_bits(newest).wrapping_sub(sequence))
}

/// Whether a payload is that of the request with this mark.
fn answers(payload: &[u8], mark: [u8; MARK], rest: &[u8]) -> bool {
    payload.strip_prefix(&mark) == Some(rest)
}

/// What tells the request of this number from all others.
fn mark(secret: u64, number: u64) -> [u8; MARK] {
    (number ^ secret).to_le_bytes()
}

#[expect(clippy::cast_possible_truncation, reason = "the low 16 bits are wanted")]
fn low_bits(number: u64) -> u16 {
    number as u16
}

impl Instance for Echo {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            while self.waiting < self.outstanding {
                self.send()?;
            }
            self.receive()?;
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        while self.waiting > 0 {
            self.receive()?;
        }
        Ok(())
    }

    fn least_iterations(&self) -> u64 {
        16 * u64::from(self.outstanding)
    }

    fn shortest_sample_ns(&self) -> u64 {
        SHORTEST_SAMPLE_NS
    }
}

#[cfg(test)]
mod tests {
    use super::{answers, mark, newest_with};

    #[test]
    fn a_reply_with_other_bytes_is_no_answer() {
        let request = [mark(9, 1).as_slice(), b"rest"].concat();
        assert!(answers(&request, mark(9, 1), b"rest"));
        assert!(!answers(&request, mark(9, 2), b"rest"), "another request");
        assert!(!answers(&request[..11], mark(9, 1), b"rest"), "cut short");
        assert!(!answers(&[&request[..11], b"x"].concat(), mark(9, 1), b"rest"), "corrupted");
    }

    #[test]
    fn sequence_numbers_wrap() {
        assert_eq!(newest_with(5, 5), 5);
        assert_eq!(newest_with(0xffff, 0x1_0003), 0xffff);
        assert_eq!(newest_with(3, 0x1_0003), 0x1_0003);
    }
}
