//! What is asked for, and the few fields that matter here.

use hyper::header::{CONTENT_LENGTH, COOKIE, HOST, TRANSFER_ENCODING};
use hyper::{HeaderMap, Method, StatusCode};

use super::limits::HttpLimits;

/// A request without a body.
#[derive(Debug, Clone, Default)]
pub(super) struct HttpRequest {
    /// Whether only the head of the answer is wanted.
    pub(super) head_only: bool,
    /// The path, as it came.
    pub(super) path: String,
    /// Names and values behind the question mark, decoded.
    pub(super) query: Vec<(String, String)>,
    fields: HeaderMap,
}

/// Why a request is refused.
pub(super) type Refused = (StatusCode, &'static str);

impl HttpRequest {
    /// The target of a request, if this server answers it.
    pub(super) fn of<B>(request: &hyper::Request<B>, limits: &HttpLimits) -> Result<Self, Refused> {
        let head_only = match *request.method() {
            Method::GET => false,
            Method::HEAD => true,
            _ => return Err((StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are allowed")),
        };
        let target = request.uri();
        let fields = request.headers();
        let length = target.path_and_query().map_or(0, |address| address.as_str().len());
        if length > limits.target_bytes {
            return Err((StatusCode::URI_TOO_LONG, "the address is too long"));
        }
        let bad = |why| (StatusCode::BAD_REQUEST, why);
        if target.authority().is_some() || !target.path().starts_with('/') {
            return Err(bad("this server is not a proxy"));
        }
        // Two of them could be read differently by a proxy in front and by this server.
        let several = |name| fields.get_all(name).iter().count() > 1;
        if several(HOST) || several(COOKIE) {
            return Err(bad("Host or Cookie is given twice"));
        }
        if !fields.values().all(|value| std::str::from_utf8(value.as_bytes()).is_ok()) {
            return Err(bad("a header field is not text"));
        }
        let empty = fields.get(CONTENT_LENGTH).is_none_or(|length| length == "0");
        if !empty || fields.contains_key(TRANSFER_ENCODING) {
            return Err((StatusCode::PAYLOAD_TOO_LARGE, "requests must not have a body"));
        }
        let query = decoded(target.query().unwrap_or_default())
            .ok_or(bad("the address is not percent-encoded UTF-8"))?;
        Ok(Self { head_only, path: target.path().to_owned(), query, fields: fields.clone() })
    }

    /// The value of a field.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.fields.get(name)?.as_bytes()).ok()
    }

    /// The value of a name in the query.
    pub(super) fn asked(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(asked, _)| asked == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Names and values of a query; None if it is malformed.
fn decoded(query: &str) -> Option<Vec<(String, String)>> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((percent_decoded(name)?, percent_decoded(value)?))
    };
    pairs.map(pair).collect()
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => digit(rest.next()?)? << 4 | digit(rest.next()?)?,
            b'+' => b' ',
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

fn digit(byte: u8) -> Option<u8> {
    let digit = char::from(byte).to_digit(16)?;
    u8::try_from(digit).ok()
}

#[cfg(test)]
mod tests {
    use hyper::StatusCode;
    use proptest::prelude::{any, prop, proptest};

    use super::{HttpLimits, HttpRequest, decoded, percent_decoded};

    fn parsed(
        method: &str,
        target: &str,
        fields: &[(&str, &str)],
    ) -> Result<HttpRequest, StatusCode> {
        let begun = hyper::Request::builder().method(method).uri(target);
        let request =
            fields.iter().fold(begun, |request, (name, value)| request.header(*name, *value));
        let request = request.body(()).unwrap();
        HttpRequest::of(&request, &HttpLimits::default()).map_err(|(status, _)| status)
    }

    #[test]
    fn a_request_is_a_path_a_query_and_fields() {
        let got = parsed("GET", "/api/history?series=a.b%3Ac%2Fd+e&x", &[("Host", "a")]).unwrap();
        assert_eq!((got.path.as_str(), got.asked("series")), ("/api/history", Some("a.b:c/d e")));
        assert_eq!((got.asked("x"), got.asked("y")), (Some(""), None));
        assert_eq!(
            (got.field("host"), got.field("cookie"), got.head_only),
            (Some("a"), None, false)
        );
        assert!(parsed("HEAD", "/", &[]).unwrap().head_only);
    }

    #[test]
    fn what_is_no_such_request_is_refused() {
        let long = format!("/{}", "a".repeat(5000));
        for (method, target, field, status) in [
            ("POST", "/", ("Content-Length", "3"), StatusCode::METHOD_NOT_ALLOWED),
            ("OPTIONS", "*", ("a", "b"), StatusCode::METHOD_NOT_ALLOWED),
            ("GET", "/", ("Content-Length", "3"), StatusCode::PAYLOAD_TOO_LARGE),
            ("GET", "/", ("Transfer-Encoding", "chunked"), StatusCode::PAYLOAD_TOO_LARGE),
            ("GET", "http://elsewhere/", ("a", "b"), StatusCode::BAD_REQUEST),
            ("GET", "*", ("a", "b"), StatusCode::BAD_REQUEST),
            ("GET", "/?a=%zz", ("a", "b"), StatusCode::BAD_REQUEST),
            ("GET", "/?a=%ff", ("a", "b"), StatusCode::BAD_REQUEST),
            ("GET", &long, ("a", "b"), StatusCode::URI_TOO_LONG),
        ] {
            assert_eq!(parsed(method, target, &[field]).err(), Some(status), "{target:.60}");
        }
        let twice = parsed("GET", "/", &[("Host", "a"), ("Host", "b")]);
        assert_eq!(twice.err(), Some(StatusCode::BAD_REQUEST));
    }

    proptest! {
        #[test]
        fn any_query_is_taken_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let text = String::from_utf8_lossy(&bytes);
            let _ = (decoded(&text), percent_decoded(&text));
        }
    }
}
