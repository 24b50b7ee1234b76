//! The loopback device, on which most servers of workloads listen.

use std::net::{Ipv4Addr, UdpSocket};

use plumb_protocol::StartError;

/// The port of a service that answers nothing (RFC 863).
const DISCARD: u16 = 9;

/// Refuses a machine, or a network namespace, whose loopback device is down: servers could not listen, and each connection
/// would fail for a reason that does not name the device.
///
/// # Errors
/// Unsupported, with the command that sets it up.
pub fn check() -> Result<(), StartError> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    // Connecting looks for a route, and sends nothing.
    match socket.and_then(|socket| socket.connect((Ipv4Addr::LOCALHOST, DISCARD))) {
        Ok(()) => Ok(()),
        Err(error) => Err(StartError::unsupported(
            format!("the loopback device `lo` does not work: {error}"),
            "sudo ip link set lo up",
        )),
    }
}
