//! The page of a run under way (`--live`).

use std::path::Path;
use std::time::Duration;

use plumb_model::Id;
use plumb_serve::{HttpLimits, HttpServer, ServeSettings};
use plumb_site::names;

use crate::error::Result;
use crate::listener::{PAGES, listener, unheard};

/// How long browsers have to hear that a run is over.
const LAST_WORDS: Duration = Duration::from_millis(1500);

/// Whether a run is shown while it goes on.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct LiveArgs {
    /// Show the run in a browser; print the address
    #[arg(long)]
    pub live: bool,
}

/// The page of a run under way, served by this process.
pub struct LivePage {
    server: HttpServer,
    run: Id,
    url: String,
}

impl LivePage {
    /// Serves the page of a run, from a store.
    ///
    /// # Errors
    /// When the system gives no socket.
    pub fn of(run: Id, store: &Path) -> Result<Self> {
        let listener = listener(None, PAGES)?;
        let settings = ServeSettings {
            store: store.to_owned(),
            token: None,
            limits: HttpLimits::default(),
            stays: false,
        };
        let server = HttpServer::start(listener, settings).map_err(unheard)?;
        let url = server.url(&format!("{}.html", names::live_page(run)));
        Ok(Self { server, run, url })
    }

    /// The address of the run's page.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The program of a point says that it is doing something; None: no more.
    pub fn doing(&self, activity: Option<(usize, String)>) {
        self.server.doing(self.run, activity);
    }

    /// The run is over: tells the browsers, and ends.
    pub fn finish(self) {
        self.server.finish(LAST_WORDS);
    }
}
