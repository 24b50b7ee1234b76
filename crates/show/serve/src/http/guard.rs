//! Who may read: a token if others can connect, and never another site's page.
//!
//! On a loopback address two things stand between a store and a page of some other site in the same
//! browser. Its script can't read answers (no CORS, `Cross-Origin-Resource-Policy`), nor have them run as
//! its own script (`Sec-Fetch-Site`); and its own name that it lets point here (DNS rebinding) is not
//! one of this server's.

use std::hint::black_box;
use std::net::{IpAddr, SocketAddr};

use hyper::StatusCode;
use rustix::rand::{GetRandomFlags, getrandom};

use super::request::{HttpRequest, Refused};

/// Random bytes of a token.
const BYTES: usize = 16;

/// What a reader must know.
#[derive(Clone)]
pub struct ReaderToken(String);

impl std::fmt::Debug for ReaderToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl ReaderToken {
    /// One that nobody can guess.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn random() -> std::io::Result<Self> {
        let mut bytes = [0_u8; BYTES];
        let got = getrandom(&mut bytes, GetRandomFlags::empty())?;
        if got < BYTES {
            return Err(std::io::Error::other("too few random bytes"));
        }
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// As it stands in an address.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether this is it; how long that takes tells nothing of where it differs.
    fn is(&self, given: &str) -> bool {
        let own = self.0.as_bytes();
        let given = given.as_bytes();
        let differ = own.iter().zip(given).fold(0, |all, (a, b)| black_box(all | (a ^ b)));
        own.len() == given.len() && differ == 0
    }
}

/// How a reader showed that they may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Credential {
    /// No token is needed, or the browser keeps it.
    Before,
    /// It stands in the address.
    InAddress,
}

/// Whether a request may be answered.
pub(super) fn admit(
    request: &HttpRequest,
    address: SocketAddr,
    token: Option<&ReaderToken>,
) -> Result<Credential, Refused> {
    if address.ip().is_loopback() && !request.field("host").is_some_and(|host| names(host, address))
    {
        let why = "open the address that plumb printed: this server accepts no other host name";
        return Err((StatusCode::MISDIRECTED_REQUEST, why));
    }
    if is_of_another_site(request) {
        return Err((StatusCode::FORBIDDEN, "requests from pages of other sites are refused"));
    }
    let Some(token) = token else { return Ok(Credential::Before) };
    if request.asked("token").is_some_and(|given| token.is(given)) {
        return Ok(Credential::InAddress);
    }
    let kept = request.field("cookie").and_then(|field| cookie(field, &cookie_name(address)));
    if kept.is_some_and(|given| token.is(given)) {
        return Ok(Credential::Before);
    }
    Err((
        StatusCode::UNAUTHORIZED,
        "the token is missing or wrong; open the address that plumb printed",
    ))
}

/// The name of the cookie: other servers on this host have other ports, but share cookies.
pub(super) fn cookie_name(address: SocketAddr) -> String {
    format!("plumb-{}", address.port())
}

fn cookie<'f>(field: &'f str, name: &str) -> Option<&'f str> {
    let mut pairs = field.split(';').filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Whether `Host` names a loopback address: `localhost`, or one in figures, with this port.
fn names(host: &str, address: SocketAddr) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        // A last colon inside brackets belongs to an IPv6 address without a port.
        Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()),
        _ => (host, Some(80)),
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let figures = bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    port == Some(address.port()) && (figures || name.eq_ignore_ascii_case("localhost"))
}

/// Whether another site's page wants this as a part of itself. Following a link to here is fine.
fn is_of_another_site(request: &HttpRequest) -> bool {
    let elsewhere = matches!(request.field("sec-fetch-site"), Some("cross-site" | "same-site"));
    let follows = request.field("sec-fetch-mode") == Some("navigate")
        && request.field("sec-fetch-dest") == Some("document");
    elsewhere && !follows
}

#[cfg(test)]
mod tests {
    use super::{ReaderToken, cookie, names};

    #[test]
    fn tokens_differ_and_are_compared_whole() {
        let one = ReaderToken::random().unwrap();
        let two = ReaderToken::random().unwrap();
        assert_eq!(one.text().len(), 32);
        assert!(one.is(one.text()) && !one.is(two.text()));
        let short = &one.text()[1..];
        let long = format!("{}0", one.text());
        assert!(!one.is("") && !one.is(short) && !one.is(&long));
        assert!(!format!("{one:?}").contains(one.text()), "not in a log");
    }

    #[test]
    fn only_names_of_loopback_are_this_servers() {
        let here = "127.0.0.1:7586".parse().unwrap();
        for fine in
            ["127.0.0.1:7586", "localhost:7586", "LOCALHOST:7586", "[::1]:7586", "127.1.2.3:7586"]
        {
            assert!(names(fine, here), "{fine}");
        }
        for not in [
            "",
            "localhost",
            "127.0.0.1",
            "127.0.0.1:80",
            "evil.example:7586",
            "10.0.0.1:7586",
            ":7586",
            "localhost.evil.example:7586",
            "127.0.0.1.evil.example:7586",
            "[::1]",
            "localhost:x",
            "[::1]:",
        ] {
            assert!(!names(not, here), "{not}");
        }
        assert!(names("localhost", "127.0.0.1:80".parse().unwrap()));
    }

    #[test]
    fn a_cookie_is_found_by_its_whole_name() {
        assert_eq!(cookie("a=1; plumb-1=x; b=2", "plumb-1"), Some("x"));
        assert_eq!(cookie("xplumb-1=x", "plumb-1"), None);
        assert_eq!(cookie("plumb-1", "plumb-1"), None);
    }
}
