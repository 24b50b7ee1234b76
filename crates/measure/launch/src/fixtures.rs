//! Fixtures: those that stand, and whose a point takes.

use std::collections::BTreeMap;
use std::mem::take;

use plumb_model::{PlannedPoint, Preparation, Settings};

use crate::conversation::Conversation;
use crate::launcher::Endpoints;
use crate::media::medium_of;

/// All fixtures of a run.
#[derive(Debug, Default)]
pub struct Fixtures {
    standing: BTreeMap<String, (Conversation, Endpoints)>,
    /// Of those that are another workload's: their own keys, and those of the others.
    shared: BTreeMap<String, String>,
}

impl Fixtures {
    /// Finds the points that take the fixture of another workload; `of_all` are preparations of the whole run.
    pub fn share(&mut self, points: &[PlannedPoint], of_all: &[Preparation]) {
        let mut kept = Vec::new();
        for taker in points {
            let (Some(of), Some(names)) =
                (&taker.description.fixture_of, &taker.description.fixture)
            else {
                continue;
            };
            let medium = medium_of(taker, of_all);
            let settings = &taker.point.settings;
            let alike: Vec<&PlannedPoint> = points
                .iter()
                .filter(|owner| owner.point.workload == of.workload)
                .filter(|owner| medium_of(owner, of_all) == medium)
                .filter(|owner| agree(settings, &owner.point.settings, names.iter()))
                .collect();
            let leaves_it =
                of.settings.iter().all(|(name, wanted)| settings.get(name) == Some(wanted));
            let all_change_it = alike
                .iter()
                .all(|owner| agree(settings, &owner.point.settings, of.settings.keys()));
            // A taker that changes the files would change what the owner measures.
            if !leaves_it && !all_change_it {
                kept.extend(own_key(taker, of_all));
                continue;
            }
            let owner = alike.first().and_then(|owner| own_key(owner, of_all));
            self.shared.extend(own_key(taker, of_all).zip(owner));
        }
        // Points of one key have one fixture: if one of them would change the other's, none takes it.
        self.shared.retain(|key, _| !kept.contains(key));
    }

    /// The key of a point's fixture if it is to be laid out; None if it has none, or it stands, or another
    /// workload lays it out.
    pub fn missing(&self, planned: &PlannedPoint, of_all: &[Preparation]) -> Option<String> {
        own_key(planned, of_all)
            .filter(|key| !self.standing.contains_key(key) && !self.shared.contains_key(key))
    }

    /// One that was laid out.
    pub fn stands(&mut self, key: String, held: Conversation, endpoints: Endpoints) {
        self.standing.insert(key, (held, endpoints));
    }

    /// What the fixture of a point told.
    pub fn of(&self, planned: &PlannedPoint, of_all: &[Preparation]) -> Endpoints {
        let own = own_key(planned, of_all);
        let key = own.as_ref().map(|own| self.shared.get(own).unwrap_or(own));
        let fixture = key.and_then(|key| self.standing.get(key));
        fixture.map(|(_, endpoints)| endpoints.clone()).unwrap_or_default()
    }

    /// All that stand, to be ended.
    pub fn take(&mut self) -> BTreeMap<String, (Conversation, Endpoints)> {
        take(&mut self.standing)
    }
}

/// Whether two points have the same values of these parameters.
fn agree<'n>(
    one: &Settings,
    other: &Settings,
    mut names: impl Iterator<Item = &'n String>,
) -> bool {
    names.all(|name| one.get(name) == other.get(name))
}

/// The kind of its fixture, or the workload, the parameters that it depends on, and its medium.
fn own_key(planned: &PlannedPoint, of_all: &[Preparation]) -> Option<String> {
    let key = planned.fixture_key()?;
    match medium_of(planned, of_all) {
        Some(medium) => Some(format!("{key} on {medium}")),
        None => Some(key),
    }
}

#[cfg(test)]
mod tests {
    use plumb_model::{Description, PlannedPoint, Point, Program, Value};

    use super::Fixtures;

    fn point(description: &str, size: u64) -> PlannedPoint {
        doing("read", description, size)
    }

    fn doing(operation: &str, description: &str, size: u64) -> PlannedPoint {
        let description: Description = serde_json::from_str(description).unwrap();
        let operation = ("operation".to_owned(), Value::Text(operation.into()));
        let settings = [("size".to_owned(), Value::Integer(size)), operation].into();
        let point = Point::new(&description, &settings, 1).unwrap();
        PlannedPoint::new(point, description, Program { argv: Vec::new() })
    }

    #[test]
    fn a_fixture_is_shared_where_the_other_workload_has_the_same() {
        let size = r#"{"name": "size", "type": "bytes", "default": 1, "summary": ""}"#;
        let operation =
            r#"{"name": "operation", "type": "text", "default": "read", "summary": ""}"#;
        let rest = r#""version": 1, "summary": "", "roles": [], "metrics": []"#;
        let of = |id: &str, more: &str| {
            format!(
                r#"{{"id": "{id}", {rest}, "parameters": [{size}, {operation}], "fixture": ["size"]{more}}}"#
            )
        };
        let taker = of("classic.a", r#", "fixture_of": {"workload": "b.c"}"#);
        let only = r#", "fixture_of": {"workload": "b.c", "where": {"operation": "read"}}"#;
        let reads = of("classic.a", only);
        let owner = of("b.c", "");
        let key = |taken: &PlannedPoint, others: &[PlannedPoint]| {
            let mut fixtures = Fixtures::default();
            fixtures.share(others, &[]);
            fixtures.missing(taken, &[])
        };
        let two = point(&taker, 2);
        let own = point(&owner, 2);
        let both = [two.clone(), own.clone()];
        assert_eq!(key(&two, &both), None, "the other one lays it out");
        assert_eq!(key(&own, &both).as_deref(), Some("b.c:size=2"));
        let writing = doing("write", &reads, 2);
        let owner_writing = doing("write", &owner, 2);
        let beside = |others: &[&PlannedPoint]| {
            key(&writing, &others.iter().map(|planned| (*planned).clone()).collect::<Vec<_>>())
        };
        assert_eq!(key(&point(&reads, 2), &[point(&reads, 2), own.clone()]), None, "it leaves it");
        let mine = beside(&[&writing, &own, &owner_writing]);
        assert_eq!(mine.as_deref(), Some("classic.a:size=2"), "it would change it");
        assert_eq!(beside(&[&writing, &owner_writing]), None, "all change it");
        let mine = beside(&[&writing, &point(&reads, 2), &own]);
        assert_eq!(mine.as_deref(), Some("classic.a:size=2"), "both have one fixture");
        assert_eq!(key(&two, &[point(&owner, 3)]).as_deref(), Some("classic.a:size=2"));
        assert_eq!(key(&own, std::slice::from_ref(&two)).as_deref(), Some("b.c:size=2"));
        let kind = |id: &str| point(&of(id, r#", "fixture_kind": "file""#), 2);
        let [one, other] = ["b.c", "x.y"].map(|id| key(&kind(id), &[]));
        assert_eq!((one.as_deref(), one == other), (Some("file:size=2"), true));
    }
}
