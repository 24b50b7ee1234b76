//! Frames of a network device, many at a time (packet(7)).
#![expect(unsafe_code, reason = "packet sockets, and many messages at a time, have no safe form")]

use std::io;
use std::mem::{offset_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use plumb_protocol::now_ns;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, RawProtocol, SocketFlags, SocketType, socket_with};

/// Room of a frame: more than the 1,514 bytes of Ethernet.
const FRAME: usize = 2048;
/// Frames that one call takes in or passes on.
pub(crate) const BATCH: usize = 64;
/// Frames that wait for their time, at most.
const ROOM: u32 = 1 << 16;
/// Bytes of frames that came while the relay did not run.
const BUFFER: libc::c_int = 16 << 20;

/// No frame waits so long to be taken in.
const OLDEST: Duration = Duration::from_secs(1);

/// Option of packet sockets in linux/if_packet.h, which libc lacks.
const PACKET_STATISTICS: libc::c_int = 6;
const PACKET_QDISC_BYPASS: libc::c_int = 20;
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// A frame in a pool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PooledFrame {
    slot: u32,
    bytes: u16,
    /// When the kernel had it, on the clock of [`now_ns`].
    pub arrived_ns: u64,
}

/// What the kernel says next to a frame: a control message with the time at which it had it, of CLOCK_REALTIME.
#[repr(C)]
#[derive(Clone, Copy)]
struct TimestampMessage {
    head: libc::cmsghdr,
    time: libc::timespec,
}

// As CMSG_DATA and CMSG_SPACE lay it out if a word has 64 bits.
const _: () = assert!(offset_of!(TimestampMessage, time) == size_of::<libc::cmsghdr>());

impl TimestampMessage {
    /// How long before `now` the frame came; nothing if the kernel did not say, or the clock was set in between.
    fn age_ns(&self, now: SystemTime) -> u64 {
        let is_time = self.head.cmsg_level == libc::SOL_SOCKET
            && self.head.cmsg_type == libc::SCM_TIMESTAMPNS
            && self.head.cmsg_len >= size_of::<Self>();
        let seconds = u64::try_from(self.time.tv_sec).ok().filter(|_| is_time);
        let time = seconds.and_then(|seconds| {
            UNIX_EPOCH.checked_add(Duration::new(seconds, self.time.tv_nsec as u32))
        });
        let age = time.and_then(|time| now.duration_since(time).ok());
        age.filter(|age| *age < OLDEST).map_or(0, |age| age.as_nanos() as u64)
    }
}

/// Room for frames.
#[derive(Debug)]
pub(crate) struct FramePool {
    bytes: Vec<u8>,
    free: Vec<u32>,
}

impl FramePool {
    /// Empty; memory is touched as frames come.
    pub(crate) fn new() -> Self {
        Self { bytes: vec![0; ROOM as usize * FRAME], free: (0..ROOM).rev().collect() }
    }

    /// A frame that is not needed any more.
    pub(crate) fn give_back(&mut self, frame: PooledFrame) {
        self.free.push(frame.slot);
    }

    fn at(&mut self, slot: u32, bytes: usize) -> libc::iovec {
        let start = slot as usize * FRAME;
        let slot = &mut self.bytes[start..start + bytes];
        libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: slot.len() }
    }
}

/// A device whose frames are taken and given as they are.
#[derive(Debug)]
pub(crate) struct Device {
    socket: OwnedFd,
}

