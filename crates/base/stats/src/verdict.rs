//! Verdicts from the interval of a ratio, and the schedule of looks: docs/method.md, *Pairs* and *Edge cases*.
//!
//! The interval decides alone. Wholly inside the margin it says *equivalent*, wholly on one side of 0 *faster* or
//! *slower*, otherwise *inconclusive*: "no difference found" is never the same as "no difference". Equivalence from a
//! 95 % interval is two one-sided tests at 2.5 % (Schuirmann 1987).
//!
//! Whoever looks at an interval until it says something must expect to be misled more often than whoever looks once.
//! So a [`LookSchedule`] fixes the looks beforehand, and at each one the interval has a level so high that all looks
//! together mislead one time in 20 (Pocock 1977, with the exact signed-rank law in place of the normal one). The levels
//! were found by simulation and are simulated again by a test.
//!
//! Where time is the limit, nobody knows beforehand how many pairs it holds, and [`LookSchedule::Long`] serves them all: its
//! k-th look spends c / √k. Of the ways to spend that were simulated (equal at all looks, c / k^p with p from .15 to 1.5,
//! geometric series from .8 to .95, rising ones, O'Brien & Fleming 1979) all but the extremes need within 3 % of the same
//! number of pairs, over differences that take 8 to 10,000; this one is among the best if few pairs are enough, and
//! the first that lets 8 pairs speak: eight that all point one way have p = .0078.

use crate::pairs::signed_rank_interval;
use crate::{Interval, NoInterval};

/// Smallest relative change that matters if nobody says otherwise.
pub const MARGIN: f64 = 0.01;
/// More pairs than this are never advised.
const MOST_ADVISED: f64 = 1e6;
/// Sampling is hopeless when it needs more pairs than this many times those that it may take.
const HOPELESS: usize = 2;

/// The verdict on B compared with A, in terms of cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// B costs less than A.
    Faster,
    /// B costs more than A.
    Slower,
    /// The difference is inside the margin.
    Equivalent,
    /// The interval allows more than one of the others.
    Inconclusive,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Faster, Self::Slower, Self::Equivalent, Self::Inconclusive];

    /// The verdict of a stored word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.word() == word)
    }

    /// The word that is shown and stored.
    pub fn word(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Equivalent => "equivalent",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// A verdict with what belongs next to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict on B from the interval.
    pub verdict: Verdict,
    /// Faster or slower, and the whole interval is beyond the margin: the difference matters for certain.
    pub beyond_margin: bool,
    /// Equivalent, though the interval excludes equality: detectable but negligible.
    pub negligible: bool,
    /// All pairs have the same ratio, so that nothing was estimated.
    pub exact: bool,
    /// Inconclusive because the pairs that count and all pairs, the excluded ones put back, do not agree.
    pub contradicted: bool,
    /// Where inconclusive: the pairs that would settle it if the estimate stayed; `None` beyond a million.
    pub pairs_needed: Option<usize>,
}

impl Judgement {
    fn of(verdict: Verdict) -> Self {
        Self {
            verdict,
            beyond_margin: false,
            negligible: false,
            exact: false,
            contradicted: false,
            pairs_needed: None,
        }
    }

    /// Inconclusive until there are so many pairs.
    pub(crate) fn open(pairs_needed: usize) -> Self {
        Self { pairs_needed: Some(pairs_needed), ..Self::of(Verdict::Inconclusive) }
    }

    /// Inconclusive: the pairs that count say something else than all pairs.
    pub(crate) fn contradicted_by_excluded() -> Self {
        Self { contradicted: true, ..Self::of(Verdict::Inconclusive) }
    }

    /// Whether there is another verdict than inconclusive, so that no more pairs are needed.
    pub fn settled(&self) -> bool {
        self.verdict != Verdict::Inconclusive
    }
}

