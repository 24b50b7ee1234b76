//! Who may read.

use super::{HttpLimits, ReaderToken, TestServer};

#[test]
fn only_its_own_names_are_answered_on_loopback() {
    let served = TestServer::new();
    let port = served.server.address.port();
    for (host, status) in [
        (format!("127.0.0.1:{port}"), 200),
        (format!("localhost:{port}"), 200),
        (format!("rebound.example:{port}"), 421),
        ("127.0.0.1".to_owned(), 421),
        (String::new(), 421),
    ] {
        let request =
            format!("GET /api/runs HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        assert_eq!(served.raw(&request).status(), status, "{host}");
    }
    let none = served.raw("GET /api/runs HTTP/1.1\r\nConnection: close\r\n\r\n");
    assert_eq!(none.status(), 421);
}

#[test]
fn another_sites_page_gets_nothing_but_may_link_here() {
    let served = TestServer::new();
    for (site, mode, dest, status) in [
        ("cross-site", "no-cors", "script", 403),
        ("same-site", "no-cors", "script", 403),
        ("cross-site", "cors", "empty", 403),
        ("cross-site", "navigate", "iframe", 403),
        ("cross-site", "navigate", "document", 200),
        ("same-origin", "cors", "empty", 200),
        ("none", "navigate", "document", 200),
    ] {
        let fields = format!(
            "Sec-Fetch-Site: {site}\r\nSec-Fetch-Mode: {mode}\r\nSec-Fetch-Dest: {dest}\r\n"
        );
        let reply = served.ask("GET", "/data/index.js", &fields);
        assert_eq!(reply.status(), status, "{site} {mode} {dest}");
    }
}

#[test]
fn with_a_token_nothing_is_answered_without_it() {
    let token = ReaderToken::random().unwrap();
    let secret = token.text().to_owned();
    let served = TestServer::with(HttpLimits::default(), Some(token));
    let address = served.server.address;
    assert_eq!(served.server.url("a.html"), format!("http://{address}/a.html?token={secret}"));
    for path in
        ["/", "/plumb.js", "/api/runs", "/data/index.js", "/events?run=x", "/nothing", "/?token=0"]
    {
        let reply = served.get(path);
        assert_eq!(reply.status(), 401, "{path}");
        assert!(!reply.body.contains(&secret) && reply.field("set-cookie").is_none());
    }
    let entrance = served.get(&format!("/index.html?token={secret}"));
    assert_eq!(entrance.status(), 200);
    assert!(!entrance.body.contains(&secret), "the address without it is what people copy");
    assert!(entrance.body.contains("content=\"0;url=index.html\""), "{}", entrance.body);
    let cookie = entrance.field("set-cookie").unwrap().to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let pair = cookie.split(';').next().unwrap();
    let kept = served.ask("GET", "/api/runs", &format!("Cookie: a=b; {pair}\r\n"));
    assert_eq!(kept.status(), 200);
    let wrong = served.ask("GET", "/api/runs", &format!("Cookie: {}0\r\n", pair));
    assert_eq!(wrong.status(), 401);
    let program = served.get(&format!("/api/runs?token={secret}"));
    assert!(program.status() == 200 && program.body.contains("plumb.runs/1"));
}

#[test]
fn a_token_in_the_address_leads_to_no_other_site() {
    let token = ReaderToken::random().unwrap();
    let secret = token.text().to_owned();
    let served = TestServer::with(HttpLimits::default(), Some(token));
    for path in
        ["//evil.example/a.html", "/\\evil.example/a.html", "/a.html%0aX:y", "/https://e/a.html"]
    {
        let reply = served.get(&format!("{path}?token={secret}"));
        assert_eq!(reply.status(), 404, "{path}");
        assert!(!reply.body.contains("http-equiv=\"refresh\""), "{}", reply.body);
    }
}
