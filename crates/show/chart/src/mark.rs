//! What all kinds of marks have in common: how many they are, where they stand, and that they are numbers.

use crate::chart::{Along, Mark};

/// Larger numbers can't be laid off.
pub(crate) const LARGEST: f64 = 1e300;

// A NaN compares false, so this refuses it, too.
fn sound(value: f64) -> bool {
    value.abs() <= LARGEST
}

/// A mark's places on `axis`: its values if they lie along that axis, else where it stands across.
fn places_on(axis: Along, along: Along, at: &[f64], values: &[&[f64]]) -> Vec<f64> {
    if along == axis { values.concat() } else { at.to_vec() }
}

/// Makes numbers that can't be laid off missing.
fn drop_unsound_entries(column: &mut [Option<f64>]) {
    for entry in column {
        *entry = entry.filter(|value| sound(*value));
    }
}

/// Keeps the rows of a column whose number is in the mask.
fn keep<T>(column: &mut Vec<T>, rows: &[bool]) {
    let mut row = rows.iter();
    column.retain(|_| row.next().copied().unwrap_or(false));
}

impl Mark {
    /// The word of its kind, as in the document.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Boxes { .. } => "boxes",
            Self::Dots { .. } => "dots",
            Self::Intervals { .. } => "intervals",
            Self::Line { .. } => "line",
            Self::Band { .. } => "band",
            Self::Bars { .. } => "bars",
            Self::Cells { .. } => "cells",
            Self::Rules { .. } => "rules",
            Self::Spans { .. } => "spans",
        }
    }

    /// How many marks its columns hold.
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
    #[must_use]
    pub fn places(&self, axis: Along) -> Vec<f64> {
        match self {
            Self::Boxes { along, at, low, q1, median, q3, high } => {
                places_on(axis, *along, at, &[low, q1, median, q3, high])
            }
            Self::Intervals { along, at, low, estimate, high, .. } => {
                let ends: Vec<f64> = low.iter().chain(high).copied().flatten().collect();
                places_on(axis, *along, at, &[estimate, &ends])
            }
            Self::Bars { along, at, from, to } => places_on(axis, *along, at, &[from, to]),
            Self::Dots { x, y, .. } | Self::Cells { x, y, .. } => {
                places_on(axis, Along::Y, x, &[y])
            }
            Self::Line { x, y, .. } => {
                let values: Vec<f64> = y.iter().copied().flatten().collect();
                places_on(axis, Along::Y, x, &[&values])
            }
            Self::Band { x, low, high } => places_on(axis, Along::Y, x, &[low, high]),
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

    pub(crate) fn colours(&self) -> Vec<f64> {
        match self {
            Self::Cells { value, .. } => value.clone(),
            _ => Vec::new(),
        }
    }

    /// Leaves out rows with a number that can't be laid off; gives back how many.
    pub(crate) fn drop_unsound(&mut self) -> usize {
        let before = self.len();
        // First: a row that only lacks an end keeps its estimate.
        self.drop_missing();
        let rows = {
            let columns = self.numbers();
            (0..before)
                .map(|row| columns.iter().all(|column| sound(column[row])))
                .collect::<Vec<bool>>()
        };
        if rows.iter().all(|row| *row) {
            return 0;
        }
        self.keep(&rows);
        before - self.len()
    }

    /// Ends and values that may be missing are missing if they are no numbers.
    fn drop_missing(&mut self) {
        match self {
            Self::Intervals { low, high, .. } => {
                drop_unsound_entries(low);
                drop_unsound_entries(high);
            }
            Self::Line { y, .. } => drop_unsound_entries(y),
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
            Self::Spans { from, to, share, .. } => vec![from, to, share],
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
                Self::Spans { from, to, share, tips, .. } => {
                    (vec![from, to, share], vec![], Some(tips))
                }
            };
        columns.into_iter().for_each(|column| keep(column, rows));
        optional.into_iter().for_each(|column| keep(column, rows));
        if let Some(tips) = tips {
            keep(tips, rows);
        }
    }
}