/// Judges by the interval of the log ratio of costs (above 0: B costs more), which `pairs` pairs gave.
///
/// `margin` is the smallest relative change that matters, .01 for 1 %.
pub fn judge(log_ratio: &Interval, pairs: usize, margin: f64) -> Judgement {
    let Interval { estimate, low, high } = *log_ratio;
    // Symmetric in logarithms: swapping A and B swaps the verdict. ±1 % as such would not do that.
    let margin = margin.ln_1p();
    // Equivalence comes first: a difference inside the margin does not matter, however certain it is.
    if -margin < low && high < margin {
        let negligible = low > 0.0 || high < 0.0;
        return Judgement { negligible, ..Judgement::of(Verdict::Equivalent) };
    }
    if low > 0.0 {
        return Judgement { beyond_margin: low > margin, ..Judgement::of(Verdict::Slower) };
    }
    if high < 0.0 {
        return Judgement { beyond_margin: high < -margin, ..Judgement::of(Verdict::Faster) };
    }
    let pairs_needed = pairs_needed(estimate.abs(), 0.5 * (high - low), margin, pairs);
    Judgement { pairs_needed, ..Judgement::of(Verdict::Inconclusive) }
}

/// Judges the log ratios of pairs by their signed-rank interval at `level` ([`LookSchedule::level`], or .95 for a number of
/// pairs that was fixed beforehand). If all are equal the comparison is exact.
///
/// # Errors
/// Those of [`signed_rank_interval`] without [`NoInterval::AllEqual`]; of them [`NoInterval::OutOfRange`], at the first
/// looks of a high confidence, means that it is too early to say.
pub fn judge_pairs(log_ratios: &[f64], level: f64, margin: f64) -> Result<Judgement, NoInterval> {
    let interval = interval_of_pairs(log_ratios, level)?;
    let exact = log_ratios.iter().all(|&value| value == log_ratios[0]);
    Ok(Judgement { exact, ..judge(&interval, log_ratios.len(), margin) })
}

/// The interval by which [`judge_pairs`] judges: the signed-rank interval, or the one value if all log ratios are
/// equal.
///
/// # Errors
/// Those of [`judge_pairs`].
pub fn interval_of_pairs(log_ratios: &[f64], level: f64) -> Result<Interval, NoInterval> {
    match signed_rank_interval(log_ratios, level) {
        Err(NoInterval::AllEqual) => Ok(Interval::exactly(log_ratios[0])),
        found => found,
    }
}

/// Pairs that would settle it, for a difference or for equivalence, whichever is nearer; an interval shrinks with the
/// square root of the pairs.
fn pairs_needed(centre: f64, half: f64, margin: f64, pairs: usize) -> Option<usize> {
    // Infinite for an estimate of 0, which only equivalence can settle.
    let difference = half / centre;
    let equivalence = if centre < margin { half / (margin - centre) } else { f64::INFINITY };
    let needed = (pairs as f64 * difference.min(equivalence).powi(2)).ceil();
    (needed < MOST_ADVISED).then_some(needed as usize)
}

/// How sure the verdicts of a comparison shall be, over all its looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Confidence {
    /// At most one wrong verdict in 20 about equal programs.
    #[default]
    NinetyFive,
    /// At most one in 100.
    NinetyNine,
}

impl Confidence {
    /// Of a percentage, if there is one.
    pub fn of_percent(percent: u8) -> Option<Self> {
        [Self::NinetyFive, Self::NinetyNine]
            .into_iter()
            .find(|confidence| confidence.percent() == percent)
    }

    /// The percentage that users type and read.
    pub fn percent(self) -> u8 {
        match self {
            Self::NinetyFive => 95,
            Self::NinetyNine => 99,
        }
    }

    /// As a level, such as .95.
    pub fn level(self) -> f64 {
        f64::from(self.percent()) / 100.0
    }
}

/// The numbers of pairs at which a verdict may be sought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookSchedule {
    /// So many pairs, and one look at their end.
    Fixed(usize),
    /// 8, 12, 18, 27, 40.
    Forty,
    /// Also 60, 90.
    Ninety,
    /// Also 135, 200.
    TwoHundred,
    /// Also 300, 450, 675, 1,000 and so on to 10,000: if time is the limit.
    Long,
}

