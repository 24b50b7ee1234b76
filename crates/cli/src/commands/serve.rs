//! `plumb serve`: the store in a browser.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;
use plumb_serve::{HttpLimits, HttpServer, ReaderToken, ServeSettings};
use serde::Serialize;

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{Exit, Result};
use crate::interrupt;
use crate::listener::{PAGES, listener, unheard};
use crate::reading::output::pretty;
use crate::reading::runs;
use crate::ui::Ui;

/// How long to sleep when nobody ends it.
const LONG: Duration = Duration::from_secs(3600);

/// Show all runs in a browser, including runs in progress
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb serve                            all runs in a browser, at http://127.0.0.1:7586/
  plumb serve --open                     also open the browser
  plumb serve --listen 0.0.0.0:8000      for other machines; the printed address contains a token
  ssh -L 7586:127.0.0.1:7586 HOST plumb serve    the runs of HOST, with no open port

Browsers have read-only access. docs/serve.md explains who can read what, and lists the JSON documents.")]
pub struct ServeArgs {
    /// Listen on this address, port, or both; port 0 picks a free one [default: 127.0.0.1:7586]
    ///
    /// Without --listen, plumb picks a free port if 7586 is taken.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Require a token even on a loopback address, to which any local user can connect
    #[arg(long)]
    token: bool,
    /// Open the browser
    #[arg(long)]
    open: bool,
}

impl Subcommand for ServeArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        serve(self, context.store, context.ui)
    }
}

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
fn serve(args: &ServeArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let path = runs::open(store)?.path().to_owned();
    let listener = listener(args.listen.as_deref(), PAGES)?;
    let address = listener.local_addr().map_err(unheard)?;
    let open = !address.ip().is_loopback();
    let token = (open || args.token).then(ReaderToken::random).transpose().map_err(unheard)?;
    let given = token.clone();
    interrupt::listen();
    let limits = HttpLimits::default();
    let settings = ServeSettings { store: path.clone(), token, limits, stays: true };
    let server = HttpServer::start(listener, settings).map_err(unheard)?;
    let url = server.url("");
    let document = ServeDocument {
        schema: "plumb.serve/1",
        url: &url,
        listen: address.to_string(),
        token: given.as_ref().map(ReaderToken::text),
        store: &path,
    };
    ui.out(&if ui.wants_json() { pretty(&document)? } else { url.clone() });
    if ui.has_lost_output() {
        // Nobody knows the address.
        return Ok(Exit::Store);
    }
    if open {
        ui.warn(
            "other machines can connect: anyone with this address and its token can read all runs, and so can anyone listening on the network, because the traffic is not encrypted",
        );
    }
    ui.say(&format!("serving the runs in {}; press Ctrl-C to stop", path.display()));
    if args.open {
        open_browser(&url, given.is_some(), ui);
    }
    while !interrupt::is_interrupted() {
        interrupt::sleep(LONG);
    }
    server.finish(Duration::ZERO);
    Ok(Exit::Fine)
}

/// Opens the browser; what it says is not ours to show.
fn open_browser(url: &str, secret: bool, ui: &Ui) {
    if secret {
        ui.warn("did not open the browser: all users of this machine would see the token in the process list");
        return;
    }
    let mut opener = Command::new("xdg-open");
    let opener = opener.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = opener.spawn() {
        ui.warn(&format!("can't open a browser (xdg-open: {error}); open the address yourself"));
    }
}
