//! The text in a chart, cleaned of control characters once, before anything draws it.

use plumb_text::clean;

use crate::chart::{Axis, Chart, Mark};

impl Chart {
    /// The chart with every text that people read cleaned.
    #[must_use]
    pub fn cleaned(mut self) -> Self {
        all([&mut self.title, &mut self.says]);
        all(&mut self.notes);
        all(self.groups.iter_mut().map(|group| &mut group.name));
        [&mut self.x, &mut self.y].into_iter().chain(&mut self.colour).for_each(of_axis);
        for layer in &mut self.layers {
            // Every kind is named: a new kind of mark with text must not slip through uncleaned.
            match &mut layer.mark {
                Mark::Dots { tips, .. }
                | Mark::Intervals { tips, .. }
                | Mark::Rules { tips, .. }
                | Mark::Spans { tips, .. } => all(tips),
                Mark::Boxes { .. }
                | Mark::Line { .. }
                | Mark::Band { .. }
                | Mark::Bars { .. }
                | Mark::Cells { .. } => {}
            }
        }
        self
    }
}

fn of_axis(axis: &mut Axis) {
    all([&mut axis.label, &mut axis.unit]);
    all(&mut axis.categories);
}

fn all<'t>(texts: impl IntoIterator<Item = &'t mut String>) {
    texts.into_iter().for_each(|text| *text = clean(text));
}