/// The looks of the longest schedule; the others are its beginnings.
const LOOKS: [usize; 19] = [
    8, 12, 18, 27, 40, 60, 90, 135, 200, 300, 450, 675, 1_000, 1_500, 2_250, 3_400, 5_000, 7_500,
    10_000,
];

/// The error that a look of the long schedule may spend: c / √k at the k-th, `first` being c.
fn spent_at(pairs: usize, first: f64) -> f64 {
    // The last look is not counted, so that more pairs than it has keep its level.
    let before = LOOKS[..LOOKS.len() - 1].iter().filter(|&&look| look < pairs).count();
    first / (1.0 + before as f64).sqrt()
}

impl LookSchedule {
    /// The most pairs of any comparison.
    pub const MOST_PAIRS: usize = LOOKS[LOOKS.len() - 1];

    /// The shortest sequential schedule that has a look at `most` pairs or later, the longest if none has.
    ///
    /// Ending one before its last look, as a budget may, misleads no more often: the look at the end stands in for the
    /// next one, and has its level.
    pub fn up_to(most: usize) -> Self {
        match most {
            0..=40 => Self::Forty,
            41..=90 => Self::Ninety,
            91..=200 => Self::TwoHundred,
            _ => Self::Long,
        }
    }

    /// The numbers of pairs at which to look, rising.
    pub fn looks(self) -> Vec<usize> {
        match self {
            Self::Fixed(pairs) => vec![pairs],
            _ => LOOKS.into_iter().filter(|&look| look <= self.most_pairs()).collect(),
        }
    }

    /// The pairs at the last look.
    pub fn most_pairs(self) -> usize {
        match self {
            Self::Fixed(pairs) => pairs,
            Self::Forty => 40,
            Self::Ninety => 90,
            Self::TwoHundred => 200,
            Self::Long => Self::MOST_PAIRS,
        }
    }

    /// The level of the interval at a look, such as .985; between two looks, that of the later one.
    pub fn level(self, confidence: Confidence, pairs: usize) -> f64 {
        let alpha = match (confidence, self) {
            (Confidence::NinetyFive, Self::Fixed(_)) => 0.05,
            (Confidence::NinetyFive, Self::Forty) => 0.015,
            (Confidence::NinetyFive, Self::Ninety) => 0.012,
            (Confidence::NinetyFive, Self::TwoHundred) => 0.008_75,
            (Confidence::NinetyFive, Self::Long) => spent_at(pairs, 0.010_5),
            (Confidence::NinetyNine, Self::Fixed(_)) => 0.01,
            (Confidence::NinetyNine, Self::Forty) => 0.003_25,
            (Confidence::NinetyNine, Self::Ninety) => 0.002_25,
            (Confidence::NinetyNine, Self::TwoHundred) => 0.001_75,
            (Confidence::NinetyNine, Self::Long) => spent_at(pairs, 0.002_1),
        };
        1.0 - alpha
    }

    /// The level of the interval at a look of each of several comparisons, so that all of them together mislead no more
    /// often than one alone would (Bonferroni). At the first looks that level may be out of reach.
    pub fn level_of_each(self, confidence: Confidence, pairs: usize, comparisons: usize) -> f64 {
        1.0 - (1.0 - self.level(confidence, pairs)) / comparisons.max(1) as f64
    }

    /// The next look after `pairs` pairs.
    pub fn next_look(self, pairs: usize) -> Option<usize> {
        self.looks().into_iter().find(|&look| look > pairs)
    }

