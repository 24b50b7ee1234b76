//! One run: from its record to what it says by itself.

pub(crate) mod best_quarter;
pub(crate) mod burst;
pub(crate) mod caches;
pub(crate) mod curve;
pub(crate) mod curves;
pub(crate) mod expectations;
pub(crate) mod failures;
pub(crate) mod finding;
pub(crate) mod flags;
pub(crate) mod histogram;
pub(crate) mod levels;
pub(crate) mod link_fit;
pub(crate) mod link_fits;
pub(crate) mod odd_addresses;
pub(crate) mod pauses;
pub(crate) mod point_data;
pub(crate) mod random_reads;
pub(crate) mod rates;
pub(crate) mod samples;
pub(crate) mod series_in_run;
pub(crate) mod shares;
pub(crate) mod summarise;
pub(crate) mod time_series;
pub(crate) mod times;
pub(crate) mod work_differs;
