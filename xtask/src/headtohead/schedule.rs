//! What is compared when: blocks that hold every cell, each in its own random order.
//!
//! The seed and the number of a comparison settle everything, so that a later part goes on as if nothing
//! had stopped, and a head-to-head that ends anywhere has measured all cells about equally often.

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
}

/// Indices into `EFFECTS`, as often as each is measured: A/A thrice, since false alarms are rare, 1 % once, 2 and 5 %
/// twice.
const WEIGHTED: [usize; 8] = [0, 0, 0, 1, 2, 2, 3, 3];

/// All cells, as often as each is measured in a block.
pub fn cells() -> Vec<ComparedCase> {
    let mut cells = Vec::new();
    for program in 0..PROGRAMS.len() {
        for effect in WEIGHTED {
            cells.extend([false, true].map(|neighbour| ComparedCase {
                program,
                effect,
                neighbour,
            }));
        }
    }
    cells
}

/// The cells of a look at whether everything works: the first program, A/A and the largest effect.
pub fn quick() -> Vec<ComparedCase> {
    [0, 3].map(|effect| ComparedCase { program: 0, effect, neighbour: false }).into()
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
        seed: (coins.next_u64() >> 32) as u32,
    }
}

/// Independent of any other index and purpose: each step is mixed by the generator.
fn draws(seed: u64, index: usize, purpose: u64) -> Rng {
    let base = Rng::new(seed).next_u64() ^ purpose;
    Rng::new(Rng::new(base).next_u64() ^ index as u64)
}

#[cfg(test)]
mod tests {
    use super::{Other, cells, planned};

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
