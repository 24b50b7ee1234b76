//! One run: from its record to what it says by itself.

pub(crate) mod series_in_run;
