//! A plug-in started at its defaults in every role that it has.

use plumb_launch::{KeeperLauncher, LaunchRefusal, StartSpec};
use plumb_model::{Description, PlannedPoint, Point, Program, Role, SearchEffort, Settings, Value};

use crate::check::checklist::{CheckOutcome, Checklist};
use crate::check::{roles, workload};

/// The points at which a plug-in is tried.
#[derive(Debug)]
pub struct TryOut {
    usual: PlannedPoint,
    searched: Option<PlannedPoint>,
}

impl TryOut {
    /// Seed of the check: any will do.
    pub const SEED: u64 = 1;

    /// The points of this plug-in; None if it has none, which the list then says.
    pub fn of(
        description: &Description,
        program: &Program,
        all_threads: u64,
        list: &mut Checklist<'_>,
    ) -> Option<Self> {
        let Ok(point) = Point::new(description, &Settings::new(), all_threads) else {
            list.add("start", CheckOutcome::Skipped, "its defaults do not form a valid point");
            return None;
        };
        let usual = planned(point, description, program.clone());
        let searched = searched(description, all_threads)
            .map(|point| planned(point, description, program.clone()));
        Some(Self { usual, searched })
    }

    /// Starts it in every role that it has.
    ///
    /// # Errors
    /// Only signals, and plumb's own trouble.
    pub fn run(
        self,
        launcher: &mut KeeperLauncher,
        list: &mut Checklist<'_>,
    ) -> Result<(), LaunchRefusal> {
        let Self { usual: planned, searched } = &self;
        let spec = |role| StartSpec { planned, role, seed: Self::SEED };
        let has_fixture = planned.description.fixture.is_some();
        if has_fixture && !roles::fixture(launcher, spec(Role::Workload), list)? {
            return Ok(());
        }
        let description = &planned.description;
        if description.can_be(Role::Workload) {
            // If the default is to search, or nothing else is measured, once is enough.
            let is_usual = description.searched().is_none()
                && (!description.metrics.is_empty() || searched.is_none());
            for planned in is_usual.then_some(planned).into_iter().chain(searched) {
                let spec = StartSpec { planned, role: Role::Workload, seed: Self::SEED };
                workload::check(launcher, spec, list)?;
            }
        }
        for role in [Role::Load, Role::Monitor] {
            if description.can_be(role) {
                roles::stream(launcher, spec(role), list)?;
            }
        }
        if description.can_be(Role::Preparation) {
            roles::preparation(launcher, spec(Role::Preparation), list)?;
        }
        if has_fixture || description.can_be(Role::Server) {
            roles::clean(launcher, list)
        } else {
            Ok(())
        }
    }
}

/// The point at which its limit is searched, if it has one.
fn searched(description: &Description, all_threads: u64) -> Option<Point> {
    let parameter = description.parameters.iter().find(|parameter| parameter.search.is_some())?;
    let word = Value::Text(SearchEffort::Quick.word().to_owned());
    Point::new(description, &[(parameter.name.clone(), word)].into(), all_threads).ok()
}

fn planned(point: Point, description: &Description, program: Program) -> PlannedPoint {
    let description = description.at(&point.settings);
    PlannedPoint::new(point, description, program)
}
