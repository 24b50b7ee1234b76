//! Who hears of the events of a run, and in which order.

use plumb_model::{Event, EventSink, SinkError, Stamped};

use crate::measuring::progress::Progress;
use crate::ui::Ui;

/// The events go to the store first: what progress shows is already safe.
pub struct Listeners<W> {
    /// Stores them.
    pub store: W,
    /// Draws them.
    pub progress: Progress,
    /// Why the store takes no more.
    pub full: Option<String>,
    /// The address of the run's page, which is told as soon as there is something on it.
    pub live: Option<(String, Ui)>,
}

impl<W: EventSink> EventSink for Listeners<W> {
    fn take(&mut self, event: &Stamped) -> std::result::Result<(), SinkError> {
        if let Some(why) = &self.full {
            return Err(SinkError(why.clone()));
        }
        if let Err(error) = self.store.take(event) {
            self.full = Some(error.0.clone());
            return Err(error);
        }
        if matches!(event.event, Event::RunStarted { .. }) {
            return Ok(());
        }
        if let Some((url, ui)) = self.live.take() {
            ui.say(&format!("live at {url}"));
        }
        self.progress.take(event);
        Ok(())
    }
}
