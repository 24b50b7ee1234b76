//! `plumb serve`: the store in a browser; and the page of a run under way (`--live`).

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use plumb_model::Id;
use plumb_serve::{Limits, Server, Settings, Token};
use plumb_site::names;
use serde::Serialize;

use crate::cli::ServeArgs;
use crate::error::{CommandError, Exit, Result};
use crate::interrupt;
use crate::ui::Ui;

/// PLUM on a telephone's keys.
const PORT: u16 = 7586;
/// How long browsers have to hear that a run is over.
const LAST_WORDS: Duration = Duration::from_millis(1500);
/// How long to sleep when nobody ends it.
const LONG: Duration = Duration::from_secs(3600);

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct ServeDocument<'d> {
    schema: &'static str,
    url: &'d str,
    listen: String,
    token: Option<&'d str>,
    store: &'d Path,
}

/// Serves the store until somebody ends it.
pub fn serve(args: &ServeArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let path = crate::commands::show::command::open(store)?.path().to_owned();
    let listener = listener(args.listen.as_deref())?;
    let address = listener.local_addr().map_err(unheard)?;
    let open = !address.ip().is_loopback();
    let token = (open || args.token).then(Token::random).transpose().map_err(unheard)?;
    let given = token.clone();
    interrupt::listen();
    let limits = Limits::default();
    let settings = Settings { store: path.clone(), token, limits, stays: true };
    let server = Server::start(listener, settings).map_err(unheard)?;
    let url = server.url("");
    let document = ServeDocument {
        schema: "plumb.serve/1",
        url: &url,
        listen: address.to_string(),
        token: given.as_ref().map(Token::text),
        store: &path,
    };
    ui.out(&if ui.wants_json() { crate::commands::pretty(&document)? } else { url.clone() });
    if open {
        ui.warn(
            "other machines can connect: who has this address, with its token, can read all runs, and \
             so can who listens on the network, because nothing is encrypted",
        );
    }
    ui.say(&format!("the runs in {}; Ctrl-C ends it", path.display()));
    if args.open {
        open_browser(&url, given.is_some(), ui);
    }
    while !interrupt::is_interrupted() {
        interrupt::sleep(LONG);
    }
    server.finish(Duration::ZERO);
    Ok(Exit::Fine)
}

/// Listens where the user wants; else at the usual port of this machine, or at a free one.
fn listener(wanted: Option<&str>) -> Result<TcpListener> {
    let home = IpAddr::from(Ipv4Addr::LOCALHOST);
    let Some(wanted) = wanted else {
        let usual = TcpListener::bind((home, PORT));
        let taken = usual.as_ref().is_err_and(|error| error.kind() == ErrorKind::AddrInUse);
        return if taken { TcpListener::bind((home, 0)) } else { usual }.map_err(unheard);
    };
    let address = address(wanted).ok_or_else(|| {
        CommandError::usage(format!("`{wanted}` is no address to listen at"))
            .hint("--listen 127.0.0.1:8000, --listen [::1]:8000 or --listen 8000")
    })?;
    TcpListener::bind(address).map_err(|error| {
        let error = CommandError::usage(format!("can't listen at {address}: {error}"));
        error.hint(format!("--listen {}:0 takes a free port", shown(address.ip())))
    })
}

/// `ADDRESS:PORT`, `ADDRESS` or `PORT`.
fn address(text: &str) -> Option<SocketAddr> {
    let home = IpAddr::from(Ipv4Addr::LOCALHOST);
    let text = text.replacen("localhost", "127.0.0.1", 1);
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let alone = bare.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, PORT));
    let port = text.parse::<u16>().map(|port| SocketAddr::new(home, port));
    text.parse().or(alone).or(port).ok()
}

fn shown(ip: IpAddr) -> String {
    if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() }
}

fn unheard(error: std::io::Error) -> CommandError {
    CommandError::nothing(format!("can't listen for browsers: {error}"))
}

/// Opens the browser; what it says is not ours to show.
fn open_browser(url: &str, secret: bool, ui: &Ui) {
    if secret {
        ui.warn("not opened: all users of this machine would see the token among the processes");
        return;
    }
    let mut opener = Command::new("xdg-open");
    let opener = opener.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = opener.spawn() {
        ui.warn(&format!("can't open a browser (xdg-open: {error}); open the address yourself"));
    }
}

/// The page of a run under way, served by this process.
pub struct LivePage {
    server: Server,
    url: String,
}

impl LivePage {
    /// Serves the page of a run, from a store.
    ///
    /// # Errors
    /// When the system gives no socket.
    pub fn of(run: Id, store: &Path) -> Result<Self> {
        let listener = listener(None)?;
        let settings = Settings {
            store: store.to_owned(),
            token: None,
            limits: Limits::default(),
            stays: false,
        };
        let server = Server::start(listener, settings).map_err(unheard)?;
        let url = server.url(&format!("{}.html", names::live_page(run)));
        Ok(Self { server, url })
    }

    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The run is over: tells the browsers, and ends.
    pub fn finish(self) {
        self.server.finish(LAST_WORDS);
    }
}

#[cfg(test)]
mod tests {
    use super::{PORT, address};

    #[test]
    fn an_address_is_written_in_many_ways() {
        for (text, meant) in [
            ("127.0.0.1:80", "127.0.0.1:80".to_owned()),
            ("localhost:80", "127.0.0.1:80".to_owned()),
            ("0.0.0.0", format!("0.0.0.0:{PORT}")),
            ("[::1]:80", "[::1]:80".to_owned()),
            ("::", format!("[::]:{PORT}")),
            ("[::1]", format!("[::1]:{PORT}")),
            ("8000", "127.0.0.1:8000".to_owned()),
            ("0", "127.0.0.1:0".to_owned()),
        ] {
            assert_eq!(address(text).unwrap().to_string(), meant, "{text}");
        }
        for wrong in ["", "example.org:80", "1.2.3.4:99999", "x", ":", "80:80", "127.0.0.1:"] {
            assert_eq!(address(wrong), None, "{wrong}");
        }
    }
}
