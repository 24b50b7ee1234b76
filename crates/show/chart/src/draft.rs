//! From marks to a chart: axes that hold every mark, in units that people read.

use plumb_text::units::scale_of;

use crate::chart::{Along, Axis, CHART_SCHEMA, Chart, Group, Layer, Mark, Scale, Tone};

/// Values that are further apart than this, all above 0, are laid off by their logarithm.
const FAR_APART: f64 = 30.0;
/// Further than this apart no one unit suits both ends.
const DECADES: f64 = 1e3;
/// Larger numbers can't be laid off.
const LARGEST: f64 = 1e300;
/// What is left free beside the outermost marks, as a share of the axis.
const MARGIN: f64 = 0.04;
/// Seconds beside a single date.
const DAY: f64 = 86_400.0;

/// How an axis is to be made of the marks on it.
#[derive(Debug, Clone)]
pub enum Wish {
    /// Names side by side.
    Names(Vec<String>),
    /// Values in a base unit; `%` stands for shares.
    Values {
        /// What is laid off on the axis.
        label: String,
        /// The SI base unit of the values.
        unit: String,
        /// How they are laid off.
        fit: Fit,
    },
}

/// How values are laid off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// By the logarithm where they are far apart, else evenly.
    Free,
    /// Evenly.
    Even,
    /// Evenly, from 0.
    FromZero,
    /// By the logarithm where that is possible.
    Log,
    /// Seconds since 1970.
    Date,
}

impl Wish {
    /// An axis of values in a base unit.
    #[must_use]
    pub fn values(label: &str, unit: &str, fit: Fit) -> Self {
        Self::Values { label: label.to_owned(), unit: unit.to_owned(), fit }
    }
}

/// A chart without axes.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The label and the unit of what colours stand for, for a heat map.
    pub colour: Option<(String, String)>,
    id: String,
    title: String,
    says: String,
    x: Wish,
    y: Wish,
    groups: Vec<Group>,
    layers: Vec<Layer>,
    notes: Vec<String>,
}

impl Draft {
    /// A chart with nothing on it: its name, what stands above it, how to read it, and its axes.
    #[must_use]
    pub fn new(id: String, title: String, says: String, x: Wish, y: Wish) -> Self {
        let (groups, layers, notes) = (Vec::new(), Vec::new(), Vec::new());
        Self { id, title, says, x, y, colour: None, groups, layers, notes }
    }

    /// Another group; gives back its index.
    pub fn group(&mut self, name: &str, tone: Tone) -> usize {
        let group = Group { name: name.to_owned(), tone };
        if let Some(known) = self.groups.iter().position(|it| *it == group) {
            return known;
        }
        self.groups.push(group);
        self.groups.len() - 1
    }

    /// Marks below all others.
    pub fn layer_below(&mut self, group: Option<usize>, mark: Mark) {
        self.layers.insert(0, Layer { group, mark });
    }

    /// More marks, on top of the others; none is not a layer.
    pub fn layer(&mut self, group: Option<usize>, mark: Mark) {
        self.layers.push(Layer { group, mark });
    }

    /// A note below the chart, once however often it is said.
    pub fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// The chart; None without a mark of data.
    pub fn finish(mut self) -> Option<Chart> {
        let mut lost = 0;
        for layer in &mut self.layers {
            lost += layer.mark.drop_unsound();
        }
        if lost > 0 {
            self.note(format!("{lost} marks are no finite numbers and are not drawn"));
        }
        self.layers.retain(|layer| !layer.mark.is_empty());
        let is_data =
            |layer: &Layer| !matches!(layer.mark, Mark::Rules { .. } | Mark::Spans { .. });
        if !self.layers.iter().any(is_data) {
            return None;
        }
        self.drop_unused_groups();
        let axis = |wish: Wish, along| {
            let places = self.layers.iter().flat_map(|layer| layer.mark.places(along));
            wish.axis(Extent::of(places))
        };
        let (x, y) = (axis(self.x, Along::X), axis(self.y, Along::Y));
        let colour = self.colour.map(|(label, unit)| {
            let values = self.layers.iter().flat_map(|layer| layer.mark.colours());
            let extent = Extent::of(values);
            let mut axis = Wish::Values { label, unit, fit: Fit::Free }.axis(extent);
            if extent.low < extent.high {
                (axis.low, axis.high) = (extent.low, extent.high);
            }
            axis
        });
        let chart = Chart {
            schema: CHART_SCHEMA,
            id: self.id,
            title: self.title,
            says: self.says,
            x,
            y,
            colour,
            groups: self.groups,
            layers: self.layers,
            notes: self.notes,
        };
        Some(chart.cleaned())
    }

