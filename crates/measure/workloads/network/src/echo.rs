//! A socket that sends ICMP echo requests to a host and receives the replies.
#![expect(
    unsafe_code,
    reason = "send and recv are timed as bare system calls; filters have no safe form"
)]

use std::io;
use std::mem::size_of_val;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with};

const HEADER: usize = 8;
/// Types of messages: request and reply of ICMP (RFC 792) and of ICMPv6 (RFC 4443).
const ECHO: [u8; 2] = [8, 0];
const ECHO_V6: [u8; 2] = [128, 129];

/// Why there is no socket.
#[derive(Debug)]
pub enum OpenError {
    /// The user may not; says what was tried.
    Forbidden(String),
    /// An answer of another kind, in words.
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

/// A socket, connected to a host.
pub struct EchoSocket {
    fd: OwnedFd,
    kind: SocketKind,
    is_v6: bool,
    identifier: u16,
    packet: Vec<u8>,
}

impl EchoSocket {
    /// An unprivileged echo socket if the user's group may have one, else a raw one. It waits at most 1 s for a reply.
    ///
    /// # Errors
    /// When the user may have neither.
    pub fn open(host: IpAddr) -> Result<Self, OpenError> {
        Self::open_with(host, |kind| socket(host, kind))
    }

    fn open_with(
        host: IpAddr,
        open: impl Fn(SocketType) -> io::Result<OwnedFd>,
    ) -> Result<Self, OpenError> {
        let mut tried = Vec::new();
        for (kind, number, name) in [
            (SocketKind::Datagram, SocketType::DGRAM, "ICMP datagram socket"),
            (SocketKind::Raw, SocketType::RAW, "raw socket"),
        ] {
            match open(number) {
                Ok(fd) => {
                    let socket = Self::with(host, fd, kind);
                    return socket.map_err(|error| OpenError::Other(format!("{host}: {error}")));
                }
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    tried.push(format!("{name}: {error}"));
                }
                Err(error) => return Err(OpenError::Other(format!("{name}: {error}"))),
            }
        }
        Err(OpenError::Forbidden(tried.join("; ")))
    }

    fn with(host: IpAddr, fd: OwnedFd, kind: SocketKind) -> io::Result<Self> {
        connect(&fd, &SocketAddr::new(host, 0))?;
        set_socket_timeout(&fd, Timeout::Recv, Some(Duration::from_secs(1)))?;
        let identifier = own_identifier();
        let is_v6 = host.is_ipv6();
        if kind == SocketKind::Raw {
            let [_, reply] = if is_v6 { ECHO_V6 } else { ECHO };
            if is_v6 {
                // ICMP6_FILTER (1): the same with a bit for each of 256 types.
                let mut filter = [u32::MAX; 8];
                filter[usize::from(reply / 32)] &= !(1 << (reply % 32));
                set(&fd, libc::IPPROTO_ICMPV6, 1, &filter)?;
            } else {
                // ICMP_FILTER (1): a set bit drops that type; only echo replies pass.
                set(&fd, libc::SOL_RAW, 1, &!(1_u32 << reply))?;
            }
            admit_only(&fd, identifier, is_v6)?;
        }
        Ok(Self { fd, kind, is_v6, identifier, packet: Vec::with_capacity(HEADER + 8192) })
    }

    /// From now on it waits for nothing.
    ///
    /// # Errors
    /// When the kernel can't do that.
    pub fn waits_for_nothing(&self) -> io::Result<()> {
        Ok(rustix::io::ioctl_fionbio(&self.fd, true)?)
    }

    /// The types of a request and of its reply.
    fn types(&self) -> [u8; 2] {
        if self.is_v6 { ECHO_V6 } else { ECHO }
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
        self.packet.extend_from_slice(&[self.types()[0], 0, 0, 0]);
        self.packet.extend_from_slice(&self.identifier.to_be_bytes());
        self.packet.extend_from_slice(&sequence.to_be_bytes());
        self.packet.extend_from_slice(payload);
        // The kernel computes that of ICMPv6, as it has the addresses in it.
        if self.kind == SocketKind::Raw && !self.is_v6 {
            let sum = checksum(&self.packet).to_be_bytes();
            self.packet[2..4].copy_from_slice(&sum);
        }
        let address = self.packet.as_ptr();
        let length = self.packet.len();
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
    /// Those of recv; `WouldBlock` after 1 s of silence, or at once if it waits for nothing.
    pub fn receive<'b>(&mut self, buffer: &'b mut [u8]) -> io::Result<(u16, &'b [u8])> {
        let (start, length) = loop {
            let length = self.receive_packet(buffer)?;
            let start = match self.kind {
                SocketKind::Raw if !self.is_v6 => usize::from(buffer[0] & 0x0f) * 4,
                // Without the header of IP.
                SocketKind::Raw | SocketKind::Datagram => 0,
            };
            let packet = buffer.get(start..length).unwrap_or_default();
            if packet.len() >= HEADER && packet[0] == self.types()[1] && self.is_ours(packet) {
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

impl AsFd for EchoSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Drops replies to others before they fill the socket's buffer: without it the flood of another
/// program would push our own replies out.
fn admit_only(fd: &OwnedFd, identifier: u16, is_v6: bool) -> io::Result<()> {
    let step = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter {
        code: u16::try_from(code).unwrap_or(0),
        jt,
        jf,
        k,
    };
    let mut steps = [
        // The length of the IP header goes to the index register; of IPv6 a filter sees none,
        if is_v6 {
            step(libc::BPF_LDX | libc::BPF_W | libc::BPF_IMM, 0, 0, 0)
        } else {
            step(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, 0, 0, 0)
        },
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

fn socket(host: IpAddr, kind: SocketType) -> io::Result<OwnedFd> {
    let (family, protocol) = match host {
        IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP),
        IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6),
    };
    Ok(socket_with(family, kind, SocketFlags::CLOEXEC, Some(protocol))?)
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
    use std::io;
    use std::net::Ipv4Addr;

    use super::{EchoSocket, OpenError, checksum};

    #[test]
    fn the_checksum_is_the_internet_checksum() {
        // RFC 1071, section 3: the sum of 00 01 f2 03 f4 f5 f6 f7 is ddf2.
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(checksum(&[1]), !0x0100, "an odd byte is padded");
    }

    #[test]
    fn without_permission_it_says_what_was_tried() {
        let open = |kind: io::ErrorKind| {
            EchoSocket::open_with(Ipv4Addr::LOCALHOST.into(), |_| Err(kind.into()))
        };
        let error = open(io::ErrorKind::PermissionDenied);
        let Err(OpenError::Forbidden(why)) = error else { panic!("it was opened") };
        assert!(why.contains("ICMP datagram socket") && why.contains("raw socket"), "{why}");
        let error = open(io::ErrorKind::Unsupported);
        assert!(matches!(error, Err(OpenError::Other(_))));
    }
}
