//! What `plumb serve` understands, and `--live` of the commands that measure.

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plumb serve                            all runs in a browser, at http://127.0.0.1:7586/
  plumb serve --open                     and opens it
  plumb serve --listen 0.0.0.0:8000      for other machines; the printed address holds a token
  ssh -L 7586:127.0.0.1:7586 HOST plumb serve    another machine's runs, without opening a port there

It only reads: nothing can be changed or started from a browser. Ctrl-C ends it. docs/serve.md tells who \
can read what, and lists the documents for programs (api/runs, api/runs/ID, …).")]
pub struct ServeArgs {
    /// Where to listen: an address, a port, or both; port 0 is a free one [default: 127.0.0.1:7586, or a free
    /// port when that is taken]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<String>,
    /// Ask for a token also where only this machine can connect, since all its users can
    #[arg(long)]
    pub token: bool,
    /// Open it in the browser
    #[arg(long)]
    pub open: bool,
}

/// Whether a run is shown while it goes on.
#[derive(Debug, Clone, Copy, Args)]
pub struct LiveArgs {
    /// Show the run in a browser while it goes on: prints an address of this machine
    #[arg(long)]
    pub live: bool,
}
