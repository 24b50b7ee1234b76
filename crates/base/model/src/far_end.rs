//! Where the far end of a point is started, where that is another machine (`--to`).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What stands before the host of a machine that ssh reaches.
const SSH: &str = "ssh:";

/// Another machine, on which the server of a point is started.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum FarEnd {
    /// One that ssh reaches.
    Ssh {
        /// `USER@HOST` or `HOST`, as ssh takes it.
        destination: String,
        /// The port, where that is not ssh's own choice.
        port: Option<u16>,
    },
}

impl FromStr for FarEnd {
    type Err = String;

    /// `ssh:[USER@]HOST[:PORT]`, with an IPv6 address in brackets.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("`{text}`: {why}; a far end is ssh:[USER@]HOST[:PORT]");
        let rest = text.strip_prefix(SSH).ok_or_else(|| wrong("it does not begin with ssh:"))?;
        let (user, place) = match rest.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, rest),
        };
        let (host, port) = match place.strip_prefix('[') {
            Some(place) => {
                let (host, after) =
                    place.split_once(']').ok_or_else(|| wrong("a bracket is not closed"))?;
                let port = after.strip_prefix(':');
                if !after.is_empty() && port.is_none() {
                    return Err(wrong("something follows the bracket"));
                }
                (host, port)
            }
            None if place.matches(':').count() > 1 => {
                return Err(wrong("an IPv6 address stands in brackets"));
            }
            None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
        };
        // What begins with a dash would be an option of ssh.
        let is_word = |word: &str| {
            let is_odd = |c: char| c.is_whitespace() || c.is_control() || c == ',';
            !word.is_empty() && !word.starts_with('-') && !word.contains(is_odd)
        };
        if !is_word(host) || !user.is_none_or(is_word) {
            return Err(wrong("the name of a user or host can't be like that"));
        }
        let port = port.map(|port| port.parse().ok().filter(|&port| port > 0));
        let port = match port {
            Some(None) => return Err(wrong("a port is 1 to 65535")),
            Some(port) => port,
            None => None,
        };
        let destination = user.map_or_else(|| host.to_owned(), |user| format!("{user}@{host}"));
        Ok(Self::Ssh { destination, port })
    }
}

impl fmt::Display for FarEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Ssh { destination, port } = self;
        let (user, host) = match destination.rsplit_once('@') {
            Some((user, host)) => (format!("{user}@"), host),
            None => (String::new(), destination.as_str()),
        };
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let port = port.map_or(String::new(), |port| format!(":{port}"));
        write!(f, "{SSH}{user}{host}{port}")
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
        for (text, wanted) in [
            ("ssh:web1", ssh("web1", None)),
            ("ssh:joe@web1.example.org:2222", ssh("joe@web1.example.org", Some(2222))),
            ("ssh:[fe80::1]:22", ssh("fe80::1", Some(22))),
            ("ssh:joe@[::1]", ssh("joe@::1", None)),
        ] {
            assert_eq!(text.parse(), Ok(wanted.clone()), "{text}");
            assert_eq!(wanted.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_far_end_says_why() {
        for (text, why) in [
            ("web1", "it does not begin with ssh:"),
            ("ssh:", "the name of a user or host can't be like that"),
            ("ssh:-oProxyCommand=x", "the name of a user or host can't be like that"),
            ("ssh:@web1", "the name of a user or host can't be like that"),
            ("ssh:a b", "the name of a user or host can't be like that"),
            ("ssh:web1:0", "a port is 1 to 65535"),
            ("ssh:web1:x", "a port is 1 to 65535"),
            ("ssh:fe80::1", "an IPv6 address stands in brackets"),
            ("ssh:[::1", "a bracket is not closed"),
            ("ssh:[::1]x", "something follows the bracket"),
        ] {
            let refused = text.parse::<FarEnd>().unwrap_err();
            assert_eq!(refused, format!("`{text}`: {why}; a far end is ssh:[USER@]HOST[:PORT]"));
        }
    }
}
