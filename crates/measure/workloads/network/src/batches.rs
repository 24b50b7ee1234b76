//! Many datagrams with one system call (`sendmmsg`, `recvmmsg`).
#![expect(unsafe_code, reason = "many messages at a time have no safe form")]

use std::io;
use std::mem::zeroed;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// Datagrams of one call.
pub(crate) const BATCH: usize = 32;
/// Bytes that are read of a datagram: what counts lies in front.
const READ: usize = 64;

/// Room for datagrams that come.
pub(crate) struct Receiving {
    bytes: Box<[[u8; READ]; BATCH]>,
    lengths: [usize; BATCH],
}

impl Receiving {
    pub(crate) fn new() -> Self {
        Self { bytes: Box::new([[0; READ]; BATCH]), lengths: [0; BATCH] }
    }

    /// Waits for datagrams, as long as the socket waits; how many came.
    ///
    /// # Errors
    /// When none came.
    pub(crate) fn wait(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        // SAFETY: all zeroes are empty messages.
        let (mut messages, mut parts): ([libc::mmsghdr; BATCH], [libc::iovec; BATCH]) =
            unsafe { (zeroed(), zeroed()) };
        for ((message, part), bytes) in
            messages.iter_mut().zip(&mut parts).zip(self.bytes.iter_mut())
        {
            *part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: READ };
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
        }
        let socket = socket.as_raw_fd();
        let none = std::ptr::null_mut();
        let flags = libc::MSG_WAITFORONE;
        let room = BATCH as libc::c_uint;
        // SAFETY: each message has one part, its own room, which lives beyond the call.
        let came = unsafe { libc::recvmmsg(socket, messages.as_mut_ptr(), room, flags, none) };
        let came = usize::try_from(came).map_err(|_| io::Error::last_os_error())?;
        for (length, message) in self.lengths.iter_mut().zip(&messages).take(came) {
            *length = (message.msg_len as usize).min(READ);
        }
        Ok(came)
    }

    /// The first bytes of those that came.
    pub(crate) fn datagrams(&self, came: usize) -> impl Iterator<Item = &[u8]> {
        self.bytes.iter().zip(self.lengths).take(came).map(|(bytes, length)| &bytes[..length])
    }
}

/// Datagrams to be sent, all of one length.
pub(crate) struct Sending {
    bytes: Vec<u8>,
    length: usize,
}

impl Sending {
    /// With these bytes in front of each, and room for what changes.
    pub(crate) fn new(datagram: &[u8]) -> Self {
        Self { bytes: datagram.repeat(BATCH), length: datagram.len() }
    }

    /// The datagram of this place in the batch.
    pub(crate) fn datagram(&mut self, place: usize) -> &mut [u8] {
        &mut self.bytes[place * self.length..(place + 1) * self.length]
    }

    /// Sends the first of the batch on a connected socket; how many it took.
    ///
    /// # Errors
    /// When it took none.
    pub(crate) fn send(&mut self, socket: &UdpSocket, count: usize) -> io::Result<usize> {
        // SAFETY: all zeroes are empty messages.
        let (mut messages, mut parts): ([libc::mmsghdr; BATCH], [libc::iovec; BATCH]) =
            unsafe { (zeroed(), zeroed()) };
        let datagrams = self.bytes.chunks_exact_mut(self.length);
        for ((message, part), bytes) in
            messages.iter_mut().zip(&mut parts).zip(datagrams).take(count)
        {
            *part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
        }
        let socket = socket.as_raw_fd();
        let count = count.min(BATCH) as libc::c_uint;
        // SAFETY: each message has one part, a datagram of the batch, which lives beyond the call.
        let taken = unsafe { libc::sendmmsg(socket, messages.as_mut_ptr(), count, 0) };
        usize::try_from(taken).map_err(|_| io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::time::Duration;

    use super::{BATCH, Receiving, Sending};

    #[test]
    fn what_is_sent_in_a_batch_comes() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        receiver.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        let mut sending = Sending::new(&[1; 200]);
        for place in 0..BATCH {
            sending.datagram(place)[0] = place as u8;
        }
        assert_eq!(sending.send(&sender, BATCH).unwrap(), BATCH);
        assert_eq!(sending.send(&sender, 1).unwrap(), 1);
        let mut receiving = Receiving::new();
        let mut all = Vec::new();
        while all.len() <= BATCH {
            let came = receiving.wait(&receiver).unwrap();
            all.extend(receiving.datagrams(came).map(|datagram| (datagram[0], datagram.len())));
        }
        let expected: Vec<_> = (0..BATCH as u8).chain([0]).map(|first| (first, 64)).collect();
        assert_eq!(all, expected);
    }
}
