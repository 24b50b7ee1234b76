//! `plumb.audit/1`: what the store keeps of an audit. Fields may be added, never changed.

use plumb_analysis::{ClassAudit, Injected, LayoutFinding, NoLayoutEffect};
use serde::Serialize;

/// Name of the document's form.
pub const AUDIT_SCHEMA: &str = "plumb.audit/1";

/// An audit as a document; this is what the store keeps.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.audit/1"))]
pub struct AuditDocument {
    /// The name of this form, always `plumb.audit/1`.
    #[cfg_attr(test, schemars(extend("const" = AUDIT_SCHEMA)))]
    pub schema: &'static str,
    /// The machine's fingerprint.
    pub machine: String,
    /// The environment's fingerprint.
    pub environment: String,
    /// Every kind of work.
    pub classes: Vec<ClassPart>,
    /// Slow-downs that were put in.
    pub injected: Vec<InjectedPart>,
    /// How far copies of one program differ that are linked again; null if that was not asked.
    pub layout: Option<LayoutPart>,
    /// Resolution, cost and drift of the clock.
    pub clock: AuditClock,
}

/// How far copies of one program differ that are linked again, in another order and with padding.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LayoutPart {
    /// Copies that were compared with the first one.
    pub links: usize,
    /// Those that were called faster or slower.
    pub told_apart: usize,
    /// The ratio that is farthest from 1.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// The largest relative difference of one more copy, at 95 %; null with fewer than 10 copies, or if noise is too large.
    pub effect: Option<f64>,
    /// Why there is no bound: `few_copies` or `noise`.
    #[cfg_attr(test, schemars(extend("enum" = ["few_copies", "noise", null])))]
    pub no_effect: Option<&'static str>,
    /// Why no copy could be linked.
    pub unsupported: Option<String>,
}

/// The resolution of the clock that everything is timed by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AuditClock {
    /// The smallest step that it was seen to take, in nanoseconds.
    pub resolution_ns: f64,
    /// Cost of a read, in nanoseconds.
    pub overhead_ns: f64,
    /// By how many millionths it was slewed against the raw clock during the audit.
    pub slew_ppm: Option<f64>,
    /// By how many millionths the rate of the CPU's time stamp counter against it changed during the audit.
    pub counter_ppm: Option<f64>,
}

/// The result of one kind of work.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClassPart {
    /// The kind of work: `cpu`, `memory` and so on.
    pub class: String,
    /// The point that was compared with itself.
    pub point: String,
    /// How often the point was compared with itself.
    pub comparisons: usize,
    /// Those that called it faster or slower than itself.
    pub wrong: usize,
    /// Interval of the share of wrong ones, at 95 %.
    pub wrong_low: Option<f64>,
    /// Its upper end.
    pub wrong_high: Option<f64>,
    /// The largest relative difference between equals, at 95 %.
    pub noise_floor: Option<f64>,
    /// Relative deviation of one pair.
    pub pair_sd: Option<f64>,
    /// The smallest relative change found four times in five.
    pub detectable: Option<f64>,
    /// The number of pairs.
    pub pairs: usize,
    /// Relative deviation of samples within a process.
    pub sample_sd: Option<f64>,
    /// Relative deviation of processes, beyond what their samples explain.
    pub process_sd: Option<f64>,
    /// Relative deviation of the levels of whole comparisons.
    pub comparison_sd: Option<f64>,
    /// Samples in a row that tell as much as one independent one.
    pub tau: Option<f64>,
    /// Times a second that the scheduler took the CPU away.
    pub preemptions_per_s: f64,
    /// Page faults a second.
    pub faults_per_s: f64,
    /// Change of the level from the first to the last comparison.
    pub drift: Option<f64>,
}

/// A slow-down that was put in.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InjectedPart {
    /// The relative slow-down.
    pub share: f64,
    /// The verdict on it; null without one.
    pub verdict: Option<&'static str>,
    /// The ratio that was found.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
}

/// The document of an audit.
#[must_use]
pub fn audit_document(
    machine: &str,
    environment: &str,
    classes: &[ClassAudit],
    injected: &[Injected],
    layout: Option<&LayoutFinding>,
    clock: AuditClock,
) -> AuditDocument {
    AuditDocument {
        schema: AUDIT_SCHEMA,
        machine: machine.to_owned(),
        environment: environment.to_owned(),
        classes: classes.iter().map(class).collect(),
        injected: injected.iter().map(injection).collect(),
        layout: layout.map(layout_part),
        clock,
    }
}

pub(crate) fn class(audit: &ClassAudit) -> ClassPart {
    ClassPart {
        class: audit.class.clone(),
        point: audit.point.clone(),
        comparisons: audit.comparisons,
        wrong: audit.wrong,
        wrong_low: audit.wrong_share.map(|ends| ends.low),
        wrong_high: audit.wrong_share.map(|ends| ends.high),
        noise_floor: audit.noise_floor,
        pair_sd: audit.pair_sd,
        detectable: audit.detectable,
        pairs: audit.pairs,
        sample_sd: audit.levels.map(|levels| levels.samples),
        process_sd: audit.levels.map(|levels| levels.processes),
        comparison_sd: audit.levels.and_then(|levels| levels.comparisons),
        tau: audit.levels.map(|levels| levels.tau),
        preemptions_per_s: audit.preemptions_per_s,
        faults_per_s: audit.faults_per_s,
        drift: audit.drift,
    }
}

fn layout_part(layout: &LayoutFinding) -> LayoutPart {
    match layout {
        LayoutFinding::Measured(audit) => LayoutPart {
            links: audit.links,
            told_apart: audit.told_apart,
            ratio: audit.largest,
            low: audit.ends.map(|ends| ends.low),
            high: audit.ends.map(|ends| ends.high),
            effect: audit.effect,
            no_effect: audit.no_effect.map(|why| match why {
                NoLayoutEffect::FewCopies => "few_copies",
                NoLayoutEffect::Noise => "noise",
            }),
            unsupported: None,
        },
        LayoutFinding::Unsupported(why) => {
            LayoutPart { unsupported: Some(why.clone()), ..LayoutPart::default() }
        }
    }
}

fn injection(injected: &Injected) -> InjectedPart {
    InjectedPart {
        share: injected.share,
        verdict: injected.verdict.map(|verdict| verdict.word()),
        ratio: injected.ratio,
        low: injected.ends.map(|ends| ends.low),
        high: injected.ends.map(|ends| ends.high),
    }
}