    /// Whether a verdict is so far away after `pairs` pairs that sampling should stop as inconclusive: it needs over
    /// twice the pairs that the whole comparison can have, `reach`, by its limits in pairs and in time. Stopping so
    /// cannot mislead, as no verdict comes of it.
    ///
    /// Never before half of them: the first looks estimate the pairs needed so badly that half of the findable
    /// slow-downs of 1 % would be given up (simulated).
    pub fn hopeless(self, judgement: &Judgement, pairs: usize, reach: usize) -> bool {
        let last = self.most_pairs().min(reach);
        let far = judgement.pairs_needed.is_none_or(|needed| needed > HOPELESS * last);
        // More pairs can show that a neighbour disturbs both sides; how many it takes is not known.
        let is_open = !judgement.settled() && !judgement.contradicted;
        is_open && 2 * pairs >= last && far
    }
}

#[cfg(test)]
mod tests {
    use super::{Confidence, Judgement, LookSchedule, Verdict, judge_pairs};
    use crate::NoInterval;
    use crate::pairs::walsh_rank;

    fn verdict(logs: &[f64]) -> Result<Verdict, NoInterval> {
        judge_pairs(logs, 0.95, 0.01).map(|judged| judged.verdict)
    }

    /// Ten log ratios around `centre`.
    fn around(centre: f64, spread: f64) -> Vec<f64> {
        (0..10).map(|i| centre + spread * (f64::from(i) - 4.5) / 4.5).collect()
    }

    #[test]
    fn the_four_words_follow_from_the_interval() {
        assert_eq!(verdict(&around(0.05, 0.01)), Ok(Verdict::Slower));
        assert_eq!(verdict(&around(-0.05, 0.01)), Ok(Verdict::Faster));
        assert_eq!(verdict(&around(0.0, 0.005)), Ok(Verdict::Equivalent));
        assert_eq!(verdict(&around(0.0, 0.1)), Ok(Verdict::Inconclusive));
    }

    #[test]
    fn what_is_certain_or_negligible_is_told() {
        let told = |centre, spread| {
            let judged = judge_pairs(&around(centre, spread), 0.95, 0.01).unwrap();
            (judged.verdict, judged.beyond_margin, judged.negligible)
        };
        assert_eq!(told(0.05, 0.01), (Verdict::Slower, true, false));
        assert_eq!(told(0.015, 0.015), (Verdict::Slower, false, false));
        assert_eq!(told(-0.05, 0.01), (Verdict::Faster, true, false));
        assert_eq!(told(0.005, 0.004), (Verdict::Equivalent, false, true));
    }

    #[test]
    fn pairs_needed_scale_with_the_square() {
        let needed =
            |centre, spread| judge_pairs(&around(centre, spread), 0.95, 0.01).unwrap().pairs_needed;
        // The interval is +-.0556: 10 * (.0556/.02)^2 pairs would show the difference.
        assert_eq!(needed(0.02, 0.1), Some(78));
        // Equivalence is nearer: 10 * (.0556/.00995)^2.
        assert_eq!(needed(0.0, 0.1), Some(312));
        assert_eq!(needed(0.0, 10.0), None);
        assert_eq!(needed(0.05, 0.01), None);
    }

    #[test]
    fn pairs_that_contradict_the_excluded_ones_are_not_hopeless() {
        let open = Judgement { pairs_needed: None, ..Judgement::open(14) };
        assert!(LookSchedule::Forty.hopeless(&open, 40, 40));
        let contradicted = Judgement::contradicted_by_excluded();
        assert!(!LookSchedule::Forty.hopeless(&contradicted, 40, 40));
    }

    #[test]
    fn several_comparisons_divide_the_error() {
        let error = |comparisons| {
            1.0 - LookSchedule::Long.level_of_each(Confidence::NinetyFive, 8, comparisons)
        };
        assert!((error(1) - 0.0105).abs() < 1e-12 && (error(3) - 0.0035).abs() < 1e-12);
        // Eight pairs in one direction are no longer enough.
        assert!(walsh_rank(8, error(1)) == 1 && walsh_rank(8, error(2)) == 0);
    }

