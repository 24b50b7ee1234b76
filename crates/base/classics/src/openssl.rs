//! `openssl speed -mr`.
//!
//! `+H` has the block sizes, `+F` the bytes per second of an algorithm at each. `+F2` to `+F8` are keys:
//! RSA, DSA, ECDSA, ECDH, EdDSA, SM2, FFDH. Before 1.1 those lines have seconds an operation, since then
//! operations per second; ECDH has both. Which it is is decided once for a file, by what only one of both versions can print. Work is
//! divided by CPU time of user mode unless `-elapsed` was given, which the lines do not say, nor the
//! version.

use plumb_model::Better::Higher;

use crate::import::BY_RATE;
use crate::numbers::{figure, positive, version};
use crate::result_file::ResultFile;
use crate::text::{Line, lines};
use crate::{Format, ImportError, ImportedInvocation, ImportedSeries};

/// Length that a sample is made to have, in seconds.
const SAMPLE_S: f64 = 1e-3;

/// No test of openssl lasts that long, in seconds: a larger figure is no time of an operation.
const LONGEST_S: f64 = 3600.0;

const CPU_TIME: &str = "seconds are CPU time in user mode, unless -elapsed was given";

/// What the figures of keys are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyUnit {
    /// Seconds an operation, before 1.1.
    Seconds,
    /// Operations per second, since 1.1.
    Rates,
}

/// The line of a kind of keys, in fields.
struct KeyLine<'a> {
    kind: &'a str,
    fields: Vec<&'a str>,
    line: Line<'a>,
}

pub(crate) fn parse(
    text: &str,
    told: Option<&str>,
    found: &mut ResultFile,
) -> Result<(), ImportError> {
    let lines = lines(text);
    let keys: Vec<KeyLine> = lines.iter().filter_map(KeyLine::of).collect();
    let unit = if keys.is_empty() { KeyUnit::Rates } else { key_unit(&lines, &keys, told)? };
    let mut sizes: Vec<&str> = Vec::new();
    for line in &lines {
        let Some((kind, rest)) = line.text.split_once(':') else { continue };
        match kind {
            "+H" => sizes = rest.split(':').collect(),
            "+F" => {
                for series in
                    bulk(rest, &sizes).ok_or_else(|| line.lacks_numbers(Format::Openssl))?
                {
                    found.plain_import(Format::Openssl).add(series);
                }
            }
            _ => {
                if let Some(key) = KeyLine::of(line) {
                    for series in
                        key.series(unit).ok_or_else(|| line.lacks_numbers(Format::Openssl))?
                    {
                        found.plain_import(Format::Openssl).add(series);
                    }
                } else if kind.starts_with("+F") {
                    found.not_read(format!("`{kind}` lines of keys"), Some(line.number));
                }
            }
        }
    }
    if found.imports.is_empty() && found.not_read.is_empty() {
        let why = "no lines that begin with +F (run openssl speed with -mr)";
        return Err(ImportError::unsupported(Format::Openssl, why));
    }
    Ok(())
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
    of_sizes.map(|(size, rate)| of_size(algorithm, size, rate)).collect()
}

/// The series of a block size. openssl writes 0 if no block was done in the time.
fn of_size(algorithm: &str, size: &str, rate: &str) -> Option<ImportedSeries> {
    let rate = figure(rate)?;
    let block = positive(size)?;
    let mut series = ImportedSeries::new("openssl.speed", "bytes encrypted or hashed per second");
    series.set("algorithm", algorithm);
    series.set("block", size);
    let summary = "bytes per second at this block size";
    Some(finish(series, rate / block, ("throughput", "B/s"), summary, rate))
}

