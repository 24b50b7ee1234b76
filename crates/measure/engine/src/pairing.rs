//! What both sides of a comparison share, so that nothing but the sides themselves differs.

use plumb_model::{Goal, Role, SampleIs};
use plumb_stats::batch::shared_iterations;
use plumb_stats::rng::Rng;

use crate::launch::{Launcher, Order, Refusal};
use crate::run::{EngineError, Runner};
use crate::sampling;

impl Runner<'_> {
    fn seeks_a_verdict(&self) -> bool {
        matches!(self.plan.goal, Goal::Verdict { .. })
    }

    /// The seed of the next invocation. Both sides of a pair get the same, for the same data; a process
    /// gets one of its own, since all it does with it is to draw the layout of its memory.
    pub(crate) fn next_seed(&mut self, point: usize) -> u64 {
        self.invocations += 1;
        let its_own = self.plan.points[point].description.sample_is == SampleIs::Process;
        let shared = self.seeks_a_verdict() && !its_own;
        let seed = if shared { self.pair_rng().next_u64() } else { self.rng.next_u64() };
        // The store keeps seeds as signed 64-bit integers.
        seed >> 1
    }

    /// The iterations of an invocation's samples: the same draws for both sides of a pair.
    pub(crate) fn draw_iterations(&mut self, take: sampling::Take, k: u64) -> Vec<u64> {
        if self.seeks_a_verdict() {
            return take.iterations(k, &mut self.pair_rng());
        }
        take.iterations(k, &mut self.rng)
    }

    /// The random numbers that all sides of this round share.
    fn pair_rng(&self) -> Rng {
        Rng::new(self.plan.seed.wrapping_add(u64::from(self.round) << 32))
    }

    /// Gives all sides the same number of iterations a sample (docs/method.md, *Samples*): a fixed cost that one side
    /// spreads over more of them would look like a difference. Different workloads share nothing.
    pub(crate) fn share_iterations(
        &mut self,
        launcher: &mut dyn Launcher,
    ) -> Result<(), EngineError> {
        let points = &self.plan.points;
        let alike = points.iter().all(|it| it.point.workload == points[0].point.workload);
        if !self.seeks_a_verdict() || !alike {
            return Ok(());
        }
        let mut target_ns = 0;
        for point in 0..self.plan.points.len() {
            target_ns = target_ns.max(self.calibrate_alone(launcher, point)?);
        }
        let known = |point: &crate::PointHistory| Some((point.sample_ns?, point.iterations?));
        let sides: Vec<_> = self.history.points.iter().filter_map(known).collect();
        let shared = shared_iterations(&sides, target_ns);
        for point in &mut self.history.points {
            if let (Some(sample_ns), Some(iterations)) = (point.sample_ns, point.iterations) {
                point.sample_ns = Some((sample_ns / iterations.max(1)).max(1) * shared);
                point.iterations = Some(shared);
            }
        }
        Ok(())
    }

    /// Starts a process only to calibrate, unless that was done; the wanted length of a sample.
    fn calibrate_alone(
        &mut self,
        launcher: &mut dyn Launcher,
        point: usize,
    ) -> Result<u64, EngineError> {
        let planned = &self.plan.points[point];
        let done = self.history.points[point].iterations.is_some();
        let processes = planned.description.sample_is == SampleIs::Process;
        if processes || self.history.points[point].stopped.is_some() {
            return Ok(0);
        }
        let seed = self.next_seed(point);
        let started = launcher.start(Order { planned, role: Role::Workload, seed });
        let calibrated = started.and_then(|(mut session, ready)| {
            let clock = ready.clock.as_ref();
            let target_ns = sampling::target_ns(planned, clock);
            if !done {
                self.calibrated(session.as_mut(), point, clock)?;
            }
            session.stop().map(|_| target_ns)
        });
        match calibrated {
            Ok(target_ns) => Ok(target_ns),
            Err(Refusal::Interrupted) => Ok(0),
            // It will fail again in the first round, where its reason is kept.
            Err(Refusal::Failed(_)) => Ok(0),
            Err(refusal) => self.refuse(point, refusal).map(|()| 0),
        }
    }
}
