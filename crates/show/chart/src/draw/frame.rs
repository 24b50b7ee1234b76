//! Where things are in a picture.

use crate::chart::{Along, Axis, Chart, Scale};
use crate::place::place;

/// Width of every picture.
pub(super) const WIDTH: f64 = 800.0;
/// Free on every side.
pub(super) const EDGE: f64 = 16.0;
/// Height of the marks if nothing asks for more or less.
pub(super) const USUAL: f64 = 300.0;
/// Names next to the vertical axis are cut at this width.
pub(super) const LONGEST_NAME: f64 = 280.0;
pub(super) const TITLE: f64 = 16.0;
pub(super) const TEXT: f64 = 12.0;
pub(super) const SMALL: f64 = 11.0;
/// From one line of text to the next, in sizes.
pub(super) const LEADING: f64 = 1.4;

/// Where the marks are, and what is where on it.
pub(super) struct PlotFrame<'c> {
    pub(super) chart: &'c Chart,
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl PlotFrame<'_> {
    pub(super) fn axis(&self, along: Along) -> &Axis {
        match along {
            Along::X => &self.chart.x,
            Along::Y => &self.chart.y,
        }
    }

    /// A place on an axis.
    pub(super) fn at(&self, along: Along, value: f64) -> f64 {
        let axis = self.axis(along);
        let share = axis.share(value);
        match along {
            Along::X => self.left + share * (self.right - self.left),
            // Categories go down, values go up.
            Along::Y if axis.scale == Scale::Band => self.top + share * (self.bottom - self.top),
            Along::Y => self.bottom - share * (self.bottom - self.top),
        }
    }

    /// A point in the picture from its values on both axes.
    pub(super) fn point(&self, x: f64, y: f64) -> (f64, f64) {
        (self.at(Along::X, x), self.at(Along::Y, y))
    }

    /// How far it is from one category to the next; without categories, the width at which so many marks fit.
    pub(super) fn slot(&self, along: Along, marks: usize) -> f64 {
        let axis = self.axis(along);
        let length = match along {
            Along::X => self.right - self.left,
            Along::Y => self.bottom - self.top,
        };
        match axis.scale {
            Scale::Band => length / (axis.high - axis.low),
            _ => length / place(marks.max(1)),
        }
    }
}
