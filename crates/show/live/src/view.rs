//! A run under way, as a page shows it: from run updates to documents `plumb.live/1`.
//!
//! [`Live`] keeps what is known of a run. Each piece remembers the message in which it last changed, so
//! that a reader who fell behind gets, in one message, all that changed since the one they have seen:
//! nothing is queued for anybody, and nothing is lost.

use std::collections::VecDeque;
use std::time::Duration;

use crate::charts::{MonitorReadings, PrecisionOverTime, precision};
use plumb_chart::Chart;
use plumb_model::{
    Decision, EndedInvocation, Flag, Id, Plan, PlannedPoint, RunStatus, RunUpdate, Verdict,
};

use crate::progress::{ProgressState, ProgressView};

/// Lines of the log that are kept.
pub(super) const MOST_LINES: usize = 100;
/// Different flags of one point that are kept.
const MOST_FLAGS: usize = 12;

/// A run under way.
#[derive(Debug, Clone)]
pub struct Live {
    pub(super) run: Id,
    pub(super) started_unix_ns: i64,
    pub(super) status: RunStatus,
    pub(super) progress: ProgressView,
    pub(super) points: Vec<Versioned<LivePointState>>,
    pub(super) charts: Vec<Versioned<Chart>>,
    pub(super) log: VecDeque<Versioned<(u64, String)>>,
    pub(super) precision_over_time: PrecisionOverTime,
    pub(super) readings: MonitorReadings,
    pub(super) number: u64,
}

/// Something, and the message in which it last changed.
#[derive(Debug, Clone)]
pub(super) struct Versioned<T> {
    pub(super) number: u64,
    pub(super) value: T,
}

/// The state of a point, in addition to its progress.
#[derive(Debug, Clone, Default)]
pub(super) struct LivePointState {
    pub(super) workload: String,
    pub(super) unit: String,
    pub(super) estimate: Option<f64>,
    pub(super) ends: Option<(f64, f64)>,
    pub(super) invocations: usize,
    pub(super) samples: usize,
    pub(super) excluded: usize,
    pub(super) verdict: Option<Verdict>,
    pub(super) stop: Option<String>,
    pub(super) flags: Vec<Flag>,
}

impl LivePointState {
    fn of(planned: &PlannedPoint) -> Self {
        let metric = planned.description.primary();
        Self {
            workload: planned.point.workload.clone(),
            unit: metric.map_or_else(String::new, |metric| metric.unit.clone()),
            ..Self::default()
        }
    }

    fn decided(&mut self, decision: &Decision) {
        self.invocations = decision.invocations;
        self.samples = decision.samples;
        self.stop = decision.stop.map(|stop| stop.word().to_owned());
        match &decision.compared {
            Some(compared) => self.verdict = compared.verdict,
            None => {
                // What an earlier look found stays until a later one finds something.
                let look = decision.look.filter(|look| look.estimate.is_finite());
                self.estimate = look.map(|look| look.estimate).or(self.estimate);
                self.ends = look.and_then(|look| look.low.zip(look.high)).or(self.ends);
            }
        }
    }

    fn flag(&mut self, flag: &Flag) {
        let known = self.flags.iter().any(|other| other.flag == flag.flag);
        if !known && self.flags.len() < MOST_FLAGS {
            self.flags.push(flag.clone());
        }
    }
}

impl Live {
    /// A run of which nothing is known but what it is going to do.
    #[must_use]
    pub fn new(run: Id, started_unix_ns: i64, plan: &Plan) -> Self {
        let mut live = Self {
            run,
            started_unix_ns,
            status: RunStatus::Running,
            progress: ProgressView::of(plan),
            points: plan
                .points
                .iter()
                .map(LivePointState::of)
                .map(|point| Versioned { number: 1, value: point })
                .collect(),
            charts: Vec::new(),
            log: VecDeque::new(),
            precision_over_time: PrecisionOverTime::of(plan),
            readings: MonitorReadings::default(),
            number: 1,
        };
        live.draw();
        live
    }

