//! From a chart to shapes: title, what it says, legend, axes, marks, notes.

mod frame;
mod legend;
mod marks;
mod symbol;

use self::frame::{EDGE, LEADING, LONGEST_NAME, PlotFrame, SMALL, TEXT, TITLE, USUAL, WIDTH};
use crate::appearance::appearances;
use crate::chart::{Along, Chart, Mark, Scale};
use crate::font::Font;
use crate::picture::{Anchor, GRID, INK, PAPER, Picture, SOFT, paint, stroke};
use crate::ticks::{Tick, ticks, title};

/// The chart as shapes.
pub(crate) fn picture(chart: &Chart) -> Picture {
    let font = Font::new();
    let appearances = appearances(chart);
    let mut picture = Picture { width: WIDTH, height: 0.0, shapes: Vec::new() };
    let mut y = EDGE + TITLE;
    for line in font.wrap(&chart.title, TITLE, WIDTH - 2.0 * EDGE) {
        picture.heading(EDGE, y, &line);
        y += TITLE * LEADING;
    }
    y = texts(&mut picture, &font, y - 2.0, std::slice::from_ref(&chart.says));
    y = legend::legend(&mut picture, &font, chart, &appearances, y);
    let frame = frame(chart, &font, y);
    axes(&mut picture, &font, &frame);
    let footnotes = marks::marks(&mut picture, &font, &frame, &appearances);
    legend::bar(&mut picture, &font, chart, [frame.right + 12.0, frame.top, frame.bottom]);
    let mut y = frame.bottom + 2.0 * TEXT * LEADING + TEXT;
    if !title(&chart.x).is_empty() {
        y += TEXT;
    }
    y = texts(&mut picture, &font, y, &footnotes);
    y = texts(&mut picture, &font, y, &chart.notes);
    // The height is known only now, and the paper must lie below all other shapes: it begins a second picture.
    let width = picture.width;
    let height = (y - SMALL + EDGE).max(frame.bottom + 3.0 * EDGE).ceil();
    let mut all = Picture { width, height, shapes: Vec::new() };
    all.rectangle([0.0, 0.0, width, height], paint(PAPER, 1.0), None, "");
    all.shapes.append(&mut picture.shapes);
    all
}

/// Lines of text below each other; gives back where the next would stand.
fn texts(picture: &mut Picture, font: &Font, mut y: f64, texts: &[String]) -> f64 {
    for text in texts {
        for line in font.wrap(text, SMALL, WIDTH - 2.0 * EDGE) {
            picture.words(EDGE, y, &line, SMALL, Anchor::Start, SOFT);
            y += SMALL * LEADING;
        }
    }
    y
}

fn frame<'c>(chart: &'c Chart, font: &Font, below: f64) -> PlotFrame<'c> {
    let names = ticks(&chart.y, 6);
    let widest = names.iter().map(|name| font.width(&name.text, TEXT)).fold(0.0, f64::max);
    let own_title = if title(&chart.y).is_empty() { 0.0 } else { TEXT * LEADING };
    let left = EDGE + widest.min(LONGEST_NAME) + 8.0 + own_title;
    let top = below + 4.0;
    let right = WIDTH - EDGE - 12.0 - legend::colour_bar(chart);
    PlotFrame { chart, left, top, right, bottom: top + height(chart) }
}

/// The height of the marks: categories have as much as theirs need.
fn height(chart: &Chart) -> f64 {
    if chart.y.scale != Scale::Band {
        return USUAL;
    }
    // A box has its interval below it; a cell has its value written in it; a bar or an interval stands alone.
    let each = if has_mark(chart, |mark| matches!(mark, Mark::Boxes { .. })) {
        46.0
    } else if has_mark(chart, |mark| matches!(mark, Mark::Cells { .. })) {
        36.0
    } else {
        26.0
    };
    (each * crate::place::place(chart.y.categories.len())).max(60.0)
}

fn has_mark(chart: &Chart, is_wanted: fn(&Mark) -> bool) -> bool {
    chart.layers.iter().any(|layer| is_wanted(&layer.mark))
}

fn axes(picture: &mut Picture, font: &Font, frame: &PlotFrame) {
    let grid = stroke(GRID, 1.0, &[]);
    for tick in ticks(&frame.chart.y, 6) {
        let y = frame.at(Along::Y, tick.at);
        picture.line([frame.left, y, frame.right, y], grid);
        let text = font.clip(&tick.text, TEXT, LONGEST_NAME);
        picture.words(frame.left - 6.0, y + 4.0, &text, TEXT, Anchor::End, INK);
    }
    for tick in along(frame, font) {
        let x = frame.at(Along::X, tick.at);
        picture.line([x, frame.top, x, frame.bottom], grid);
        picture.words(x, frame.bottom + TEXT + 6.0, &tick.text, TEXT, Anchor::Middle, INK);
    }
    let axis = stroke(SOFT, 1.0, &[]);
    picture.line([frame.left, frame.bottom, frame.right, frame.bottom], axis);
    picture.line([frame.left, frame.top, frame.left, frame.bottom], axis);
    let middle = f64::midpoint(frame.left, frame.right);
    let below = frame.bottom + 2.0 * TEXT * LEADING + 2.0;
    picture.words(middle, below, &title(&frame.chart.x), TEXT, Anchor::Middle, SOFT);
    let middle = f64::midpoint(frame.top, frame.bottom);
    picture.upright(EDGE + TEXT, middle, &title(&frame.chart.y), TEXT, SOFT);
}

/// The ticks of the horizontal axis, as many as their texts leave room for.
fn along(frame: &PlotFrame, font: &Font) -> Vec<Tick> {
    // Fewer and fewer ticks until their texts keep apart. If not even two do, two overlapping ones are shown.
    let tried = [10, 8, 6, 5, 4, 3, 2].map(|most| ticks(&frame.chart.x, most));
    let last = tried[tried.len() - 1].clone();
    let mut found = tried.into_iter().find(|ticks| fits(ticks, frame, font)).unwrap_or(last);
    if frame.chart.x.scale == Scale::Band {
        let slot = frame.slot(Along::X, 1) - 6.0;
        found.iter_mut().for_each(|tick| tick.text = font.clip(&tick.text, TEXT, slot));
    }
    found
}

fn fits(ticks: &[Tick], frame: &PlotFrame, font: &Font) -> bool {
    let [Tick { at: first, .. }, .., Tick { at: last, .. }] = ticks else { return true };
    let widest = ticks.iter().map(|tick| font.width(&tick.text, TEXT)).fold(0.0, f64::max);
    let apart = frame.at(Along::X, *last) - frame.at(Along::X, *first);
    let gaps = crate::place::place(ticks.len() - 1);
    apart / gaps >= widest + 12.0 && frame.right - frame.left > widest
}
