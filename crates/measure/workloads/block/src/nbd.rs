//! The messages of server and client of NBD: fixed newstyle handshake, simple replies.

use std::io::{self, Read, Write};

/// `NBDMAGIC`, `IHAVEOPT`, and what begins replies to options, requests and replies.
const INIT: u64 = 0x4e42_444d_4147_4943;
const OPTION: u64 = 0x4948_4156_454f_5054;
const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
const REQUEST: u32 = 0x2560_9513;
const REPLY: u32 = 0x6744_6698;

/// Flags of the handshake: it is the fixed one; no zeroes after the answer to EXPORT_NAME.
const FIXED_NEWSTYLE: u16 = 1;
const NO_ZEROES: u16 = 2;
/// Options of the handshake, by the numbers of the NBD protocol.
const EXPORT_NAME: u32 = 1;
const ABORT: u32 = 2;
const INFO: u32 = 6;
const GO: u32 = 7;
/// Types of replies to options.
const ACK: u32 = 1;
const INFORMATION: u32 = 3;
const UNSUPPORTED: u32 = (1 << 31) + 1;
/// The information that says how large the disk is.
const EXPORT: u16 = 0;
/// Flags of the disk: they are there; it takes flushes, and writes that wait (FUA).
const DISK_FLAGS: u16 = 1 | SEND_FLUSH | 8;
const SEND_FLUSH: u16 = 4;
/// It takes trims, and zeroes without data.
const DISCARDS: u16 = 32 | 64;
/// The longest data of an option.
const LONGEST_OPTION: u32 = 64 << 10;
/// Bytes that either end reads from the socket at once.
pub const READ_BUFFER: usize = 256 << 10;
/// The longest data of a request, as the protocol recommends.
pub const LONGEST: u32 = 32 << 20;

/// Bytes of a request without data.
pub const REQUEST_BYTES: usize = 28;
/// Bytes of a reply without data.
pub const REPLY_BYTES: usize = 16;

/// The error of a reply to what lies beyond the disk.
pub const INVALID: u32 = 22;

/// The type of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// Bytes of the disk are wanted.
    Read,
    /// Data are kept.
    Write,
    /// The client ends the connection; no reply follows.
    Disconnect,
    /// What was written has reached the disk.
    Flush,
    /// A range is not needed any more.
    Trim,
    /// A range is zero.
    WriteZeroes,
}

impl RequestKind {
    /// All that can be counted, in the order of their numbers; 2 is the end.
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Write, Self::Disconnect, Self::Flush, Self::Trim, Self::WriteZeroes];
    const NUMBERS: [u16; 6] = [0, 1, 2, 3, 4, 6];

    /// Its place in [`RequestKind::ALL`].
    pub fn index(self) -> usize {
        Self::ALL.iter().position(|kind| *kind == self).unwrap_or(0)
    }
}

/// A request without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NbdRequest {
    /// The type of the request.
    pub kind: RequestKind,
    /// Tells its reply from others.
    pub cookie: u64,
    /// The first byte of the disk that it is about.
    pub offset: u64,
    /// How many bytes.
    pub length: u32,
}

impl NbdRequest {
    /// As it goes over the wire.
    pub fn bytes(&self) -> [u8; REQUEST_BYTES] {
        let mut bytes = [0; REQUEST_BYTES];
        bytes[..4].copy_from_slice(&REQUEST.to_be_bytes());
        bytes[6..8].copy_from_slice(&RequestKind::NUMBERS[self.kind.index()].to_be_bytes());
        bytes[8..16].copy_from_slice(&self.cookie.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_be_bytes());
        bytes[24..].copy_from_slice(&self.length.to_be_bytes());
        bytes
    }

