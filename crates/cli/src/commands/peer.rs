//! `plumb peer`: servers for runs on other machines.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use plumb_model::PEER_PORT;
use plumb_peer::{Key, Limits, Settings};
use plumb_suite::time_ns;
use serde::Serialize;

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::listener::{listener, unheard};
use crate::locate;
use crate::reading::output::pretty;

/// Start servers here for runs on machines that have the same key
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plumb peer --new-key                   write a key, once; copy the file to the other machine
  plumb peer --listen 0.0.0.0            on the machine that is to be the far end
  plumb run network.tcp --to peer:HOST   on the other one

Both machines need the same build of plumb. Whoever has the key can start plumb's servers here and nothing \
else. The data that network workloads send are not encrypted and use ports that the kernel picks. Where you can \
log in with ssh, --to ssh: needs neither key nor peer.")]
pub struct PeerArgs {
    /// Listen here: an address, a port, or both; port 0 picks a free one [default: 127.0.0.1:7587]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Read the key from this file [default: $PLUMB_PEER_KEY, or plumb/peer.key where your settings are]
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Write a fresh key to that file, and end
    #[arg(long)]
    new_key: bool,
    /// End when no run has been here for so long
    #[arg(long, value_name = "TIME", default_value = "1h")]
    idle: String,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct PeerDocument<'d> {
    schema: &'static str,
    listen: Option<String>,
    key: &'d Path,
}

impl Subcommand for PeerArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        let (ui, schema) = (context.ui, "plumb.peer/1");
        let idle = Duration::from_nanos(time_ns(&self.idle)?);
        let key = self.key.clone().map_or_else(Key::place, Ok).map_err(CommandError::usage)?;
        if self.new_key {
            Key::create(&key).map_err(CommandError::file)?;
            let document = PeerDocument { schema, listen: None, key: &key };
            let shown = key.display().to_string();
            ui.out(&if ui.wants_json() { pretty(&document)? } else { shown });
            ui.say("copy it to the other machine, and let nobody else read it there");
            return Ok(Exit::Fine);
        }
        let without = |why| CommandError::usage(why).hint("plumb peer --new-key writes one");
        let shared = Key::read(&key).map_err(without)?;
        // Where runs look for it: another port has to be named at both ends.
        let usual = PEER_PORT.to_string();
        let listener = listener(Some(self.listen.as_deref().unwrap_or(&usual)), PEER_PORT)?;
        let address = listener.local_addr().map_err(unheard)?;
        let document = PeerDocument { schema, listen: Some(address.to_string()), key: &key };
        ui.out(&if ui.wants_json() { pretty(&document)? } else { address.to_string() });
        ui.say(&format!(
            "starts servers for whoever has the key {}; Ctrl-C ends it",
            key.display()
        ));
        let settings = Settings {
            key: shared,
            plumb: vec![locate::plumb()?.display().to_string()],
            path: locate::plumb_for_others(),
            folder: std::env::temp_dir(),
            idle,
            limits: Limits::default(),
        };
        let talk = ui.clone();
        plumb_peer::serve(&listener, settings, move |what| talk.say(what)).map_err(unheard)?;
        Ok(Exit::Fine)
    }
}
