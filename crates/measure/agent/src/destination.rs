//! Machines as people type them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use plumb_model::FarEnd;

/// The word for this machine.
const LOCAL: &str = "local";

/// A machine on which a command is carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MachineAddress {
    /// This one, with an agent as an ordinary process.
    Local {
        /// The name by which its results are shown.
        name: String,
        /// What the inventory adds to the labels of its runs.
        labels: BTreeMap<String, String>,
    },
    /// One that ssh reaches.
    Ssh {
        /// The name by which its results are shown.
        name: String,
        /// `USER@HOST` or `HOST`, as ssh takes it.
        destination: String,
        /// The port, if that is not ssh's own choice.
        port: Option<u16>,
        /// The private key, if that is not ssh's own choice.
        key: Option<PathBuf>,
        /// What the inventory adds to the labels of its runs.
        labels: BTreeMap<String, String>,
    },
}

impl MachineAddress {
    /// The name by which its results are shown.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Local { name, .. } | Self::Ssh { name, .. } => name,
        }
    }

    /// What the inventory adds to the labels of its runs.
    #[must_use]
    pub fn labels(&self) -> &BTreeMap<String, String> {
        match self {
            Self::Local { labels, .. } | Self::Ssh { labels, .. } => labels,
        }
    }
}

impl FromStr for MachineAddress {
    type Err = String;

    /// `local`, or `[USER@]HOST[:PORT]` with an IPv6 address in brackets.
    fn from_str(text: &str) -> Result<Self, String> {
        if text == LOCAL {
            return Ok(Self::Local { name: LOCAL.to_owned(), labels: BTreeMap::new() });
        }
        let wrong = || format!("`{text}` is not a machine; use [USER@]HOST[:PORT] or {LOCAL}");
        let FarEnd::Ssh { destination, port } =
            format!("ssh:{text}").parse().map_err(|_| wrong())?
        else {
            return Err(wrong());
        };
        let name = destination.rsplit('@').next().unwrap_or(&destination).to_owned();
        Ok(Self::Ssh { name, destination, port, key: None, labels: BTreeMap::new() })
    }
}

impl fmt::Display for MachineAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local { .. } => f.write_str(LOCAL),
            Self::Ssh { destination, port: None, .. } => f.write_str(destination),
            Self::Ssh { destination, port: Some(port), .. } => write!(f, "{destination}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::MachineAddress;

    #[test]
    fn machines_are_typed_as_for_ssh() {
        for (text, name, shown) in [
            ("web1", "web1", "web1"),
            ("root@web2", "web2", "root@web2"),
            ("joe@[::1]:2222", "::1", "joe@::1:2222"),
            ("local", "local", "local"),
        ] {
            let machine: MachineAddress = text.parse().unwrap();
            assert_eq!(machine.name(), name);
            assert_eq!(machine.to_string(), shown);
        }
        for wrong in ["", "-oProxyCommand=x", "a b", "a:port", "fe80::1"] {
            let error = wrong.parse::<MachineAddress>().unwrap_err();
            assert!(error.contains("[USER@]HOST[:PORT]"), "{error}");
        }
    }
}
