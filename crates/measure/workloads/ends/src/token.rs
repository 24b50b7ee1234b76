//! A token of one invocation: a server ignores anyone who does not know it.

use std::net::SocketAddr;

use plumb_protocol::{Failure, Start, StartError};
use rustix::rand::{GetRandomFlags, getrandom};

/// Bytes of a token.
pub const TOKEN: usize = 16;

/// Random bytes that a client shows to a server, so that no stranger is served.
pub type ClientToken = [u8; TOKEN];

/// A new one.
///
/// # Errors
/// When the kernel has no random bytes.
pub fn fresh() -> Result<ClientToken, Failure> {
    let mut token = [0; TOKEN];
    getrandom(&mut token, GetRandomFlags::empty())
        .map_err(|error| Failure::io("random bytes", &error.into()))?;
    Ok(token)
}

/// The words of a server: its address, its token and its process.
#[must_use]
pub fn words(address: SocketAddr, token: ClientToken) -> [(String, String); 3] {
    [
        ("address".to_owned(), address.to_string()),
        ("token".to_owned(), u128::from_le_bytes(token).to_string()),
        ("pid".to_owned(), std::process::id().to_string()),
    ]
}

/// The same as it was told to a client.
///
/// # Errors
/// When no server told it.
pub fn told(start: &Start) -> Result<(SocketAddr, ClientToken), StartError> {
    let words = &start.endpoints;
    let address = words.get("address").and_then(|address| address.parse().ok());
    let token = words.get("token").and_then(|token| token.parse::<u128>().ok());
    address
        .zip(token.map(u128::to_le_bytes))
        .map(|(address, token)| (at_far_end(start, address), token))
        .ok_or_else(|| StartError::Failed("the server reported no address".to_owned()))
}

/// Where a server listens, seen from here: on another machine the port that it says, at the address that was reached, whatever
/// it says of that.
#[must_use]
pub fn at_far_end(start: &Start, told: SocketAddr) -> SocketAddr {
    start.far_address().map_or(told, |address| SocketAddr::new(address, told.port()))
}

/// The server's process, if that is not this one and runs on this machine.
#[must_use]
pub fn helpers(start: &Start) -> Vec<u32> {
    if start.far_address().is_some() {
        return Vec::new();
    }
    let server = start.endpoints.get("pid").and_then(|pid| pid.parse().ok());
    server.into_iter().filter(|pid| *pid != std::process::id()).collect()
}
