//! The devices of a path, made by `ip` and `tc` (iproute2) in the network namespace of the calling thread.
#![expect(unsafe_code, reason = "ethtool(8) is an ioctl, which has no safe form")]

use std::fmt::Write;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use plumb_protocol::{Failure, StartError};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use plumb_workload_kit::tool::{program, run, tool};

/// Of linux/ethtool.h: checksums and segments that the device is to make.
const ETHTOOL_STXCSUM: u32 = 0x17;
const ETHTOOL_STSO: u32 = 0x1f;
const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// A frame of Ethernet with 1,500 bytes of payload.
const FRAME: u64 = 1514;

/// That these programs are there.
///
/// # Errors
/// Unsupported, with the package that has them.
pub(crate) fn check(programs: &[&str]) -> Result<(), StartError> {
    match programs.iter().find(|name| program(name).is_none()) {
        Some(missing) => {
            let why = format!("`{missing}`, which sets up the path, is not installed");
            Err(StartError::unsupported(why, "sudo apt-get install iproute2"))
        }
        None => Ok(()),
    }
}

/// Runs these commands of `ip`, one per line, in one process.
///
/// # Errors
/// When it can't, with what it says.
pub(crate) fn ip(lines: &[String]) -> Result<(), Failure> {
    run(tool("ip").args(["-batch", "-"]), lines.join("\n").as_bytes())
}

/// That a pair of devices is made whose other end lies in the network namespace that this process has open.
pub(crate) fn pair(here: &str, there: &str, network: &File) -> String {
    let process = std::process::id();
    let file = network.as_raw_fd();
    format!("link add {here} type veth peer name {there} netns /proc/{process}/fd/{file}")
}

/// That a device is there and says nothing by itself (of IPv6).
pub(crate) fn up(device: &str) -> [String; 2] {
    [format!("link set {device} addrgenmode none"), format!("link set {device} up")]
}

/// Sends no faster than `rate`, in bytes per second, by `tc tbf`; what would wait longer than the queue is dropped.
///
/// # Errors
/// When `tc` can't, with what it says.
pub(crate) fn limit(device: &str, rate: u64, queue_ns: u64) -> Result<(), Failure> {
    let burst = burst(rate);
    let queue = u128::from(rate) * u128::from(queue_ns) / 1_000_000_000;
    let limit = u64::try_from(queue).unwrap_or(u64::MAX).max(FRAME).saturating_add(burst);
    let mut line = String::new();
    // Writing to a text does not fail.
    let _ = write!(
        line,
        "qdisc add dev {device} root tbf rate {}bit burst {burst} limit {limit}",
        rate.saturating_mul(8)
    );
    run(tool("tc").args(["-batch", "-"]), line.as_bytes())
}

/// Bytes that pass at once: what a millisecond carries, and two frames at least.
pub(crate) fn burst(rate: u64) -> u64 {
    (rate / 1000).max(2 * FRAME)
}

/// Has the kernel cut what this device sends into frames, with their checksums, before it sends them.
///
/// # Errors
/// When the kernel refuses.
pub(crate) fn send_whole_frames(device: &str) -> io::Result<()> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    for command in [ETHTOOL_STSO, ETHTOOL_STXCSUM] {
        let mut off = [command, 0];
        // SAFETY: all zeroes is a request without a name.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
            *to = from.cast_signed();
        }
        request.ifr_ifru.ifru_data = off.as_mut_ptr().cast();
        // SAFETY: the request names a device and two numbers, which live beyond the call.
        let done = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
        if done < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
