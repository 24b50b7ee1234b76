//! `openssl speed -mr`.
//!
//! `+H` has the block sizes, `+F` the bytes per second of an algorithm at each. `+F2` to `+F6` are keys:
//! RSA, DSA, ECDSA, ECDH, EdDSA. Before 1.1 those lines have seconds an operation, since then
//! operations per second; ECDH has both. Which it is follows from the size of the figures. Work is
//! divided by CPU time of user mode unless `-elapsed` was given, which the lines do not say, nor the
//! version.

use plumb_model::Better::Higher;

use crate::import::BY_RATE;
use crate::numbers::positive;
use crate::{Format, Import, ImportError, ImportedInvocation, ImportedSeries};

/// Length that a sample is made to have, in seconds.
const SAMPLE_S: f64 = 1e-3;

const CPU_TIME: &str = "seconds are CPU time in user mode, unless -elapsed was given";

pub(crate) fn parse(text: &str) -> Result<Vec<Import>, ImportError> {
    let mut import = Import::new(Format::Openssl);
    let mut sizes: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim) {
        let wrong =
            || ImportError::damaged(Format::Openssl, format!("numbers are missing in `{line}`"));
        let Some((kind, rest)) = line.split_once(':') else { continue };
        match kind {
            "+H" => sizes = rest.split(':').collect(),
            "+F" => import.series.extend(bulk(rest, &sizes).ok_or_else(wrong)?),
            "+F2" | "+F3" | "+F4" | "+F5" | "+F6" => {
                import.series.extend(keys(kind, rest).ok_or_else(wrong)?);
            }
            _ => {}
        }
    }
    Ok(vec![import])
}

/// `22:aes-256-gcm:43686852.53:…`: a figure a block size. An algorithm's name may hold no colon.
fn bulk(rest: &str, sizes: &[&str]) -> Option<Vec<ImportedSeries>> {
    let fields: Vec<&str> = rest.split(':').collect();
    let algorithm = *fields.get(1)?;
    let rates = fields.get(2..)?;
    let whole = rates.iter().all(|rate| decimals(rate) == Some(2));
    if sizes.is_empty() || rates.len() != sizes.len() || !whole {
        return None;
    }
    let of_sizes = sizes.iter().zip(rates);
    Some(of_sizes.filter_map(|(size, rate)| of_size(algorithm, size, rate)).collect())
}

/// The series of a block size; None when it was not reached, which openssl writes as 0.
fn of_size(algorithm: &str, size: &str, rate: &str) -> Option<ImportedSeries> {
    let rate = positive(rate)?;
    let block = positive(size)?;
    let mut series = ImportedSeries::new("openssl.speed", "bytes encrypted or hashed per second");
    series.set("algorithm", algorithm);
    series.set("block", size);
    let summary = "bytes per second at this block size";
    Some(finish(series, rate / block, ("throughput", "B/s"), summary, rate))
}

fn keys(kind: &str, rest: &str) -> Option<Vec<ImportedSeries>> {
    let fields: Vec<&str> = rest.split(':').collect();
    let bits = fields.get(1)?;
    let (name, first, second) = match kind {
        "+F2" => (format!("rsa{bits}"), 2, Some(3)),
        "+F3" => (format!("dsa{bits}"), 2, Some(3)),
        "+F4" => (format!("ecdsa{bits}"), 2, Some(3)),
        "+F5" => (format!("ecdh{bits}"), 2, None),
        _ => ((*fields.get(2)?).to_ascii_lowercase(), 3, Some(4)),
    };
    let Some(second) = second else {
        // Both figures are one: operations per second and seconds an operation, in either order.
        let rate = figure(&fields, first)?.max(figure(&fields, first + 1)?);
        return Some(vec![key("derive", name, rate)]);
    };
    let mut sign = figure(&fields, first)?;
    let mut verify = figure(&fields, second)?;
    // Some versions print seconds an operation: both figures are below 1 then.
    if sign < 1.0 && verify < 1.0 {
        sign = 1.0 / sign;
        verify = 1.0 / verify;
    }
    Some(vec![key("sign", name.clone(), sign), key("verify", name, verify)])
}

/// The figure in a field; None when it was cut off.
fn figure(fields: &[&str], index: usize) -> Option<f64> {
    let field = fields.get(index)?;
    positive(field).filter(|_| decimals(field) == Some(6))
}

/// Digits after the point: a figure with fewer than openssl prints was cut off.
fn decimals(figure: &str) -> Option<usize> {
    figure.split_once('.').map(|(_, decimals)| decimals.len())
}

fn key(operation: &str, algorithm: String, rate: f64) -> ImportedSeries {
    let mut series =
        ImportedSeries::new(format!("openssl.{operation}"), "key operations per second");
    series.set("algorithm", algorithm);
    finish(series, rate, ("rate", "ops/s"), "operations per second", rate)
}

fn finish(
    mut series: ImportedSeries,
    operations_a_second: f64,
    (name, unit): (&str, &str),
    summary: &str,
    value: f64,
) -> ImportedSeries {
    let operations = (operations_a_second * SAMPLE_S).ceil().max(1.0);
    series.invocations.push(ImportedInvocation::by_rate(operations_a_second, operations));
    series.measured((name, unit, Higher), summary, [value]);
    series.notes.extend([CPU_TIME.to_owned(), BY_RATE.to_owned()]);
    series
}
