//! A socket that sends ICMP echo requests to 127.0.0.1 and receives the replies.
#![expect(
    unsafe_code,
    reason = "send and recv are timed as bare system calls; filters have no safe form"
)]

use std::io;
use std::mem::size_of_val;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with};

const HEADER: usize = 8;
const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;

/// Why there is no socket.
#[derive(Debug)]
pub enum OpenError {
    /// The user may not; says what was tried.
    Forbidden(String),
    /// Anything else.
    Other(String),
}

/// How the socket talks to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SocketKind {
    /// The kernel sets identifier and checksum and delivers only replies to this socket.
    Datagram,
    /// Everything is ours, and replies to others arrive, too.
    Raw,
}

/// A socket, connected to 127.0.0.1, that waits at most 1 s for a reply.
pub struct EchoSocket {
    fd: OwnedFd,
    kind: SocketKind,
    identifier: u16,
    packet: Vec<u8>,
}

impl EchoSocket {
    /// An unprivileged echo socket where the user's group may have one, else a raw one.
    ///
    /// # Errors
    /// When the user may have neither.
    pub fn open() -> Result<Self, OpenError> {
        Self::open_with(socket)
    }

    fn open_with(open: impl Fn(SocketType) -> io::Result<OwnedFd>) -> Result<Self, OpenError> {
        let mut tried = Vec::new();
        for (kind, number, name) in [
            (SocketKind::Datagram, SocketType::DGRAM, "ICMP datagram socket"),
            (SocketKind::Raw, SocketType::RAW, "raw socket"),
        ] {
            match open(number) {
                Ok(fd) => return Self::with(fd, kind).map_err(|e| OpenError::Other(e.to_string())),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    tried.push(format!("{name}: {error}"));
                }
                Err(error) => return Err(OpenError::Other(format!("{name}: {error}"))),
            }
        }
        Err(OpenError::Forbidden(tried.join("; ")))
    }

    fn with(fd: OwnedFd, kind: SocketKind) -> io::Result<Self> {
        connect(&fd, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
        set_socket_timeout(&fd, Timeout::Recv, Some(Duration::from_secs(1)))?;
        let identifier = own_identifier();
        if kind == SocketKind::Raw {
            // ICMP_FILTER (1): a set bit drops that type; only echo replies pass.
            set(&fd, libc::SOL_RAW, 1, &!(1_u32 << ECHO_REPLY))?;
            admit_only(&fd, identifier)?;
        }
        Ok(Self { fd, kind, identifier, packet: Vec::with_capacity(HEADER + 8192) })
    }

    /// What the notes call it.
    pub fn kind(&self) -> &'static str {
        match self.kind {
            SocketKind::Datagram => "ICMP datagram, unprivileged",
            SocketKind::Raw => "raw ICMP, with CAP_NET_RAW",
        }
    }

    /// Sends a request.
    ///
    /// # Errors
    /// Those of send.
    pub fn send(&mut self, sequence: u16, payload: &[u8]) -> io::Result<()> {
        self.packet.clear();
        self.packet.extend_from_slice(&[ECHO_REQUEST, 0, 0, 0]);
        self.packet.extend_from_slice(&self.identifier.to_be_bytes());
        self.packet.extend_from_slice(&sequence.to_be_bytes());
        self.packet.extend_from_slice(payload);
        if self.kind == SocketKind::Raw {
            let sum = checksum(&self.packet).to_be_bytes();
            self.packet[2..4].copy_from_slice(&sum);
        }
        let (address, length) = (self.packet.as_ptr(), self.packet.len());
        // SAFETY: the packet is valid for its length.
        let sent = unsafe { libc::send(self.fd.as_raw_fd(), address.cast(), length, 0) };
        match usize::try_from(sent) {
            Ok(sent) if sent == length => Ok(()),
            Ok(_) => Err(io::ErrorKind::WriteZero.into()),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }

    /// Waits for a reply to this socket: its sequence number and payload.
    ///
    /// # Errors
    /// Those of recv; `WouldBlock` after 1 s of silence.
    pub fn receive<'b>(&mut self, buffer: &'b mut [u8]) -> io::Result<(u16, &'b [u8])> {
        let (start, length) = loop {
            let length = self.receive_packet(buffer)?;
            let start = match self.kind {
                SocketKind::Datagram => 0,
                SocketKind::Raw => usize::from(buffer[0] & 0x0f) * 4,
            };
            let packet = buffer.get(start..length).unwrap_or_default();
            if packet.len() >= HEADER && packet[0] == ECHO_REPLY && self.is_ours(packet) {
                break (start, length);
            }
        };
        let sequence = u16::from_be_bytes([buffer[start + 6], buffer[start + 7]]);
        Ok((sequence, &buffer[start + HEADER..length]))
    }

    /// The kernel hands a datagram socket only its own replies, and chooses the identifier.
    fn is_ours(&self, packet: &[u8]) -> bool {
        self.kind == SocketKind::Datagram || packet[4..6] == self.identifier.to_be_bytes()
    }

    fn receive_packet(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // SAFETY: the buffer is valid for its length.
            let n = unsafe {
                libc::recv(self.fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0)
            };
            match usize::try_from(n) {
                Ok(n) => return Ok(n),
                Err(_) => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
            }
        }
    }
}

