//! What is compared when: blocks that hold every cell, each in its own random order.
//!
//! The seed and the number of a comparison settle everything, so that a later part goes on as if nothing
//! had stopped, and a head-to-head that ends anywhere has measured all cells about equally often.

use std::collections::BTreeSet;

use plumb_stats::rng::Rng;

use super::programs::PROGRAMS;
use super::tools::Other;

/// The subject of one comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComparedCase {
    /// Index into `PROGRAMS`.
    pub program: usize,
    /// Index into `EFFECTS`.
    pub effect: usize,
    /// Whether another process disturbs.
    pub neighbour: bool,
    /// Whether B is a copy of A that is linked again.
    pub relinked: bool,
}

/// A comparison that is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    pub cell: ComparedCase,
    /// B is presented as the first side.
    pub swapped: bool,
    /// Who follows plumb, in this order.
    pub others: [Other; 3],
    /// For plumb's own coins and the neighbour's bursts.
    pub seed: u32,
    /// For the order and the padding of a copy that is linked again.
    pub link_seed: u64,
}

/// Indices into `EFFECTS`, as often as each is measured: A/A thrice, since false alarms are rare, 1 % once, 2 and 5 %
/// twice.
const WEIGHTED: [usize; 8] = [0, 0, 0, 1, 2, 2, 3, 3];

/// How often each C program is compared with copies that are linked again, alone and next to a neighbour: in all about as
/// often as all programs with themselves.
const RELINKED: usize = 8;

/// All cells, as often as each is measured in a block.
pub fn cells() -> Vec<ComparedCase> {
    let mut cells = Vec::new();
    for (program, compared) in PROGRAMS.iter().enumerate() {
        let again = if compared.is_linked() { RELINKED } else { 0 };
        let with_effect = WEIGHTED.map(|effect| (effect, false));
        for (effect, relinked) in with_effect.into_iter().chain([(0, true)].repeat(again)) {
            cells.extend([false, true].map(|neighbour| ComparedCase {
                program,
                effect,
                neighbour,
                relinked,
            }));
        }
    }
    cells
}

/// The cells of a look at whether everything works: of the first program A/A, a copy that is linked again, and the
/// largest effect.
pub fn quick() -> Vec<ComparedCase> {
    [(0, false), (0, true), (3, false)]
        .map(|(effect, relinked)| ComparedCase { program: 0, effect, neighbour: false, relinked })
        .into()
}

/// What needs a pilot before cells are measured: a program alone, or next to a neighbour. Each once, as an index into
/// `PROGRAMS` and whether there is a neighbour.
pub fn pilots(cells: &[ComparedCase]) -> BTreeSet<(usize, bool)> {
    cells.iter().map(|cell| (cell.program, cell.neighbour)).collect()
}

/// The seed of a pilot, by its place among all pilots of all parts.
pub fn pilot_seed(seed: u64, index: usize) -> u32 {
    high_half(draws(seed, index, 4).next_u64())
}

/// The comparison with this number.
pub fn planned(cells: &[ComparedCase], seed: u64, number: usize) -> Planned {
    let mut order = cells.to_vec();
    draws(seed, number / cells.len(), 1).shuffle(&mut order);
    let mut coins = draws(seed, number, 2);
    let swapped = coins.coin();
    let mut others = Other::ALL;
    coins.shuffle(&mut others);
    Planned {
        cell: order[number % cells.len()],
        swapped,
        others,
        seed: high_half(coins.next_u64()),
        link_seed: draws(seed, number, 3).next_u64(),
    }
}

fn high_half(drawn: u64) -> u32 {
    (drawn >> 32) as u32
}

/// Independent of any other index and purpose: each step is mixed by the generator.
fn draws(seed: u64, index: usize, purpose: u64) -> Rng {
    let base = Rng::new(seed).next_u64() ^ purpose;
    Rng::new(Rng::new(base).next_u64() ^ index as u64)
}

#[cfg(test)]
mod tests {
    use super::super::programs::PROGRAMS;
    use super::{Other, cells, pilots, planned, quick};

    #[test]
    fn linked_again_are_c_programs_without_an_effect_as_often_as_all_are_compared_with_themselves()
    {
        let cells = cells();
        let relinked: Vec<_> = cells.iter().filter(|cell| cell.relinked).collect();
        assert!(relinked.iter().all(|cell| PROGRAMS[cell.program].is_linked() && cell.effect == 0));
        let nulls = cells.iter().filter(|cell| cell.effect == 0 && !cell.relinked).count();
        assert_eq!((relinked.len(), nulls), (48, 48));
        assert!(quick().iter().any(|cell| cell.relinked));
    }

    #[test]
    fn every_cell_has_a_pilot_and_every_comparison_its_own_link() {
        let cells = cells();
        let all = pilots(&cells);
        assert_eq!(all.len(), 2 * PROGRAMS.len());
        assert!(cells.iter().all(|cell| all.contains(&(cell.program, cell.neighbour))));
        assert_eq!(pilots(&quick()).into_iter().collect::<Vec<_>>(), [(0, false)]);
        let seeds: std::collections::BTreeSet<u64> =
            (0..500).map(|number| planned(&cells, 7, number).link_seed).collect();
        assert_eq!(seeds.len(), 500);
        assert_eq!(planned(&cells, 7, 3).link_seed, planned(&cells, 7, 3).link_seed);
    }

    #[test]
    fn a_block_holds_every_cell_and_another_block_another_order() {
        let cells = cells();
        let block = |from: usize| -> Vec<_> {
            (from..from + cells.len()).map(|number| planned(&cells, 7, number).cell).collect()
        };
        let first = block(0);
        let second = block(cells.len());
        assert_ne!(first, second);
        for cell in &cells {
            let times = |block: &[_]| block.iter().filter(|other| *other == cell).count();
            assert_eq!(times(&first), times(&cells));
            assert_eq!(times(&second), times(&cells));
        }
    }

    #[test]
    fn coins_are_fair_and_come_again() {
        let cells = cells();
        let all: Vec<_> = (0..2000).map(|number| planned(&cells, 7, number)).collect();
        let swapped = all.iter().filter(|planned| planned.swapped).count();
        let both = all
            .iter()
            .filter(|planned| planned.swapped && planned.others[0] == Other::Criterion)
            .count();
        assert!((900..1100).contains(&swapped) && (280..400).contains(&both), "{swapped} {both}");
        assert_eq!(all[1234], planned(&cells, 7, 1234));
        assert_ne!(all[1234].seed, planned(&cells, 8, 1234).seed);
    }
}