impl Device {
    /// The device of this name in the network namespace of the calling thread.
    ///
    /// # Errors
    /// When there is none, or the caller may not have its frames.
    pub(crate) fn open(name: &str) -> io::Result<Self> {
        let all = RawProtocol::new(u32::from((libc::ETH_P_ALL as u16).to_be()));
        let protocol = all.map(rustix::net::Protocol::from_raw);
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, protocol)?;
        let index = name_to_index(&socket, name)?;
        let device = Self { socket };
        device
            .set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, BUFFER)
            .or_else(|_| device.set(libc::SOL_SOCKET, libc::SO_RCVBUF, BUFFER))?;
        device.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        device.set(libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)?;
        device.set(libc::SOL_PACKET, PACKET_QDISC_BYPASS, 1)?;
        device.bind(index)?;
        Ok(device)
    }

    fn bind(&self, index: u32) -> io::Result<()> {
        // SAFETY: all zeroes is an address of this kind.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index.cast_signed();
        let length = size_of_val(&address) as libc::socklen_t;
        let socket = self.socket.as_raw_fd();
        let address = (&raw const address).cast();
        // SAFETY: the address lives beyond the call and is as long as stated.
        checked(unsafe { libc::bind(socket, address, length) }).map(drop)
    }

    fn set(&self, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
        let length = size_of_val(&value) as libc::socklen_t;
        let socket = self.socket.as_raw_fd();
        let value = (&raw const value).cast();
        // SAFETY: the value lives beyond the call and is as long as stated.
        checked(unsafe { libc::setsockopt(socket, level, name, value, length) }).map(drop)
    }

    /// Takes in frames that came, as many as a batch and the pool have room for; how many.
    ///
    /// # Errors
    /// When the device is gone.
    pub(crate) fn receive(
        &self,
        pool: &mut FramePool,
        into: &mut Vec<PooledFrame>,
    ) -> io::Result<usize> {
        let count = pool.free.len().min(BATCH);
        if count == 0 {
            return Ok(0);
        }
        // SAFETY: all zeroes are empty messages, with nothing next to them.
        let (mut messages, mut parts, mut beside): (
            [libc::mmsghdr; BATCH],
            [libc::iovec; BATCH],
            [TimestampMessage; BATCH],
        ) = unsafe { (zeroed(), zeroed(), zeroed()) };
        let first = pool.free.len() - count;
        let rooms = parts.iter_mut().zip(&mut beside);
        for (number, (message, (part, beside))) in
            messages.iter_mut().zip(rooms).take(count).enumerate()
        {
            *part = pool.at(pool.free[first + number], FRAME);
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
            message.msg_hdr.msg_control = (&raw mut *beside).cast();
            message.msg_hdr.msg_controllen = size_of::<TimestampMessage>();
        }
        let socket = self.socket.as_raw_fd();
        let none = std::ptr::null_mut();
        let flags = libc::MSG_DONTWAIT;
        // SAFETY: each message has one part, which is room of the pool that no other frame has, and room for a time next to it; both
        // live beyond the call.
        let came = unsafe {
            libc::recvmmsg(socket, messages.as_mut_ptr(), count as libc::c_uint, flags, none)
        };
        let came = match checked(came) {
            Ok(came) => came,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
            Err(error) => return Err(error),
        };
        // In this order a frame seems to have come later, if anything.
        let wall = SystemTime::now();
        let now = now_ns();
        let came_of = messages.iter().zip(&beside);
        for (slot, (message, beside)) in pool.free.drain(first..first + came).zip(came_of) {
            let arrived_ns = now.saturating_sub(beside.age_ns(wall));
            into.push(PooledFrame {
                slot,
                bytes: message.msg_len.min(FRAME as u32) as u16,
                arrived_ns,
            });
        }
        Ok(came)
    }

    /// Passes on a batch of frames at most; how many it took.
    pub(crate) fn send(&self, pool: &mut FramePool, frames: &[PooledFrame]) -> usize {
        // SAFETY: all zeroes are empty messages.
        let (mut messages, mut parts): ([libc::mmsghdr; BATCH], [libc::iovec; BATCH]) =
            unsafe { (zeroed(), zeroed()) };
        let count = frames.len().min(BATCH);
        for ((message, part), frame) in messages.iter_mut().zip(&mut parts).zip(frames) {
            *part = pool.at(frame.slot, usize::from(frame.bytes));
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
        }
        let socket = self.socket.as_raw_fd();
        // SAFETY: each message has one part, a frame of the pool, which lives beyond the call.
        let taken =
            unsafe { libc::sendmmsg(socket, messages.as_mut_ptr(), count as libc::c_uint, 0) };
        checked(taken).unwrap_or(0)
    }

    /// Frames for which there was no room since this was asked last.
    pub(crate) fn dropped(&self) -> u64 {
        let mut of_kernel = [0_u32; 2];
        let mut length = size_of_val(&of_kernel) as libc::socklen_t;
        let socket = self.socket.as_raw_fd();
        let into = of_kernel.as_mut_ptr().cast();
        // SAFETY: the kernel writes two numbers at most.
        let asked = unsafe {
            libc::getsockopt(socket, libc::SOL_PACKET, PACKET_STATISTICS, into, &raw mut length)
        };
        if asked < 0 { 0 } else { u64::from(of_kernel[1]) }
    }

    /// Waits until a frame comes, or this long.
    pub(crate) fn wait(&self, longest: Duration) {
        let mut of_this = [PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN)];
        let longest = rustix::time::Timespec {
            tv_sec: longest.as_secs().cast_signed(),
            tv_nsec: longest.subsec_nanos().into(),
        };
        // A signal only means that it looks again.
        let _ = poll(&mut of_this, Some(&longest));
    }
}

fn checked(result: libc::c_int) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
