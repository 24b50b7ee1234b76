//! Implementations of the same work, such as a program in several languages: what each takes, and how much more than the
//! first and than the one above it.

use plumb_analysis::{Estimate, RankedVariant, UnmeasuredVariant, VariantCosts, VariantRanking};
use plumb_text::{Style, Table, TableColumn, TextLine};
use plumb_units::{percent_with_ends, plain, quantity, scale_of, whole_percent};

use crate::rank_text::rank_text;

/// The table of one group of implementations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImplementationTable {
    /// Its heading: `CPU time of 10 loops of language.loop`.
    pub title: String,
    /// The parameter that chooses the implementation.
    pub parameter: String,
    /// The implementation that the others are compared with.
    pub first: String,
    /// The unit of all times.
    pub unit: String,
    /// The implementations, the fastest first, then those that were not measured.
    pub rows: Vec<ImplementationRow>,
    /// How to read it, or why there are no ranks.
    pub note: String,
}

/// One implementation. Cells of those that were not measured are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImplementationRow {
    /// The ranks that are not ruled out: `2–3`; `?` if they are unknown.
    pub rank: String,
    /// The implementation, by the parameter that chooses it.
    pub value: String,
    /// CPU time in user mode.
    pub user: String,
    /// CPU time in the kernel.
    pub system: String,
    /// All CPU time; or `failed`, or `not supported`.
    pub total: String,
    /// Largest resident memory.
    pub memory: String,
    /// By how much its CPU time exceeds that of the first: `184 % [170, 199]`.
    pub above_first: Excess,
    /// By how much it exceeds that of the row above.
    pub above_previous: Excess,
    /// The version of the program that does the work.
    pub version: String,
}

/// A percentage with and without its interval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Excess {
    /// The percentage alone: `184 %`.
    pub short: String,
    /// The percentage with its interval: `184 % [170, 199]`.
    pub long: String,
}

impl Excess {
    fn of(estimate: Option<&Estimate>) -> Self {
        let Some(estimate) = estimate else { return Self::default() };
        let ends = estimate.interval.as_ref().ok().map(|ends| (ends.low, ends.high));
        Self { short: whole_percent(estimate.value), long: percent_with_ends(estimate.value, ends) }
    }
}

impl ImplementationTable {
    /// The number of columns, the version last.
    pub const COLUMNS: usize = 9;

    /// None for variants that are no implementations of the same work.
    pub(crate) fn of(ranking: &VariantRanking) -> Option<Self> {
        let implementations = ranking.implementations.as_ref()?;
        let fastest = ranking.variants.first()?.costs.as_ref()?;
        let scale = scale_of(fastest.cpu_s.value, "s");
        let measured = ranking.variants.iter().filter_map(|variant| {
            variant.costs.as_ref().map(|costs| ImplementationRow::of(variant, costs, scale.1))
        });
        let unmeasured = implementations.unmeasured.iter().map(ImplementationRow::unmeasured);
        Some(Self {
            title: format!("CPU time of {} loops of {}", implementations.loops, ranking.of),
            parameter: ranking.parameter.clone(),
            first: implementations.first.clone(),
            unit: scale.0,
            rows: measured.chain(unmeasured).collect(),
            note: match &ranking.no_ranks {
                Some(why) => format!("no ranks and no intervals, the order may be chance ({why})"),
                None => "rows with a rank in common cannot be told apart; all intervals hold \
                         together at 95 %"
                    .to_owned(),
            },
        })
    }

    /// The titles of its columns.
    #[must_use]
    pub fn titles(&self) -> [String; Self::COLUMNS] {
        [
            "rank".to_owned(),
            self.parameter.clone(),
            format!("user {}", self.unit),
            format!("system {}", self.unit),
            format!("total {}", self.unit),
            "memory".to_owned(),
            format!("slower than {}", self.first),
            "than above".to_owned(),
            "version".to_owned(),
        ]
    }

    /// The table for terminals, which has no room for versions.
    pub(super) fn for_terminal(&self, excess: fn(&Excess) -> &String) -> Table {
        let mut columns = Vec::new();
        for (index, title) in self.titles().iter().take(Self::COLUMNS - 1).enumerate() {
            let is_name = index == 1;
            columns.push(if is_name {
                TableColumn::left(title)
            } else {
                TableColumn::right(title)
            });
        }
        let mut table = Table::new(columns).indented(2);
        for row in &self.rows {
            table.row(vec![
                TextLine::new(Style::Estimate, &row.rank),
                TextLine::new(Style::Name, &row.value),
                TextLine::new(Style::Plain, &row.user),
                TextLine::new(Style::Plain, &row.system),
                TextLine::new(Style::Estimate, &row.total),
                TextLine::new(Style::Plain, &row.memory),
                TextLine::new(Style::Plain, excess(&row.above_first)),
                TextLine::new(Style::Plain, excess(&row.above_previous)),
            ]);
        }
        table
    }
}

impl ImplementationRow {
    fn of(variant: &RankedVariant, costs: &VariantCosts, scale: f64) -> Self {
        Self {
            rank: variant.ranks.map_or_else(|| "?".to_owned(), rank_text),
            value: variant.value.clone(),
            user: costs.user_s.map_or_else(|| "?".to_owned(), |time| plain(time / scale)),
            system: costs.system_s.map_or_else(|| "?".to_owned(), |time| plain(time / scale)),
            total: plain(costs.cpu_s.value / scale),
            memory: costs.peak_memory_bytes.map_or_else(String::new, |bytes| quantity(bytes, "B")),
            above_first: Excess::of(costs.above_first.as_ref()),
            above_previous: Excess::of(costs.above_previous.as_ref()),
            version: costs.version.clone(),
        }
    }

    fn unmeasured(variant: &UnmeasuredVariant) -> Self {
        let total = if variant.failed { "failed" } else { "not supported" };
        Self { value: variant.value.clone(), total: total.to_owned(), ..Self::default() }
    }

    /// Its cells, in the order of the titles.
    #[must_use]
    pub fn cells(&self) -> [String; ImplementationTable::COLUMNS] {
        [
            self.rank.clone(),
            self.value.clone(),
            self.user.clone(),
            self.system.clone(),
            self.total.clone(),
            self.memory.clone(),
            self.above_first.long.clone(),
            self.above_previous.long.clone(),
            self.version.clone(),
        ]
    }
}
