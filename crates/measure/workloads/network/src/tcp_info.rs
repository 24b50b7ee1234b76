//! The kernel's state of a TCP connection (tcp(7), `TCP_INFO`).
#![expect(unsafe_code, reason = "TCP_INFO has no safe form")]

use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// Longer than what any kernel tells so far.
const LONGEST: usize = 512;

/// Where numbers lie in `struct tcp_info` of linux/tcp.h, which grows at its end only.
const SND_MSS: usize = 16;
const RTT: usize = 68;
const SND_CWND: usize = 80;
const BUSY_TIME: usize = 168;
const RWND_LIMITED: usize = 176;
const SNDBUF_LIMITED: usize = 184;
const BYTES_SENT: usize = 200;
const BYTES_RETRANS: usize = 208;

/// The sender's state of a connection; a number that its kernel does not report is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Info {
    /// Bytes sent so far, those sent again included.
    pub sent: u64,
    /// Bytes sent again.
    pub sent_again: u64,
    /// Smoothed round trip, in microseconds.
    pub rtt_us: u64,
    /// Bytes that may be under way by the congestion control.
    pub window: u64,
    /// Time with data under way or to send, in microseconds.
    pub busy_us: u64,
    /// Of it, the time in which the receiver's window was full.
    pub receiver_limited_us: u64,
    /// Of it, the time in which the sender's buffer was too small.
    pub buffer_limited_us: u64,
}

pub(crate) const WORDS: usize = 7;

impl Info {
    /// Of this connection; nothing if the kernel tells nothing.
    pub(crate) fn of(stream: &TcpStream) -> Self {
        let bytes = tcp_info(stream);
        Self {
            sent: number(&bytes, BYTES_SENT, 8),
            sent_again: number(&bytes, BYTES_RETRANS, 8),
            rtt_us: number(&bytes, RTT, 4),
            window: number(&bytes, SND_CWND, 4) * number(&bytes, SND_MSS, 4),
            busy_us: number(&bytes, BUSY_TIME, 8),
            receiver_limited_us: number(&bytes, RWND_LIMITED, 8),
            buffer_limited_us: number(&bytes, SNDBUF_LIMITED, 8),
        }
    }

    pub(crate) fn words(&self) -> [u64; WORDS] {
        [
            self.sent,
            self.sent_again,
            self.rtt_us,
            self.window,
            self.busy_us,
            self.receiver_limited_us,
            self.buffer_limited_us,
        ]
    }

    pub(crate) fn of_words(words: [u64; WORDS]) -> Self {
        let [sent, sent_again, rtt_us, window, busy_us, receiver_limited_us, buffer_limited_us] =
            words;
        Self { sent, sent_again, rtt_us, window, busy_us, receiver_limited_us, buffer_limited_us }
    }
}

/// The structure as the kernel fills it, with zeros behind its end.
fn tcp_info(stream: &TcpStream) -> [u8; LONGEST] {
    let mut bytes = [0_u8; LONGEST];
    let mut length = LONGEST as libc::socklen_t;
    let socket = stream.as_raw_fd();
    let into = bytes.as_mut_ptr().cast();
    // SAFETY: the kernel writes no more than `length` bytes.
    let told = unsafe {
        libc::getsockopt(socket, libc::IPPROTO_TCP, libc::TCP_INFO, into, &raw mut length)
    };
    if told < 0 { [0; LONGEST] } else { bytes }
}

fn number(bytes: &[u8; LONGEST], at: usize, size: usize) -> u64 {
    bytes[at..at + size].iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::Info;

    #[test]
    fn the_kernel_counts_what_was_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        sender.write_all(&[7; 100_000]).unwrap();
        receiver.read_exact(&mut [0; 100_000]).unwrap();
        let info = Info::of(&sender);
        assert_eq!((info.sent, info.sent_again), (100_000, 0));
        assert!((1..1_000_000).contains(&info.rtt_us), "{info:?}");
        assert!(info.window >= 10 * 536, "{info:?}");
        assert_eq!(Info::of_words(info.words()), info);
    }
}
