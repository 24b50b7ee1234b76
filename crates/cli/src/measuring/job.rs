//! What is to be done with a plan.

use std::path::Path;

use plumb_model::{Host, Plan, RunRecord};

use crate::measuring::fail_on::FailPolicy;
use crate::measuring::target::Place;

/// What is to be done with a plan.
pub struct Job<'j> {
    /// The plan; its directory is set here.
    pub plan: Plan,
    /// The record of the interrupted run that is to be completed.
    pub before: Option<RunRecord>,
    /// Where files go.
    pub place: Place<'j>,
    /// The name of this host, where one is given.
    pub host: Option<Host>,
    /// The store.
    pub store: Option<&'j Path>,
    /// Whether to wait for other plumbs.
    pub lock: bool,
    /// Whether a point that the user named must be supported.
    pub explicit: bool,
    /// Whether programs that are compared are copied side by side first.
    pub copy: bool,
    /// What verdicts mean for the exit code.
    pub fail_on: FailPolicy,
    /// The only point beside which monitors read; None: all.
    pub watched: Option<usize>,
    /// Whether a page shows it while it goes on.
    pub live: bool,
    /// Whether the whole scorecard is shown, and not only what fits one screen.
    pub full: bool,
}

impl<'j> Job<'j> {
    /// A new run of what the user named.
    pub fn new(plan: Plan, place: Place<'j>, store: Option<&'j Path>) -> Self {
        Self {
            plan,
            before: None,
            place,
            host: None,
            store,
            lock: true,
            explicit: true,
            copy: false,
            fail_on: FailPolicy::default(),
            watched: None,
            live: false,
            full: true,
        }
    }
}
