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