    /// Reads one.
    ///
    /// # Errors
    /// When it is none, or of a type that was not offered, or the socket ends.
    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut bytes = [0; REQUEST_BYTES];
        from.read_exact(&mut bytes)?;
        let number = u16::from_be_bytes([bytes[6], bytes[7]]);
        let place = RequestKind::NUMBERS.iter().position(|known| *known == number);
        match place {
            Some(place) if u32_at(&bytes, 0) == REQUEST => Ok(Self {
                kind: RequestKind::ALL[place],
                cookie: u64_at(&bytes, 8),
                offset: u64_at(&bytes, 16),
                length: u32_at(&bytes, 24),
            }),
            _ => Err(garbage("a request")),
        }
    }

    /// Bytes of data that follow it.
    pub fn payload(&self) -> usize {
        if self.kind == RequestKind::Write { self.length as usize } else { 0 }
    }

    /// Bytes of data that follow its reply.
    pub fn answer(&self) -> usize {
        if self.kind == RequestKind::Read { self.length as usize } else { 0 }
    }
}

/// The head of a reply.
pub fn reply(error: u32, cookie: u64) -> [u8; REPLY_BYTES] {
    let mut bytes = [0; REPLY_BYTES];
    bytes[..4].copy_from_slice(&REPLY.to_be_bytes());
    bytes[4..8].copy_from_slice(&error.to_be_bytes());
    bytes[8..].copy_from_slice(&cookie.to_be_bytes());
    bytes
}

/// Reads the head of a reply: the error, 0 for none, and the cookie.
///
/// # Errors
/// When it is none, or the socket ends.
pub fn read_reply(from: &mut impl Read) -> io::Result<(u32, u64)> {
    let mut bytes = [0; REPLY_BYTES];
    from.read_exact(&mut bytes)?;
    match u32_at(&bytes, 0) {
        REPLY => Ok((u32_at(&bytes, 4), u64_at(&bytes, 8))),
        _ => Err(garbage("a reply")),
    }
}

/// The server's side of the handshake, for a disk of this size, which takes trims and zeroes without data or not:
/// whether requests follow.
///
/// # Errors
/// When the client says something else, or leaves.
pub fn welcome(
    stream: &mut (impl Read + Write),
    size: u64,
    takes_discards: bool,
) -> io::Result<bool> {
    let disk_flags = if takes_discards { DISK_FLAGS | DISCARDS } else { DISK_FLAGS };
    let mut hello = [INIT.to_be_bytes(), OPTION.to_be_bytes()].concat();
    hello.extend((FIXED_NEWSTYLE | NO_ZEROES).to_be_bytes());
    stream.write_all(&hello)?;
    let mut flags = [0; 4];
    stream.read_exact(&mut flags)?;
    let zeroes = u32_at(&flags, 0) & u32::from(NO_ZEROES) == 0;
    loop {
        let mut head = [0; 16];
        stream.read_exact(&mut head)?;
        let option = u32_at(&head, 8);
        let length = u32_at(&head, 12);
        if u64_at(&head, 0) != OPTION || length > LONGEST_OPTION {
            return Err(garbage("an option"));
        }
        let mut data = vec![0; length as usize];
        stream.read_exact(&mut data)?;
        let disk = [&size.to_be_bytes()[..], &disk_flags.to_be_bytes()].concat();
        match option {
            EXPORT_NAME => {
                stream.write_all(&disk)?;
                // The protocol's padding after EXPORT_NAME, unless both ends have agreed to leave it out.
                if zeroes {
                    stream.write_all(&[0; 124])?;
                }
                return Ok(true);
            }
            INFO | GO => {
                let information = [&EXPORT.to_be_bytes()[..], &disk].concat();
                option_reply(stream, option, INFORMATION, &information)?;
                option_reply(stream, option, ACK, &[])?;
                if option == GO {
                    return Ok(true);
                }
            }
            ABORT => {
                option_reply(stream, option, ACK, &[])?;
                return Ok(false);
            }
            _ => option_reply(stream, option, UNSUPPORTED, &[])?,
        }
    }
}

fn option_reply(stream: &mut impl Write, option: u32, kind: u32, data: &[u8]) -> io::Result<()> {
    let length = u32::try_from(data.len()).map_err(io::Error::other)?;
    let mut reply = OPTION_REPLY.to_be_bytes().to_vec();
    reply.extend([option.to_be_bytes(), kind.to_be_bytes(), length.to_be_bytes()].concat());
    reply.extend(data);
    stream.write_all(&reply)
}

