//! Units, in one place: reads quantities as people type them, converts them, and writes numbers as people read them.
//!
//! plumb stores SI base units (s, B, B/s, ops/s, J). This crate is the only one that adds prefixes and percent signs:
//! - [`Figure`] writes an estimate and its interval in one unit; [`quantity`] and [`plain`] write a number alone;
//!   [`scale_of`] says which unit a chart's axis has.
//! - [`Figure::in_unit_of`], [`quantity_in_unit_of`] and [`change`] write what is compared in one unit, [`rounded_count`] an
//!   estimated count.
//! - [`percent`], [`whole_percent`], [`percent_to`] and [`percent_change`] write shares, [`percent_with_ends`] and
//!   [`percent_figure`] with their intervals.
//! - [`parse_bytes`], [`parse_rate`], [`parse_time`], [`parse_share`] and [`parse_figure`] read what was typed, and
//!   `show_…` writes it in a form that reads back as the same number.
//! - [`length`] and [`seconds_to`] write a length of time, [`binary_size`] and [`decimal_size`] the size of a cache or a
//!   disk, [`whole_size`] and [`rounded_size`] one that is no more exact.
//! - [`base_unit`] converts what the kernel counts in, [`SHARE`] is the unit of shares, [`is_same_unit`] compares units.
//!
//! Dates are not units: they are in `plumb-text`.

mod base;
mod digits;
mod figure;
mod length;
mod percent;
mod prefix;
mod size;
mod typed;

pub use base::{SHARE, base_unit, is_same_unit, stored_unit};
pub use figure::{
    Figure, change, largest_of, percent_figure, plain, quantity, quantity_in_unit_of,
    rounded_count, rounded_down, scale_of, without_interval,
};
pub use length::{length, of_session_alone, seconds_to};
pub use percent::{percent, percent_change, percent_to, percent_with_ends, whole_percent};
pub use size::{binary_size, decimal_size, rounded_size, typed_at_most, whole_size};
pub use typed::{
    QuantityError, is_same_value, parse_bytes, parse_figure, parse_fraction, parse_rate,
    parse_share, parse_time, show_bytes, show_rate, show_share, show_time, typed_bandwidth,
    typed_time,
};
