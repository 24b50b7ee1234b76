//! A name with eight addresses, of which one answers late.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::common::{TestEnvironment, ran};
use crate::{parsed, place};

/// A server at all addresses of this machine: at one it takes 50 ms more to answer. It says its port.
const SERVER: &str = "
import http.server, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.connection.getsockname()[0] == '127.0.1.5':
            time.sleep(.05)
        self.send_response(200)
        self.send_header('Content-Length', '5')
        self.end_headers()
        self.wfile.write(b'hello')
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler, False)
server.server_address = ('0.0.0.0', 0)
server.server_bind()
server.server_activate()
print(server.server_port, flush=True)
server.serve_forever()
";

struct ServeProcess(Child, String);

impl ServeProcess {
    fn start(place: &TestEnvironment) -> Self {
        let mut child =
            place.program("python3").args(["-c", SERVER]).stdout(Stdio::piped()).spawn().unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self(child, port.trim().to_owned())
    }
}

impl Drop for ServeProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_one_bad_address_of_eight_is_found_and_named() {
    let place = place();
    let server = ServeProcess::start(&place);
    let hosts: String = (1..=8).map(|last| format!("127.0.1.{last} web.test\n")).collect();
    place.write("hosts", &hosts).unwrap();
    // In a mount namespace of its own the name has these addresses.
    let plumb = place.plumb("");
    let words = "run --no-lock --quiet --json --prepare none --monitor none --max-invocations 8 --invocation-time 30ms";
    let mut command = place.program("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c"]);
    command.arg("mount --bind hosts /etc/hosts && exec \"$@\"").arg("sh").arg(plumb.get_program());
    command.args(words.split(' ')).arg(format!("network.http:url=http://web.test:{}/", server.1));
    let document = parsed(&ran(&mut command).unwrap().exits(0));
    let results = document["results"].as_array().unwrap();
    let odd = |result: &&serde_json::Value| result["flags"].to_string().contains("odd-address");
    let named: Vec<&str> =
        results.iter().filter(odd).filter_map(|result| result["name"].as_str()).collect();
    assert!(!named.is_empty(), "{document}");
    assert!(named.iter().all(|name| name.contains("address=127.0.1.5")), "{named:?}");
    let addresses = results.iter().filter(|result| result["metric"] == "rate").count();
    assert_eq!(addresses, 8, "a point for each address");
    let flags = results.iter().find(odd).unwrap()["flags"].to_string();
    assert!(flags.contains("web.test has 8 addresses: "), "{flags}");
}