    fn drop_unused_groups(&mut self) {
        let used = |index: usize| self.layers.iter().any(|layer| layer.group == Some(index));
        let kept: Vec<usize> = (0..self.groups.len()).filter(|&index| used(index)).collect();
        for layer in &mut self.layers {
            layer.group = layer.group.and_then(|old| kept.iter().position(|&index| index == old));
        }
        let groups = std::mem::take(&mut self.groups);
        let keeps = groups.into_iter().enumerate().filter(|(index, _)| kept.contains(index));
        self.groups = keeps.map(|(_, group)| group).collect();
    }
}

/// From the least to the greatest of some values.
#[derive(Debug, Clone, Copy)]
struct Extent {
    low: f64,
    high: f64,
}

impl Extent {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let none = Self { low: f64::INFINITY, high: f64::NEG_INFINITY };
        let found = values
            .fold(none, |all, value| Self { low: all.low.min(value), high: all.high.max(value) });
        if found.low > found.high { Self { low: 0.0, high: 1.0 } } else { found }
    }
}

impl Wish {
    fn axis(self, extent: Extent) -> Axis {
        match self {
            Self::Names(categories) => {
                #[expect(clippy::cast_precision_loss, reason = "a number of categories")]
                let last = categories.len() as f64 - 1.0;
                let (low, high) = (extent.low.min(0.0) - 0.5, extent.high.max(last) + 0.5);
                let (low, high) = (low.max(-0.5), high.min(last + 0.5));
                let (label, unit) = (String::new(), String::new());
                Axis { label, unit, per: 1.0, scale: Scale::Band, categories, low, high }
            }
            Self::Values { label, unit, fit } => {
                let scale = fit.scale(extent);
                let (unit, per) = unit_of(&unit, scale, extent);
                let (low, high) = fit.ends(scale, extent);
                Axis { label, unit, per, scale, categories: Vec::new(), low, high }
            }
        }
    }
}

fn unit_of(unit: &str, scale: Scale, Extent { low, high }: Extent) -> (String, f64) {
    match (unit, scale) {
        ("%", _) => ("%".to_owned(), 0.01),
        (_, Scale::Date) => (String::new(), 1.0),
        (_, Scale::Log) if high / low > DECADES => (unit.to_owned(), 1.0),
        (_, Scale::Log) => scale_of((low * high).sqrt(), unit),
        _ => scale_of(low.abs().max(high.abs()), unit),
    }
}

impl Fit {
    fn scale(self, Extent { low, high }: Extent) -> Scale {
        let possible = low >= LARGEST.recip() && high / low <= LARGEST;
        let by_log = possible && (self == Self::Log || high / low > FAR_APART);
        match self {
            Self::Date => Scale::Date,
            Self::Free | Self::Log if by_log => Scale::Log,
            _ => Scale::Linear,
        }
    }

    fn ends(self, scale: Scale, Extent { low, high }: Extent) -> (f64, f64) {
        if scale == Scale::Log {
            let factor = (high / low).powf(MARGIN).max(1.02);
            return (low / factor, high * factor);
        }
        let (low, high) =
            if self == Self::FromZero { (low.min(0.0), high.max(0.0)) } else { (low, high) };
        let alone = match self {
            Self::Date => DAY.max(low.abs() * f64::EPSILON * 4.0),
            _ if low == 0.0 => 1.0,
            _ => low.abs() * MARGIN,
        };
        let free = if high > low { (high - low) * MARGIN } else { alone };
        let from_zero = self == Self::FromZero;
        let below = if from_zero && low == 0.0 { 0.0 } else { free };
        let above = if from_zero && high == 0.0 && low < 0.0 { 0.0 } else { free };
        (low - below, high + above)
    }
}

fn sound(value: f64) -> bool {
    value.abs() <= LARGEST
}

/// Keeps the rows of a column whose number is in the mask.
fn keep<T>(column: &mut Vec<T>, rows: &[bool]) {
    let mut row = rows.iter();
    column.retain(|_| row.next().copied().unwrap_or(false));
}

