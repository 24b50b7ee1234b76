//! A chart's content, independent of page, SVG or PNG file and terminal.
//!
//! A [`Chart`] is made once of a finding. It holds numbers in SI base units, in columns, and every word that
//! is drawn; no drawer computes, rounds or leaves out anything. What was thinned is said in its notes.
//! All text is plain text, never markup.

use serde::Serialize;

/// Name of the form of a chart.
pub const CHART_SCHEMA: &str = "plumb.chart/1";

/// A chart with its axes, groups, marks and notes (`plumb.chart/1`).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(title = "plumb.chart/1"))]
pub struct Chart {
    /// The name of this form, always `plumb.chart/1`.
    #[cfg_attr(feature = "schema", schemars(extend("const" = CHART_SCHEMA)))]
    pub schema: &'static str,
    /// The name of a chart within a run, as people type it: `memory.copy/boxes`.
    pub id: String,
    /// The title above it.
    pub title: String,
    /// Its meaning and how to read it, in one or two sentences; the text for readers who cannot see it.
    pub says: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The meaning of the colours of [`Mark::Cells`]; null if there are none.
    pub colour: Option<Axis>,
    /// The groups of the marks. Each has a colour and a shape or its own dash.
    pub groups: Vec<MarkGroup>,
    /// The marks, later ones on top of earlier ones.
    pub layers: Vec<MarkLayer>,
    /// Notes on omissions: `5,000 of 100,000 samples are drawn: …`.
    pub notes: Vec<String>,
    /// The chart of the same samples that a page shows in this one's place until the reader switches, because
    /// one metric is computed from the other (a time and a rate); null for all others.
    pub instead_of: Option<String>,
}

/// The scale, ends and unit of one axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Axis {
    /// What is laid off on it; empty if the categories speak for themselves.
    pub label: String,
    /// The unit that people read: `GB/s`; empty for a ratio or a count. On a logarithmic axis over more
    /// than three decades it is the base unit, and ticks take their own prefixes.
    pub unit: String,
    /// The unit in the SI base units of the data: 1e9.
    pub per: f64,
    /// How values become places.
    pub scale: Scale,
    /// The names of a band's places, in order, from the left or from the top; a place is an index into
    /// them, and may lie between two (0.3: a little after the first). Empty for other scales.
    pub categories: Vec<String>,
    /// Least value that is drawn.
    pub low: f64,
    /// Greatest value that is drawn.
    pub high: f64,
}

/// How values become places on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Equal differences take equal lengths.
    Linear,
    /// Equal ratios take equal lengths; all values are above 0.
    Log,
    /// Seconds since 1970 (UTC), shown as dates.
    Date,
    /// Categories side by side.
    Band,
}

/// The group that marks belong to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarkGroup {
    /// Its name in the legend.
    pub name: String,
    /// The meaning of its colour.
    pub tone: Tone,
}

/// The meaning of a colour, which is never the only sign of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// One of several of equal rank: each takes the next colour.
    Plain,
    /// Samples of the steady state, which results use.
    Steady,
    /// Samples left out as warm-up.
    Warmup,
    /// Samples that do not count, because something else disturbed them.
    Excluded,
    /// The verdict *faster*.
    Faster,
    /// The verdict *slower*.
    Slower,
    /// Verdict, or a margin inside which nothing matters.
    Equivalent,
    /// The verdict *inconclusive*, or a comparison without a verdict.
    Inconclusive,
    /// What should be: a baseline, an expectation, a ceiling.
    Baseline,
    /// Something else ran.
    Interference,
}

/// Marks of one kind and one group.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarkLayer {
    /// Index of their group; null if they belong to none.
    pub group: Option<usize>,
    /// The marks, with their kind under `mark`.
    #[serde(flatten)]
    pub mark: Mark,
}

/// Marks in columns of equal length.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "mark", rename_all = "lowercase")]
pub enum Mark {
    /// Box plots as by Tukey: whiskers to the last value within 1.5 times the box's length.
    Boxes {
        /// The axis of their values; their places are on the other.
        along: Along,
        /// Places on the other axis.
        at: Vec<f64>,
        /// Ends of the lower whiskers.
        low: Vec<f64>,
        /// First quartiles, the lower ends of the boxes.
        q1: Vec<f64>,
        /// Medians, drawn as a line across the box.
        median: Vec<f64>,
        /// Third quartiles, the upper ends of the boxes.
        q3: Vec<f64>,
        /// Ends of the upper whiskers.
        high: Vec<f64>,
    },
    /// Single values, each a symbol.
    Dots {
        /// Places on the horizontal axis.
        x: Vec<f64>,
        /// Places on the vertical axis.
        y: Vec<f64>,
        /// Tips for each mark, shown on hover; empty if there are none.
        tips: Vec<String>,
    },
    /// Estimates with their intervals; an end that is null has none.
    Intervals {
        /// The axis of their values.
        along: Along,
        /// Places on the other axis.
        at: Vec<f64>,
        /// Lower ends of the intervals.
        low: Vec<Option<f64>>,
        /// Estimates inside the intervals.
        estimate: Vec<f64>,
        /// Upper ends of the intervals.
        high: Vec<Option<f64>>,
        /// The figure as it is written everywhere else: `12.41 [12.35, 12.47] GB/s`.
        tips: Vec<String>,
    },
    /// A line through points; a null breaks it.
    Line {
        /// Places on the horizontal axis.
        x: Vec<f64>,
        /// Places on the vertical axis.
        y: Vec<Option<f64>>,
        /// Whether it goes in steps, the value holding until the next point.
        steps: bool,
    },
    /// An area between two lines.
    Band {
        /// Places on the horizontal axis.
        x: Vec<f64>,
        /// Its lower line.
        low: Vec<f64>,
        /// Its upper line.
        high: Vec<f64>,
    },
    /// Bars; stacked ones begin where the one below ends.
    Bars {
        /// The axis of their lengths.
        along: Along,
        /// Places on the other axis.
        at: Vec<f64>,
        /// Where they begin.
        from: Vec<f64>,
        /// Where they end.
        to: Vec<f64>,
    },
    /// Cells of a heat map between two bands, coloured by value.
    Cells {
        /// Places on the horizontal axis.
        x: Vec<f64>,
        /// Places on the vertical axis.
        y: Vec<f64>,
        /// The values that the colours stand for, in the base unit of the chart's `colour` axis.
        value: Vec<f64>,
    },
    /// Lines across the whole chart.
    Rules {
        /// The axis on which they stand.
        along: Along,
        /// Places on that axis.
        at: Vec<f64>,
        /// What each is.
        tips: Vec<String>,
    },
    /// Stretches of an axis, shaded across the chart.
    Spans {
        /// The axis on which they lie.
        along: Along,
        /// Where they begin.
        from: Vec<f64>,
        /// Where they end.
        to: Vec<f64>,
        /// How much of the other axis each takes, from its low end: 1 is all of it.
        share: Vec<f64>,
        /// What each is.
        tips: Vec<String>,
    },
}

/// One of the two axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Along {
    /// The horizontal one.
    X,
    /// The vertical one.
    Y,
}
