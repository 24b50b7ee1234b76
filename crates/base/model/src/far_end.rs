//! Where the far end of a point is started, if that is another machine (`--to`).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What stands before the host of a machine that ssh reaches.
const SSH: &str = "ssh:";
/// What stands before the host where `plumb peer` runs.
const PEER: &str = "peer:";

/// Where `plumb peer` listens unless told otherwise: next to the pages of `plumb serve`.
pub const PEER_PORT: u16 = 7587;

/// Another machine, on which the server of a point is started.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum FarEnd {
    /// One that ssh reaches.
    Ssh {
        /// `USER@HOST` or `HOST`, as ssh takes it.
        destination: String,
        /// The port, if that is not ssh's own choice.
        port: Option<u16>,
    },
    /// One where `plumb peer` runs.
    Peer {
        /// Its name or address.
        host: String,
        /// The port, if that is not the usual one.
        port: Option<u16>,
    },
}

impl FromStr for FarEnd {
    type Err = String;

    /// `ssh:[USER@]HOST[:PORT]` or `peer:HOST[:PORT]`, with an IPv6 address in brackets.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(place) = text.strip_prefix(PEER) {
            let (host, port) = host_and_port(place).map_err(|why| wrong(text, why))?;
            return Ok(Self::Peer { host: host.to_owned(), port });
        }
        let rest = text
            .strip_prefix(SSH)
            .ok_or_else(|| wrong(text, "it must start with ssh: or peer:"))?;
        let (user, place) = match rest.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, rest),
        };
        let (host, port) = host_and_port(place).map_err(|why| wrong(text, why))?;
        if !user.is_none_or(is_word) {
            return Err(wrong(text, NO_NAME));
        }
        let destination = user.map_or_else(|| host.to_owned(), |user| format!("{user}@{host}"));
        Ok(Self::Ssh { destination, port })
    }
}

fn wrong(text: &str, why: &str) -> String {
    format!("`{text}`: {why}; use ssh:[USER@]HOST[:PORT] or peer:HOST[:PORT]")
}

const NO_NAME: &str = "invalid user or host name";

/// What begins with a dash would be an option of ssh.
fn is_word(word: &str) -> bool {
    !word.is_empty() && !word.starts_with('-') && !word.contains(is_forbidden)
}

/// Whether the name of a user or host can't have this character: commas separate values, and `@` ends a user's name.
fn is_forbidden(c: char) -> bool {
    c.is_whitespace() || c.is_control() || c == ',' || c == '@'
}

/// The host and the port of `HOST[:PORT]`, with an IPv6 address in brackets.
fn host_and_port(place: &str) -> Result<(&str, Option<u16>), &'static str> {
    let (host, port) = match place.strip_prefix('[') {
        Some(place) => {
            let (host, after) = place.split_once(']').ok_or("`]` is missing")?;
            let port = after.strip_prefix(':');
            if !after.is_empty() && port.is_none() {
                return Err("unexpected text after the bracket");
            }
            (host, port)
        }
        None if place.matches(':').count() > 1 => {
            return Err("an IPv6 address needs brackets");
        }
        None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    };
    if !is_word(host) {
        return Err(NO_NAME);
    }
    match port.map(|port| port.parse().ok().filter(|&port| port > 0)) {
        Some(None) => Err("the port must be 1 to 65535"),
        Some(port) => Ok((host, port)),
        None => Ok((host, None)),
    }
}

impl fmt::Display for FarEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (road, user, host, port) = match self {
            Self::Peer { host, port } => (PEER, String::new(), host.as_str(), port),
            Self::Ssh { destination, port } => match destination.rsplit_once('@') {
                Some((user, host)) => (SSH, format!("{user}@"), host, port),
                None => (SSH, String::new(), destination.as_str(), port),
            },
        };
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let port = port.map_or(String::new(), |port| format!(":{port}"));
        write!(f, "{road}{user}{host}{port}")
    }
}

impl From<FarEnd> for String {
    fn from(far_end: FarEnd) -> Self {
        far_end.to_string()
    }
}

impl TryFrom<String> for FarEnd {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::FarEnd;

    #[test]
    fn a_far_end_is_read_and_shown_as_people_type_it() {
        let ssh = |destination: &str, port| FarEnd::Ssh { destination: destination.into(), port };
        let peer = |host: &str, port| FarEnd::Peer { host: host.into(), port };
        for (text, wanted) in [
            ("ssh:web1", ssh("web1", None)),
            ("ssh:joe@web1.example.org:2222", ssh("joe@web1.example.org", Some(2222))),
            ("ssh:[fe80::1]:22", ssh("fe80::1", Some(22))),
            ("ssh:joe@[::1]", ssh("joe@::1", None)),
            ("peer:web1", peer("web1", None)),
            ("peer:[::1]:7000", peer("::1", Some(7000))),
        ] {
            assert_eq!(text.parse(), Ok(wanted.clone()), "{text}");
            assert_eq!(wanted.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_far_end_says_why() {
        for (text, why) in [
            ("web1", "it must start with ssh: or peer:"),
            ("ssh:", "invalid user or host name"),
            ("ssh:-oProxyCommand=x", "invalid user or host name"),
            ("ssh:@web1", "invalid user or host name"),
            ("ssh:a b", "invalid user or host name"),
            ("ssh:web1:0", "the port must be 1 to 65535"),
            ("ssh:web1:x", "the port must be 1 to 65535"),
            ("ssh:fe80::1", "an IPv6 address needs brackets"),
            ("ssh:[::1", "`]` is missing"),
            ("ssh:[::1]x", "unexpected text after the bracket"),
            ("peer:joe@web1", "invalid user or host name"),
            ("peer:web1:0", "the port must be 1 to 65535"),
        ] {
            let refused = text.parse::<FarEnd>().unwrap_err();
            let wanted = format!("`{text}`: {why}; use ssh:[USER@]HOST[:PORT] or peer:HOST[:PORT]");
            assert_eq!(refused, wanted);
        }
    }
}
