//! Files over HTTPS, from a real server of OpenSSL.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use crate::common::processes::wait_for;
use crate::common::{TestEnvironment, ran};
use crate::{PATIENCE, parsed, place, results};

/// `openssl s_server -WWW`, for whoever asks for `localhost`.
struct TlsServer {
    child: Child,
    place: TestEnvironment,
    port: u16,
}

impl TlsServer {
    fn start() -> Self {
        let place = place();
        Self::make_certificate(&place);
        Self::listening(place)
    }

    /// A server whose certificate was valid for a day in 2020.
    fn expired() -> Self {
        let place = place();
        let configuration = "[ca]\ndefault_ca=c\n[c]\ndatabase=index\nserial=serial\nnew_certs_dir=.\n\
            default_md=sha256\npolicy=p\ncopy_extensions=copy\n[p]\ncommonName=supplied\n";
        fs::write(place.cwd().join("ca.cnf"), configuration).unwrap();
        fs::write(place.cwd().join("index"), "").unwrap();
        fs::write(place.cwd().join("serial"), "01\n").unwrap();
        let request = "req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost \
            -addext subjectAltName=DNS:localhost -keyout key -out request";
        let signing = "ca -batch -notext -selfsign -config ca.cnf -keyfile key -in request \
            -startdate 20200101000000Z -enddate 20200102000000Z -out own.pem";
        for words in [request, signing] {
            let made = Command::new("openssl")
                .args(words.split_whitespace())
                .current_dir(place.cwd())
                .output()
                .unwrap();
            assert!(made.status.success(), "{made:?}");
        }
        Self::listening(place)
    }

    fn make_certificate(place: &TestEnvironment) {
        let made = Command::new("openssl")
            .args([
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-nodes",
            ])
            .args(["-subj", "/CN=localhost", "-addext", "basicConstraints=critical,CA:FALSE"])
            .args(["-addext", "subjectAltName=DNS:localhost", "-keyout", "key", "-out", "own.pem"])
            .current_dir(place.cwd())
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
    }

    fn listening(place: TestEnvironment) -> Self {
        fs::write(place.cwd().join("file"), vec![7; 100_000]).unwrap();
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let child = Command::new("openssl")
            .args(["s_server", "-WWW", "-quiet", "-key", "key", "-cert", "own.pem", "-accept"])
            .arg(format!("127.0.0.1:{port}"))
            .current_dir(place.cwd())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { child, place, port };
        let listens = || TcpStream::connect(("127.0.0.1", port)).ok();
        assert!(wait_for(PATIENCE, listens).is_some(), "openssl does not listen");
        server
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_file_comes_over_https_from_a_server_that_proves_its_name_and_from_no_other() {
    let server = TlsServer::start();
    let run = |host: &str, authorities: &str| {
        let url = format!("network.http:url=https://{host}:{}/file", server.port);
        let words =
            "run --no-lock --quiet --json --prepare none --monitor none --max-invocations 2";
        let mut plumb = server.place.plumb(&format!("{words} {url} -p address=127.0.0.1"));
        ran(plumb.env("SSL_CERT_FILE", authorities)).unwrap()
    };
    let document = parsed(&run("localhost", "own.pem").exits(0));
    let estimate = |metric: &str| results(&document, metric)[0]["estimate"].as_f64().unwrap();
    // A handshake with a signature takes longer than to open a connection on loopback.
    assert!(estimate("tls_time") > estimate("connect_time"), "{document}");
    let parts = ["name_time", "connect_time", "tls_time", "first_byte", "body_time"].map(estimate);
    assert!(parts.iter().sum::<f64>() > 0.5 / estimate("rate"), "{parts:?}");
    let notes = document["results"][0]["notes"].to_string();
    assert!(notes.contains("a file of 100000 bytes") && notes.contains("TLS 1.3 with"), "{notes}");
    run("127.0.0.1", "own.pem").exits(3).shows(&["not valid for name"]);
    run("localhost", "file").exits(3).shows(&["it contains no certificate"]);
    run("localhost", "none").exits(3).shows(&["no certificate authority is trusted here"]);
}

#[test]
fn handshakes_are_made_only_with_servers_that_prove_their_name_today() {
    let run = |server: &TlsServer, more: &str| {
        let port = server.port;
        let words = "run --no-lock --quiet --json --prepare none --monitor none --max-invocations 2 --min-time 1ms";
        let point = format!("tls.handshake:host=127.0.0.1,port={port},{more}");
        let mut plumb = server.place.plumb(&format!("{words} {point}"));
        ran(plumb.env("SSL_CERT_FILE", "own.pem")).unwrap()
    };
    let server = TlsServer::start();
    let document = parsed(&run(&server, "name=localhost").exits(0));
    let rate = results(&document, "rate")[0]["estimate"].as_f64().unwrap();
    assert!(rate > 1.0, "{document}");
    let wrong = run(&server, "name=example.org").exits(3);
    wrong.shows(&["not valid for name", "set `name` to the name in the certificate"]);
    run(&server, "name=example.org,verify=off").exits(0);
    let expired = TlsServer::expired();
    run(&expired, "name=localhost").exits(3).shows(&["expired"]);
}
