//! Limits on traffic to machines that a user names, unless the user owns the network.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::value::{Settings, Value};

/// Limits on traffic to a machine that a parameter names, unless the user owns the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restricted {
    /// The parameter that names the machine, by a name, an address or a URL; empty means this machine.
    pub host: String,
    /// The parameter that says which of the machine's addresses is meant; empty means its first. Of a name with several
    /// plumb makes a point for each.
    pub address: String,
    /// The parameter that says how much is sent.
    pub bound: String,
    /// The largest number of it that may be sent to anybody; a word in its place, such as `closed`, is more. With 0 nothing
    /// may.
    pub most: u64,
    /// Words in its place that send nothing of it: `tcp` if datagrams count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub harmless: Vec<String>,
    /// The counted unit: `packets per second`.
    pub what: String,
}

impl Restricted {
    /// The machine of somebody else to which something is sent at these settings, by the address that is meant or else as it is named,
    /// and how much; None for how much if that has no bound.
    #[must_use]
    pub fn sent<'s>(&self, settings: &'s Settings) -> Option<(&'s str, Option<u64>)> {
        let host = self.machine(settings)?;
        let address = text(settings, &self.address);
        let sent_to = if address.is_empty() { host } else { address };
        let bound = settings.get(&self.bound);
        let is_harmless = self.harmless.iter().any(|word| text(settings, &self.bound) == word);
        let much = if is_harmless { Some(0) } else { bound.and_then(Value::integer) };
        (!is_loopback(sent_to)).then_some((sent_to, much))
    }

    /// The machine that is named, by its name or address; None when none is.
    #[must_use]
    pub fn machine<'s>(&self, settings: &'s Settings) -> Option<&'s str> {
        Some(host_of(text(settings, &self.host))).filter(|host| !host.is_empty())
    }
}

fn text<'s>(settings: &'s Settings, parameter: &str) -> &'s str {
    settings.get(parameter).and_then(Value::text).unwrap_or_default()
}

/// The host in a URL; anything else is one.
fn host_of(named: &str) -> &str {
    let Some((_, rest)) = named.split_once("://") else { return named };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    match place.strip_prefix('[') {
        Some(place) => place.split(']').next().unwrap_or_default(),
        None => place.split(':').next().unwrap_or_default(),
    }
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::{Restricted, host_of};
    use crate::value::{Settings, Value};

    fn restricted() -> Restricted {
        let [host, address, bound] = ["host", "address", "rate"].map(str::to_owned);
        Restricted {
            host,
            address,
            bound,
            most: 1000,
            harmless: vec!["off".into()],
            what: "packets per second".into(),
        }
    }

    #[test]
    fn what_goes_to_a_machine_of_somebody_else_is_known() {
        let sent = |host: &str, rate: Value| {
            let (host, address) = host.split_once('@').unwrap_or((host, ""));
            let [host, address] = [host, address].map(|text| Value::Text(text.into()));
            let named = [("host", host), ("address", address), ("rate", rate)];
            let settings: Settings =
                named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            restricted().sent(&settings).map(|(host, much)| (host.to_owned(), much))
        };
        let word = |word: &str| Value::Text(word.into());
        for here in ["", "127.0.0.1", "127.1.2.3", "::1", "localhost", "me@127.0.0.1"] {
            assert_eq!(sent(here, word("closed")), None, "{here}");
        }
        let others = |host: &str, much| Some((host.to_owned(), much));
        assert_eq!(sent("192.0.2.1", word("closed")), others("192.0.2.1", None));
        assert_eq!(sent("example.org", Value::Integer(1001)), others("example.org", Some(1001)));
        assert_eq!(sent("example.org", word("off")), others("example.org", Some(0)));
    }

    #[test]
    fn a_url_names_its_host() {
        for (url, host) in [
            ("http://example.org/file?x=1", "example.org"),
            ("https://joe:secret@example.org:8443/", "example.org"),
            ("http://[::1]:8080/", "::1"),
            ("http://127.0.0.1", "127.0.0.1"),
            ("example.org", "example.org"),
        ] {
            assert_eq!(host_of(url), host);
        }
    }
}