impl Mark {
    /// Number of marks.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Boxes { at, .. }
            | Self::Intervals { at, .. }
            | Self::Bars { at, .. }
            | Self::Rules { at, .. } => at.len(),
            Self::Dots { x, .. }
            | Self::Line { x, .. }
            | Self::Band { x, .. }
            | Self::Cells { x, .. } => x.len(),
            Self::Spans { from, .. } => from.len(),
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every place on an axis that a mark takes.
    pub fn places(&self, axis: Along) -> Vec<f64> {
        let spread = |along: Along, at: &[f64], values: &[&[f64]]| {
            if along == axis { values.concat() } else { at.to_vec() }
        };
        let flat = |x: &[f64], y: &[&[f64]]| if axis == Along::X { x.to_vec() } else { y.concat() };
        match self {
            Self::Boxes { along, at, low, q1, median, q3, high } => {
                spread(*along, at, &[low, q1, median, q3, high])
            }
            Self::Intervals { along, at, low, estimate, high, .. } => {
                let ends: Vec<f64> = low.iter().chain(high).copied().flatten().collect();
                spread(*along, at, &[estimate, &ends])
            }
            Self::Bars { along, at, from, to } => spread(*along, at, &[from, to]),
            Self::Dots { x, y, .. } | Self::Cells { x, y, .. } => flat(x, &[y]),
            Self::Line { x, y, .. } => flat(x, &[&y.iter().copied().flatten().collect::<Vec<_>>()]),
            Self::Band { x, low, high } => flat(x, &[low, high]),
            Self::Rules { along, at, .. } => {
                if *along == axis {
                    at.clone()
                } else {
                    Vec::new()
                }
            }
            Self::Spans { along, from, to, .. } => {
                if *along == axis {
                    [from.as_slice(), to].concat()
                } else {
                    Vec::new()
                }
            }
        }
    }

    fn colours(&self) -> Vec<f64> {
        match self {
            Self::Cells { value, .. } => value.clone(),
            _ => Vec::new(),
        }
    }

    /// Leaves out rows with a number that can't be laid off; gives back how many.
    fn drop_unsound(&mut self) -> usize {
        let before = self.len();
        self.drop_missing();
        let rows = {
            let columns = self.numbers();
            let is_sound = |row: usize| columns.iter().all(|column| sound(column[row]));
            (0..before).map(is_sound).collect::<Vec<bool>>()
        };
        if rows.iter().all(|row| *row) {
            return 0;
        }
        self.keep(&rows);
        before - self.len()
    }

    /// Ends and values that may be missing are missing where they are no numbers.
    fn drop_missing(&mut self) {
        let clean = |column: &mut Vec<Option<f64>>| {
            column.iter_mut().for_each(|it| *it = it.filter(|value| sound(*value)));
        };
        match self {
            Self::Intervals { low, high, .. } => [low, high].into_iter().for_each(clean),
            Self::Line { y, .. } => clean(y),
            _ => {}
        }
    }

    /// The columns of numbers, all of one length.
    fn numbers(&self) -> Vec<&[f64]> {
        match self {
            Self::Boxes { at, low, q1, median, q3, high, .. } => {
                vec![at, low, q1, median, q3, high]
            }
            Self::Dots { x, y, .. } => vec![x, y],
            Self::Intervals { at, estimate, .. } => vec![at, estimate],
            Self::Line { x, .. } => vec![x],
            Self::Band { x, low, high } => vec![x, low, high],
            Self::Bars { at, from, to, .. } => vec![at, from, to],
            Self::Cells { x, y, value } => vec![x, y, value],
            Self::Rules { at, .. } => vec![at],
            Self::Spans { from, to, .. } => vec![from, to],
        }
    }

