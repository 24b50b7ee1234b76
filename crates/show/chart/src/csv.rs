//! A chart's numbers as a table: a row a mark.

use plumb_text::csv::{line, number, text};

use crate::chart::{Along, Axis, Chart, Mark, Scale};

const COLUMNS: [&str; 12] =
    ["group", "mark", "name", "x", "y", "low", "q1", "value", "q3", "high", "steps", "text"];

/// One mark's fields next to group and kind.
#[derive(Default)]
struct Fields<'c> {
    x: Option<f64>,
    y: Option<f64>,
    low: Option<f64>,
    q1: Option<f64>,
    value: Option<f64>,
    q3: Option<f64>,
    high: Option<f64>,
    steps: bool,
    text: &'c str,
}

impl Fields<'_> {
    /// A mark that has a place on the axis across the one of its values.
    fn across(along: Along, at: f64) -> Self {
        match along {
            Along::X => Self { y: Some(at), ..Self::default() },
            Along::Y => Self { x: Some(at), ..Self::default() },
        }
    }
}

impl Chart {
    /// Its numbers as CSV in SI base units: a row a mark, with its group, and with its name where it stands at
    /// one.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut out = line(COLUMNS.iter().map(|column| text(column)));
        for layer in &self.layers {
            let group = layer
                .group
                .and_then(|group| self.groups.get(group))
                .map_or("", |group| group.name.as_str());
            for row in 0..layer.mark.len() {
                let row_fields = fields(&layer.mark, row);
                let name =
                    [(&self.x, row_fields.x), (&self.y, row_fields.y)].into_iter().find_map(name);
                let mut row = vec![text(group), layer.mark.word().to_owned()];
                row.push(text(name.unwrap_or_default()));
                row.extend(
                    [
                        row_fields.x,
                        row_fields.y,
                        row_fields.low,
                        row_fields.q1,
                        row_fields.value,
                        row_fields.q3,
                        row_fields.high,
                    ]
                    .map(|value| value.map_or_else(String::new, number)),
                );
                row.push(if row_fields.steps { "yes".to_owned() } else { String::new() });
                row.push(text(row_fields.text));
                out.push_str(&line(row));
            }
        }
        out
    }
}

/// The category nearest to a place.
fn name((axis, place): (&Axis, Option<f64>)) -> Option<&str> {
    let place = place.filter(|_| axis.scale == Scale::Band)?;
    axis.categories
        .iter()
        .enumerate()
        .min_by(|(a, _), (b, _)| distance(*a, place).total_cmp(&distance(*b, place)))
        .map(|(_, name)| name.as_str())
}

// Marks may lie a little off the place of their name: an interval is drawn below its box.
fn distance(index: usize, place: f64) -> f64 {
    (crate::place::place(index) - place).abs()
}

fn fields(mark: &Mark, row: usize) -> Fields<'_> {
    match mark {
        Mark::Boxes { along, at, low, q1, median, q3, high } => Fields {
            low: Some(low[row]),
            q1: Some(q1[row]),
            value: Some(median[row]),
            q3: Some(q3[row]),
            high: Some(high[row]),
            ..Fields::across(*along, at[row])
        },
        Mark::Intervals { along, at, low, estimate, high, tips } => Fields {
            low: low[row],
            value: Some(estimate[row]),
            high: high[row],
            text: &tips[row],
            ..Fields::across(*along, at[row])
        },
        Mark::Dots { x, y, tips } => {
            Fields { x: Some(x[row]), y: Some(y[row]), text: &tips[row], ..Fields::default() }
        }
        Mark::Line { x, y, steps } => {
            Fields { x: Some(x[row]), y: y[row], steps: *steps, ..Fields::default() }
        }
        Mark::Band { x, low, high } => Fields {
            x: Some(x[row]),
            low: Some(low[row]),
            high: Some(high[row]),
            ..Fields::default()
        },
        Mark::Bars { along, at, from, to } => {
            Fields { low: Some(from[row]), high: Some(to[row]), ..Fields::across(*along, at[row]) }
        }
        Mark::Cells { x, y, value } => {
            let x = Some(x[row]);
            let y = Some(y[row]);
            let value = Some(value[row]);
            Fields { x, y, value, ..Fields::default() }
        }
        Mark::Rules { along, at, tips } => {
            let here = Some(at[row]);
            let text = tips[row].as_str();
            match along {
                Along::X => Fields { x: here, text, ..Fields::default() },
                Along::Y => Fields { y: here, text, ..Fields::default() },
            }
        }
        Mark::Spans { from, to, share, tips, .. } => Fields {
            value: Some(share[row]),
            low: Some(from[row]),
            high: Some(to[row]),
            text: &tips[row],
            ..Fields::default()
        },
    }
}
