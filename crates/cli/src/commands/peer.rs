//! `plumb peer`: servers for runs on other machines.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use plumb_model::PEER_PORT;
use plumb_peer::{PeerKey, PeerLimits, PeerSettings};
use plumb_suite::time_ns;
use serde::Serialize;

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::listener::{listener, unheard};
use crate::locate;
use crate::reading::output::pretty;

/// Let machines with the same key run servers on this machine
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb peer --new-key                   write a key once; copy the file to the other machine
  plumb peer --listen 0.0.0.0            on the machine at the far end
  plumb run network.tcp --to peer:HOST   on the other machine

Both machines need the same build of plumb. Anyone with the key can start plumb servers on this machine, but nothing \
else. Network workloads send their data unencrypted, to ports that the kernel picks. If you can log in with ssh, use \
--to ssh: instead.")]
pub struct PeerArgs {
    /// Listen on this address, port, or both; port 0 picks a free one [default: 127.0.0.1:7587]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Read the key from this file [default: $PLUMB_PEER_KEY, or plumb/peer.key in your configuration folder]
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Write a new key file and exit
    #[arg(long)]
    new_key: bool,
    /// Exit after this long without a run
    #[arg(long, value_name = "TIME", default_value = "1h")]
    idle: String,
}

/// The document that `--json` prints once the peer listens, or once a key is written.
#[derive(Debug, Serialize)]
struct PeerDocument<'d> {
    schema: &'static str,
    listen: Option<String>,
    key: &'d Path,
}

impl Subcommand for PeerArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        let ui = context.ui;
        let schema = "plumb.peer/1";
        let idle = Duration::from_nanos(time_ns(&self.idle)?);
        let key = self.key.clone().map_or_else(PeerKey::place, Ok).map_err(CommandError::usage)?;
        if self.new_key {
            PeerKey::create(&key).map_err(CommandError::file)?;
            let document = PeerDocument { schema, listen: None, key: &key };
            let shown = key.display().to_string();
            ui.out(&if ui.wants_json() { pretty(&document)? } else { shown });
            ui.say("copy it to the other machine, readable only by you");
            return Ok(Exit::Fine);
        }
        let shared = PeerKey::read(&key)
            .map_err(|why| CommandError::usage(why).hint("plumb peer --new-key writes one"))?;
        // Runs look for a peer at this port unless they name another one.
        let usual = PEER_PORT.to_string();
        let listener = listener(Some(self.listen.as_deref().unwrap_or(&usual)), PEER_PORT)?;
        let address = listener.local_addr().map_err(unheard)?;
        let document = PeerDocument { schema, listen: Some(address.to_string()), key: &key };
        ui.out(&if ui.wants_json() { pretty(&document)? } else { address.to_string() });
        if ui.has_lost_output() {
            // Nobody knows the address.
            return Ok(Exit::Store);
        }
        ui.say(&format!(
            "starting servers for anyone with the key {}; press Ctrl-C to stop",
            key.display()
        ));
        let settings = PeerSettings {
            key: shared,
            plumb: vec![locate::plumb()?.display().to_string()],
            path: locate::plumb_for_others(),
            folder: std::env::temp_dir(),
            idle,
            limits: PeerLimits::default(),
        };
        let talk = ui.clone();
        plumb_peer::serve(&listener, settings, move |event| talk.say(event)).map_err(unheard)?;
        Ok(Exit::Fine)
    }
}