    /// Takes what is new, `elapsed` after the run's start. True when somebody should hear of it.
    pub fn take(&mut self, update: &RunUpdate, elapsed: Duration) -> bool {
        // Somebody may set the clock back while the run goes on; its time never falls.
        let elapsed = elapsed.max(self.progress.elapsed);
        let nothing = update.decisions.is_empty()
            && update.ended.is_empty()
            && update.excluded.is_empty()
            && update.unsupported.is_empty()
            && update.log.is_empty();
        // Only time went on: no message, which every open page would have to draw.
        if nothing && update.status == self.status && update.current == self.progress.current {
            self.progress.at(elapsed);
            return false;
        }
        self.number += 1;
        self.status = update.status;
        self.set_current(update.current);
        update.decisions.iter().for_each(|(at_ns, decision)| self.decided(*at_ns, decision));
        update.ended.iter().for_each(|ended| self.ended(ended));
        for &point in &update.excluded {
            self.change(point, |known| known.excluded += 1);
        }
        for missing in &update.unsupported {
            self.progress.unsupported(missing.point);
            self.change(missing.point, |known| known.stop = Some(missing.why.clone()));
        }
        self.log(&update.log);
        self.progress.at(elapsed);
        self.draw();
        true
    }

    /// The program that is measured says that it is doing something; None if it says nothing any more. The store does
    /// not keep that, so only who carries the run out knows. True if somebody should hear of it.
    pub fn doing(&mut self, activity: Option<(usize, String)>) -> bool {
        let text = activity.as_ref().map(|(_, text)| text.clone());
        if self.is_over() || text == self.progress.activity {
            return false;
        }
        match &activity {
            Some((point, text)) => self.progress.doing(*point, text),
            None => self.progress.activity = None,
        }
        self.number += 1;
        true
    }

    /// The number of the newest message.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether it is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.status != RunStatus::Running
    }

    fn set_current(&mut self, current: Option<usize>) {
        let current = current.filter(|_| self.status == RunStatus::Running);
        if current != self.progress.current {
            self.progress.activity = None;
        }
        self.progress.current = current;
    }

    /// Changes what is known of a point; a number that is not a point's changes nothing.
    fn change(&mut self, point: usize, how: impl FnOnce(&mut LivePointState)) {
        if let Some(point) = self.points.get_mut(point) {
            how(&mut point.value);
            point.number = self.number;
        }
    }

    fn decided(&mut self, at_ns: u64, decision: &Decision) {
        self.progress.decided(decision);
        self.precision_over_time.take(at_ns, decision);
        self.change(decision.point, |known| known.decided(decision));
    }

    fn ended(&mut self, ended: &EndedInvocation) {
        self.readings.take(ended);
        self.change(ended.point, |known| ended.flags.iter().for_each(|flag| known.flag(flag)));
    }

    fn log(&mut self, lines: &[(u64, String)]) {
        let number = self.number;
        self.log.extend(lines.iter().map(|line| Versioned { number, value: line.clone() }));
        let surplus = self.log.len().saturating_sub(MOST_LINES);
        self.log.drain(..surplus);
    }

    /// Draws the charts again; those that come out the same have not changed.
    fn draw(&mut self) {
        let drawn: Vec<Chart> =
            [precision(&self.progress), self.precision_over_time.chart(&self.progress)]
                .into_iter()
                .flatten()
                .chain(self.readings.charts())
                .collect();
        for chart in drawn {
            let number = self.number;
            match self.charts.iter_mut().find(|known| known.value.id == chart.id) {
                Some(before) if before.value == chart => {}
                Some(before) => *before = Versioned { number, value: chart },
                None => self.charts.push(Versioned { number, value: chart }),
            }
        }
    }

    /// How many points still need data.
    pub(super) fn open(&self) -> usize {
        self.progress.points.iter().filter(|point| point.state == ProgressState::Open).count()
    }
}