    #[test]
    fn seven_pairs_give_no_verdict() {
        let need = NoInterval::TooFewProcesses { have: 7, need: 8 };
        assert_eq!(verdict(&[0.1; 7]), Err(need));
        assert_eq!(verdict(&[f64::NAN; 9]), Err(NoInterval::NotFinite));
    }

    #[test]
    fn equal_pairs_are_exact() {
        let exact = |value| judge_pairs(&[value; 9], 0.95, 0.01).unwrap();
        assert_eq!((exact(0.0).verdict, exact(0.0).exact), (Verdict::Equivalent, true));
        assert_eq!((exact(0.5).verdict, exact(0.5).beyond_margin), (Verdict::Slower, true));
    }

    #[test]
    fn schedules_end_where_they_say() {
        assert_eq!(LookSchedule::Forty.looks(), [8, 12, 18, 27, 40]);
        assert_eq!(LookSchedule::up_to(60).looks(), [8, 12, 18, 27, 40, 60, 90]);
        assert_eq!(LookSchedule::up_to(200).most_pairs(), 200);
        assert_eq!(LookSchedule::up_to(201), LookSchedule::Long);
        assert_eq!(LookSchedule::Long.looks().last(), Some(&LookSchedule::MOST_PAIRS));
        assert_eq!(LookSchedule::Long.next_look(675), Some(1000));
        assert_eq!(LookSchedule::Forty.next_look(0), Some(8));
        assert_eq!(LookSchedule::Forty.next_look(39), Some(40));
        assert_eq!(LookSchedule::Forty.next_look(40), None);
        assert_eq!(LookSchedule::Fixed(20).next_look(3), Some(20));
    }

    #[test]
    fn every_look_has_ranks() {
        for confidence in [Confidence::NinetyFive, Confidence::NinetyNine] {
            for schedule in [LookSchedule::Forty, LookSchedule::Ninety, LookSchedule::TwoHundred] {
                let alpha = 1.0 - schedule.level(confidence, 8);
                let last = walsh_rank(schedule.most_pairs(), alpha);
                assert!(last > 0, "{schedule:?} {confidence:?}");
            }
            let from = if confidence == Confidence::NinetyFive { 8 } else { 12 };
            for look in LookSchedule::Long.looks() {
                let rank = walsh_rank(look, 1.0 - LookSchedule::Long.level(confidence, look));
                assert_eq!(rank > 0, look >= from, "{look} {confidence:?}");
            }
        }
    }

    #[test]
    fn a_long_comparison_spends_less_at_every_look() {
        let alpha = |pairs| 1.0 - LookSchedule::Long.level(Confidence::NinetyFive, pairs);
        let near = |one: f64, other: f64| (one - other).abs() < 1e-12;
        assert!(near(alpha(8), 0.010_5) && near(alpha(27), 0.005_25));
        assert!(near(alpha(9), alpha(12)), "between two looks it is the later one's");
        assert!(
            near(alpha(10_000), 0.010_5 / 19.0_f64.sqrt()) && near(alpha(99_999), alpha(10_000))
        );
        let flat = |pairs| LookSchedule::Forty.level(Confidence::NinetyFive, pairs);
        assert!(near(flat(8), flat(40)));
    }

    #[test]
    fn out_of_reach_is_hopeless() {
        let needing =
            |pairs_needed| Judgement { pairs_needed, ..Judgement::of(Verdict::Inconclusive) };
        let hopeless =
            |judgement, pairs| LookSchedule::Forty.hopeless(&judgement, pairs, usize::MAX);
        assert!(!hopeless(needing(Some(80)), 27));
        assert!(hopeless(needing(Some(81)), 27));
        assert!(hopeless(needing(None), 27));
        assert!(!hopeless(needing(None), 18));
        assert!(!hopeless(Judgement::of(Verdict::Slower), 27));
        // Of a long one, what its time allows: 300 pairs.
        let long = |needed, pairs| LookSchedule::Long.hopeless(&needing(needed), pairs, 300);
        assert!(long(Some(601), 200) && !long(Some(600), 200) && !long(Some(9_000), 135));
    }
}
