//! Hosts that the user names.

use std::net::{IpAddr, ToSocketAddrs};

use plumb_model::{Parameter, Restricted};
use plumb_protocol::{Start, StartError};
use plumb_workload_kit::declare::text;

/// The parameter that names one.
pub const HOST: &str = "host";
/// The parameter that says which of its addresses is meant.
pub const ADDRESS: &str = "address";

/// The two parameters, with the meaning of no `host` in words.
#[must_use]
pub fn parameters(without: &str) -> [Parameter; 2] {
    let host = text(HOST, "", &format!("name or address; by default {without}"));
    [host, address()]
}

/// Which of the addresses of a host is meant.
#[must_use]
pub fn address() -> Parameter {
    text(
        ADDRESS,
        "",
        "one of its addresses; by default each address of the name is a separate point",
    )
}

/// No more than `most` of `what`, as the parameter `bound` says, to a host of somebody else.
#[must_use]
pub fn restricted(host: &str, bound: &str, most: u64, what: &str) -> Box<Restricted> {
    let host = host.into();
    let address = ADDRESS.into();
    let bound = bound.into();
    let what = what.into();
    Box::new(Restricted { host, address, bound, most, harmless: Vec::new(), what })
}

/// Where this host is: the address that is meant, or its first.
///
/// # Errors
/// Unsupported when it has none.
pub fn address_of(host: &str, start: &Start) -> Result<IpAddr, StartError> {
    let meant = start.text(ADDRESS);
    let name = if meant.is_empty() { host } else { meant };
    let found = (name, 0).to_socket_addrs().map(|mut all| all.next().map(|address| address.ip()));
    let why = match found {
        Ok(Some(address)) => return Ok(address),
        Ok(None) => "no address found".to_owned(),
        Err(error) => error.to_string(),
    };
    let fix = "check the spelling with `getent hosts NAME`, or give an address";
    Err(StartError::unsupported(format!("can't resolve `{name}`: {why}"), fix))
}
