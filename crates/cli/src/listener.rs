//! The addresses on which plumb listens.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

use crate::error::{CommandError, Result};

/// The port of `plumb serve` and `--live`: PLUM on a telephone's keys.
pub const PAGES: u16 = 7586;

/// Listens on the address that the user wants; without one, on this port of 127.0.0.1, or on a free port if it is taken.
pub fn listener(wanted: Option<&str>, port: u16) -> Result<TcpListener> {
    let localhost = IpAddr::from(Ipv4Addr::LOCALHOST);
    let Some(wanted) = wanted else {
        let usual = TcpListener::bind((localhost, port));
        let is_taken = usual.as_ref().is_err_and(|error| error.kind() == ErrorKind::AddrInUse);
        let bound = if is_taken { TcpListener::bind((localhost, 0)) } else { usual };
        return bound.map_err(unheard);
    };
    let address = address(wanted, port).ok_or_else(|| {
        CommandError::usage(format!("`{wanted}` is not an address that plumb can listen on"))
            .hint("--listen 127.0.0.1:8000, --listen [::1]:8000 or --listen 8000")
    })?;
    TcpListener::bind(address).map_err(|error| {
        let error = CommandError::usage(format!("can't listen on {address}: {error}"));
        error.hint(format!("--listen {}:0 picks a free port", shown(address.ip())))
    })
}

/// Reads `ADDRESS:PORT`, `ADDRESS` or `PORT`.
fn address(text: &str, usual: u16) -> Option<SocketAddr> {
    let numeric = text.replacen("localhost", "127.0.0.1", 1);
    let bare = numeric.trim_start_matches('[').trim_end_matches(']');
    let without_port = bare.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, usual));
    let only_port =
        numeric.parse::<u16>().map(|port| SocketAddr::new(IpAddr::from(Ipv4Addr::LOCALHOST), port));
    numeric.parse().or(without_port).or(only_port).ok()
}

fn shown(ip: IpAddr) -> String {
    if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() }
}

/// The error of a socket that cannot listen.
pub fn unheard(error: std::io::Error) -> CommandError {
    CommandError::nothing(format!("can't listen: {error}"))
}

#[cfg(test)]
mod tests {
    use super::{PAGES, address};

    #[test]
    fn an_address_is_written_in_many_ways() {
        for (text, meant) in [
            ("127.0.0.1:80", "127.0.0.1:80".to_owned()),
            ("localhost:80", "127.0.0.1:80".to_owned()),
            ("0.0.0.0", format!("0.0.0.0:{PAGES}")),
            ("[::1]:80", "[::1]:80".to_owned()),
            ("::", format!("[::]:{PAGES}")),
            ("[::1]", format!("[::1]:{PAGES}")),
            ("8000", "127.0.0.1:8000".to_owned()),
            ("0", "127.0.0.1:0".to_owned()),
        ] {
            assert_eq!(address(text, PAGES).unwrap().to_string(), meant, "{text}");
        }
        for wrong in ["", "example.org:80", "1.2.3.4:99999", "x", ":", "80:80", "127.0.0.1:"] {
            assert_eq!(address(wrong, PAGES), None, "{wrong}");
        }
    }
}