/// What the figures of all keys of a file are, by what only one of both can be. The size of a figure says it only if it is beyond
/// the length of any test.
fn key_unit(lines: &[Line], keys: &[KeyLine], told: Option<&str>) -> Result<KeyUnit, ImportError> {
    let mut votes: Vec<(KeyUnit, usize)> = Vec::new();
    for line in lines {
        // 1.1 added blocks of 16384 bytes to the default sizes.
        match line.text {
            "+H:16:64:256:1024:8192" => votes.push((KeyUnit::Seconds, line.number)),
            "+H:16:64:256:1024:8192:16384" => votes.push((KeyUnit::Rates, line.number)),
            _ => {}
        }
    }
    for key in keys {
        votes.extend(key.unit().map(|unit| (unit, key.line.number)));
    }
    let Some((unit, _)) = votes.first().copied() else {
        if let Some(program) = told {
            let is_old = version(program).as_slice() < [1, 1].as_slice();
            return Ok(if is_old { KeyUnit::Seconds } else { KeyUnit::Rates });
        }
        let why = "openssl 1.0 prints seconds, later versions operations per second, and these lines can \
                   be either; give --tool-version";
        return Err(ImportError::unsupported(Format::Openssl, why));
    };
    match votes.iter().find(|(other, _)| *other != unit) {
        None => Ok(unit),
        Some((_, line)) => {
            let why = "lines of openssl 1.0 (seconds) and of later versions (operations per second) are \
                       mixed; import them separately";
            Err(ImportError::unreadable(Format::Openssl, *line, why))
        }
    }
}

impl<'a> KeyLine<'a> {
    fn of(line: &Line<'a>) -> Option<Self> {
        let (kind, rest) = line.text.split_once(':')?;
        let kinds = ["+F2", "+F3", "+F4", "+F5", "+F6", "+F7", "+F8"];
        kinds.contains(&kind).then(|| Self { kind, fields: rest.split(':').collect(), line: *line })
    }

    /// The place of the first of the two figures.
    fn place(&self) -> usize {
        if ["+F6", "+F7"].contains(&self.kind) { 3 } else { 2 }
    }

    /// Both figures; None if one was cut off.
    fn figures(&self) -> Option<(f64, f64)> {
        let figures = self.fields.get(self.place()..)?;
        let &[first, second] = figures else { return None };
        let whole = [first, second].iter().all(|text| decimals(text) == Some(6));
        figure(first).zip(figure(second)).filter(|_| whole)
    }

    /// What its figures are, if this line can be of one version only.
    fn unit(&self) -> Option<KeyUnit> {
        let (first, second) = self.figures()?;
        match self.kind {
            // Only 1.1 and later have these.
            "+F6" | "+F7" | "+F8" => Some(KeyUnit::Rates),
            // A signature of RSA takes longer than its verification, by a factor of ten and more.
            "+F2" if first != second => Some(KeyUnit::of_rates(second > first)),
            // One figure is the inverse of the other: 1.0 prints the seconds first.
            "+F5" if first != second => Some(KeyUnit::of_rates(first > second)),
            _ => (first.max(second) > LONGEST_S).then_some(KeyUnit::Rates).or_else(|| {
                let smallest = first.min(second);
                (0.0 < smallest && smallest < 1.0 / LONGEST_S).then_some(KeyUnit::Seconds)
            }),
        }
    }

    fn series(&self, unit: KeyUnit) -> Option<Vec<ImportedSeries>> {
        let (first, second) = self.figures()?;
        let bits = self.fields.get(1)?;
        let (name, is_derived) = match self.kind {
            "+F2" => (format!("rsa{bits}"), false),
            "+F3" => (format!("dsa{bits}"), false),
            "+F4" => (format!("ecdsa{bits}"), false),
            "+F5" => (format!("ecdh{bits}"), true),
            "+F8" => (format!("ffdh{bits}"), true),
            _ => (self.fields.get(2)?.to_ascii_lowercase(), false),
        };
        if is_derived {
            // Both figures are one: the rate, and its inverse with fewer digits.
            let rate = if unit == KeyUnit::Seconds { second } else { first };
            return Some(vec![key("derive", name, rate)]);
        }
        let [sign, verify] = [first, second].map(|figure| unit.rate(figure));
        Some(vec![key("sign", name.clone(), sign), key("verify", name, verify)])
    }
}

impl KeyUnit {
    /// Rates if they are, and seconds otherwise.
    fn of_rates(is_rate: bool) -> Self {
        if is_rate { Self::Rates } else { Self::Seconds }
    }

    /// Operations per second; 0 stays 0, which openssl prints if nothing was done.
    fn rate(self, figure: f64) -> f64 {
        match self {
            Self::Seconds if figure > 0.0 => 1.0 / figure,
            _ => figure,
        }
    }
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