/// Drops replies to others before they fill the socket's buffer: without it the flood of another
/// program would push our own replies out.
fn admit_only(fd: &OwnedFd, identifier: u16) -> io::Result<()> {
    let step = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter {
        code: u16::try_from(code).unwrap_or(0),
        jt,
        jf,
        k,
    };
    let mut steps = [
        // The length of the IP header goes to the index register,
        step(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, 0, 0, 0),
        // the identifier behind it is compared,
        step(libc::BPF_LD | libc::BPF_H | libc::BPF_IND, 4, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, u32::from(identifier), 0, 1),
        // and the whole packet passes, or nothing.
        step(libc::BPF_RET | libc::BPF_K, u32::MAX, 0, 0),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
    ];
    let length = u16::try_from(steps.len()).unwrap_or(0);
    let program = libc::sock_fprog { len: length, filter: steps.as_mut_ptr() };
    set(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Differs between sockets of a process and, most likely, from those of other programs.
fn own_identifier() -> u16 {
    static SOCKETS: AtomicU32 = AtomicU32::new(0);
    let number = SOCKETS.fetch_add(1, Ordering::Relaxed);
    let mixed = std::process::id().wrapping_add(number.wrapping_mul(0x9e37));
    u16::try_from(mixed & 0xffff).unwrap_or(0)
}

fn socket(kind: SocketType) -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::INET, kind, SocketFlags::CLOEXEC, Some(ipproto::ICMP))?)
}

fn set<T>(fd: &OwnedFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of_val(value)).unwrap_or(0);
    let address: *const T = value;
    // SAFETY: the value is valid for its length.
    let result = unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, address.cast(), length) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The Internet checksum (RFC 1071) of a packet whose checksum field is 0.
fn checksum(packet: &[u8]) -> u16 {
    let mut sum: u32 = packet
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)])))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{EchoSocket, OpenError, checksum};
    use std::io;

    #[test]
    fn the_checksum_is_the_internet_checksum() {
        // RFC 1071, section 3: the sum of 00 01 f2 03 f4 f5 f6 f7 is ddf2.
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(checksum(&[1]), !0x0100, "an odd byte is padded");
    }

    #[test]
    fn without_permission_it_says_what_was_tried() {
        let error = EchoSocket::open_with(|_| Err(io::ErrorKind::PermissionDenied.into()));
        let Err(OpenError::Forbidden(why)) = error else { panic!("it was opened") };
        assert!(why.contains("ICMP datagram socket") && why.contains("raw socket"), "{why}");
        let error = EchoSocket::open_with(|_| Err(io::ErrorKind::Unsupported.into()));
        assert!(matches!(error, Err(OpenError::Other(_))));
    }
}