/// The greeting of a server about its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Greeted {
    /// The size of the disk, in bytes.
    pub size: u64,
    /// Whether it takes flushes; else none may be sent.
    pub takes_flushes: bool,
}

/// The client's side of the handshake, for the disk of this name.
///
/// # Errors
/// When the server says something else, or has no such disk.
pub fn greet(stream: &mut (impl Read + Write), name: &str) -> io::Result<Greeted> {
    let mut hello = [0; 18];
    stream.read_exact(&mut hello)?;
    let flags = u16::from_be_bytes([hello[16], hello[17]]);
    if u64_at(&hello, 0) != INIT || u64_at(&hello, 8) != OPTION || flags & FIXED_NEWSTYLE == 0 {
        return Err(garbage("an NBD greeting"));
    }
    let flags = u32::from(flags & (FIXED_NEWSTYLE | NO_ZEROES));
    let length = u32::try_from(name.len()).map_err(io::Error::other)?;
    let mut go = flags.to_be_bytes().to_vec();
    go.extend(OPTION.to_be_bytes());
    // 6 bytes besides the name: its own length (4), and the number of wanted informations (2).
    go.extend([GO.to_be_bytes(), (length + 6).to_be_bytes(), length.to_be_bytes()].concat());
    go.extend(name.as_bytes());
    // No information beyond what always comes.
    go.extend(0_u16.to_be_bytes());
    stream.write_all(&go)?;
    let mut greeted = None;
    loop {
        let mut head = [0; 20];
        stream.read_exact(&mut head)?;
        let kind = u32_at(&head, 12);
        let length = u32_at(&head, 16);
        if u64_at(&head, 0) != OPTION_REPLY || length > LONGEST_OPTION {
            return Err(garbage("a reply to an option"));
        }
        let mut data = vec![0; length as usize];
        stream.read_exact(&mut data)?;
        match kind {
            INFORMATION if data.len() >= 12 && data[..2] == EXPORT.to_be_bytes() => {
                let flags = u16::from_be_bytes([data[10], data[11]]);
                let takes_flushes = flags & SEND_FLUSH != 0;
                greeted = Some(Greeted { size: u64_at(&data, 2), takes_flushes });
            }
            INFORMATION => {}
            ACK => return greeted.ok_or_else(|| garbage("the size of the disk")),
            _ => {
                let why = String::from_utf8_lossy(&data).into_owned();
                return Err(io::Error::other(format!("the server refuses `{name}`: {why}")));
            }
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_be_bytes(word)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_be_bytes(word)
}

fn garbage(expected: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("expected {expected}, got something else"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::thread;

    use super::{Greeted, NbdRequest, RequestKind, greet, read_reply, reply, welcome};

    #[test]
    fn a_server_tells_a_client_how_large_the_disk_is() {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        let server = thread::spawn(move || welcome(&mut there, 12_345_678, true));
        let greeted = Greeted { size: 12_345_678, takes_flushes: true };
        assert_eq!(greet(&mut here, "").unwrap(), greeted);
        assert!(server.join().unwrap().unwrap());
    }

    #[test]
    fn requests_and_replies_are_read_as_written() {
        for kind in RequestKind::ALL {
            let request = NbdRequest { kind, cookie: 7 << 40, offset: 1 << 33, length: 4096 };
            assert_eq!(NbdRequest::read(&mut request.bytes().as_slice()).unwrap(), request);
        }
        assert_eq!(read_reply(&mut reply(5, 99).as_slice()).unwrap(), (5, 99));
    }

    #[test]
    fn what_is_no_nbd_is_refused() {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        there.write_all(b"SSH-2.0-OpenSSH_9.2p1 Debian").unwrap();
        let refused = greet(&mut here, "").unwrap_err();
        assert!(refused.to_string().contains("an NBD greeting"), "{refused}");
        assert!(read_reply(&mut [1_u8; 16].as_slice()).is_err());
        assert!(NbdRequest::read(&mut [1_u8; 28].as_slice()).is_err());
        assert!(NbdRequest::read(&mut [1_u8; 3].as_slice()).is_err());
    }
}