    fn keep(&mut self, rows: &[bool]) {
        let (columns, optional, tips): (Vec<&mut Vec<f64>>, Vec<&mut Vec<Option<f64>>>, _) =
            match self {
                Self::Boxes { at, low, q1, median, q3, high, .. } => {
                    (vec![at, low, q1, median, q3, high], vec![], None)
                }
                Self::Dots { x, y, tips } => (vec![x, y], vec![], Some(tips)),
                Self::Intervals { at, low, estimate, high, tips, .. } => {
                    (vec![at, estimate], vec![low, high], Some(tips))
                }
                Self::Line { x, y, .. } => (vec![x], vec![y], None),
                Self::Band { x, low, high } => (vec![x, low, high], vec![], None),
                Self::Bars { at, from, to, .. } => (vec![at, from, to], vec![], None),
                Self::Cells { x, y, value } => (vec![x, y, value], vec![], None),
                Self::Rules { at, tips, .. } => (vec![at], vec![], Some(tips)),
                Self::Spans { from, to, tips, .. } => (vec![from, to], vec![], Some(tips)),
            };
        columns.into_iter().for_each(|column| keep(column, rows));
        optional.into_iter().for_each(|column| keep(column, rows));
        if let Some(tips) = tips {
            keep(tips, rows);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, proptest};

    use super::{Draft, Fit, Wish};
    use crate::chart::{Along, Mark, Scale, Tone};

    fn draft(fit: Fit) -> Draft {
        let wish = |fit| Wish::values("what", "s", fit);
        Draft::new("a/b".into(), "title".into(), "says".into(), wish(Fit::Even), wish(fit))
    }

    fn dots(y: Vec<f64>) -> Mark {
        let x = (0..y.len()).map(crate::place::place).collect();
        Mark::Dots { x, tips: vec![String::new(); y.len()], y }
    }

    #[test]
    fn what_is_no_number_is_left_out_and_that_is_said() {
        let mut draft = draft(Fit::Free);
        let (unused, used) = (draft.group("unused", Tone::Plain), draft.group("used", Tone::Plain));
        draft.layer(Some(unused), dots(vec![f64::NAN, f64::INFINITY, 1e305]));
        draft.layer(Some(used), dots(vec![2.0, f64::NAN, 3.0]));
        let chart = draft.finish().unwrap();
        assert_eq!(chart.notes, ["4 marks are no finite numbers and are not drawn"]);
        assert_eq!((chart.layers.len(), chart.layers[0].group), (1, Some(0)));
        assert_eq!(chart.groups[0].name, "used");
        assert_eq!(chart.layers[0].mark.places(Along::X), [0.0, 2.0]);
        assert_eq!(draft_of_rules().finish(), None);
    }

    /// Lines across, and nothing to compare with them.
    fn draft_of_rules() -> Draft {
        let mut draft = draft(Fit::Free);
        let (along, at, tips) = (Along::Y, vec![1.0], vec!["equal".to_owned()]);
        draft.layer(None, Mark::Rules { along, at, tips });
        draft
    }

    #[test]
    fn scales_follow_the_values() {
        let scale = |fit, y: &[f64]| {
            let mut draft = draft(fit);
            draft.layer(None, dots(y.to_vec()));
            let axis = draft.finish().unwrap().y;
            (axis.scale, axis.unit, axis.low <= 0.0)
        };
        assert_eq!(scale(Fit::Free, &[0.002, 0.003]), (Scale::Linear, "ms".into(), false));
        assert_eq!(scale(Fit::Free, &[1e-6, 1e-4]), (Scale::Log, "µs".into(), false));
        assert_eq!(scale(Fit::Free, &[1e-9, 1.0]), (Scale::Log, "s".into(), false));
        assert_eq!(scale(Fit::Free, &[0.0, 1.0]), (Scale::Linear, "s".into(), true));
        assert_eq!(scale(Fit::FromZero, &[5.0, 6.0]), (Scale::Linear, "s".into(), true));
        assert_eq!(scale(Fit::Log, &[0.9, 1.1]), (Scale::Log, "ms".into(), false));
    }

    proptest! {
        #[test]
        fn any_numbers_have_axes_pictures_and_drawings(
            y in prop::collection::vec(any::<f64>(), 1..20),
            fit in prop::sample::select(vec![Fit::Free, Fit::Even, Fit::FromZero, Fit::Log, Fit::Date]),
        ) {
            let mut draft = draft(fit);
            draft.layer(None, dots(y));
            if let Some(chart) = draft.finish() {
                let places = chart.layers[0].mark.places(Along::Y);
                assert!(places.iter().all(|it| (chart.y.low..=chart.y.high).contains(it)), "{chart:?}");
                let svg = chart.svg();
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
                assert!(!crate::drawing(&chart, &plumb_text::Terminal::plain(80)).is_empty());
            }
        }
    }
}
