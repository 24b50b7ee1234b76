//! How numbers and words become what people read, for whoever shows something.
//!
//! [`time`] writes dates; numbers with units come from `plumb-units`. Text from elsewhere is made safe by [`clean`]; a [`TextLine`] has styles, a [`Table`]
//! columns, and [`Terminal`] says how they are drawn. Nothing here knows what is shown.

pub mod command_line;
pub mod csv;
mod interval_scale;
pub mod markdown;
mod schedule;
pub mod sparkline;
mod style;
mod table;
mod terminal;
mod text;
pub mod time;
mod xml;

pub use interval_scale::IntervalScale;
pub use schedule::{Period, RepeatSchedule};
pub use style::{Colour, Style, TextLine};
pub use table::{Align, Table, TableColumn, hanging};
pub use terminal::Terminal;
pub use text::{clean, clip, counted, whole_words, width, wrap};
pub use xml::xml;
