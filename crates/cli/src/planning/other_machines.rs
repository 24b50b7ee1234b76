//! Points that reach other machines: where their servers are started, which of the addresses of a host are meant, and what may be
//! sent to machines of others.

use std::iter;
use std::net::{IpAddr, ToSocketAddrs};

use plumb_model::{Companion, FarEnd, Plan, PlannedPoint, Point, Role, Value};

use crate::error::{CommandError, Result};

/// These points, with the servers of those that have one on another machine.
///
/// # Errors
/// When none has a server.
pub fn with_far_end(points: Vec<PlannedPoint>, far_end: &FarEnd) -> Result<Vec<PlannedPoint>> {
    if !points.iter().any(has_server) {
        let error =
            CommandError::usage(format!("--to {far_end}: none of the workloads has a server"));
        return Err(error.hint("network.tcp and most other network workloads have one"));
    }
    Ok(points.into_iter().map(|point| server_at(point, far_end)).collect())
}

/// This companion, with its server where those of the points are.
pub fn companion_at(companion: Companion, far_end: Option<&FarEnd>) -> Companion {
    let Some(far_end) = far_end else { return companion };
    Companion { point: server_at(companion.point, far_end), ..companion }
}

/// This point, with its server on another machine, where it has one.
fn server_at(planned: PlannedPoint, far_end: &FarEnd) -> PlannedPoint {
    if has_server(&planned) && !planned.is_local { planned.to(far_end) } else { planned }
}

fn has_server(planned: &PlannedPoint) -> bool {
    planned.description.can_be(Role::Server)
}

/// Refuses a plan in which a point and what runs beside it flood a machine of somebody else.
///
/// # Errors
/// When one would; the hint names the flag by which the owner of a network allows it.
pub fn refuse_flood(plan: &Plan) -> Result<()> {
    plan.points.iter().try_for_each(|point| {
        let beside = plan.beside(Some(point)).map(|companion| &companion.point);
        let at_once: Vec<&PlannedPoint> = iter::once(point).chain(beside).collect();
        at_once.iter().try_for_each(|planned| is_within_limits(planned, &at_once))
    })
}

/// Whether what a point and others at the same time send to one machine is no flood.
fn is_within_limits(planned: &PlannedPoint, at_once: &[&PlannedPoint]) -> Result<()> {
    let Some(rule) = &planned.description.restricted else { return Ok(()) };
    let Some((host, own)) = rule.sent(&planned.point.settings) else { return Ok(()) };
    let name = planned.name();
    let bound = &rule.bound;
    let what = &rule.what;
    let most = rule.most;
    let yours = "if you own that machine and the network in between, add --i-own-this-network";
    if own.is_none_or(|much| much > most) {
        return Err(match most {
            0 => CommandError::usage(format!("{name}: this sends {what} to {host}")).hint(yours),
            most => CommandError::usage(format!(
                "{name}: this could send more than {most} {what} to {host}"
            ))
            .hint(format!("-p {bound}={most} stays within the limit; {yours}")),
        });
    }
    // Each alone keeps to the limit, but the machine gets them all. What has no bound is refused when its own turn comes.
    let amounts = at_once.iter().filter_map(|other| {
        let others = other.description.restricted.as_ref().filter(|others| others.what == *what)?;
        let (to, much) = others.sent(&other.point.settings)?;
        much.filter(|_| is_same_machine(to, host))
    });
    let together: u64 = amounts.fold(0, u64::saturating_add);
    if together <= most {
        return Ok(());
    }
    let error = CommandError::usage(format!(
        "{name} and the workloads that run with it could send {together} {what} to {host}, more than {most}"
    ));
    Err(error.hint(format!("lower `{bound}` for each; {yours}")))
}

/// Whether two names or addresses are of one machine, as far as its addresses tell.
fn is_same_machine(one: &str, other: &str) -> bool {
    // Two names may mean one machine; equal ones do, even if they can't be resolved.
    one.eq_ignore_ascii_case(other)
        || addresses(one).iter().any(|address| addresses(other).contains(address))
}

/// The addresses of a host; none where it has none: why is told where it is measured.
fn addresses(host: &str) -> Vec<IpAddr> {
    let found = (host, 0).to_socket_addrs().into_iter().flatten();
    let mut addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

/// These points, of which those that name a host with several addresses stand once for each, so that a bad one among them shows.
///
/// # Errors
/// When a point does not take its own settings.
pub fn each_address(points: Vec<PlannedPoint>) -> Result<Vec<PlannedPoint>> {
    let of_each = points.into_iter().map(|planned| match several_addresses(&planned) {
        addresses if addresses.is_empty() => Ok(vec![planned]),
        addresses => addresses.into_iter().map(|address| at(&planned, address)).collect(),
    });
    Ok(of_each.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// The addresses of the host that a point names; none where there is one at most, or one is chosen.
fn several_addresses(planned: &PlannedPoint) -> Vec<IpAddr> {
    let Some(rule) = &planned.description.restricted else { return Vec::new() };
    let settings = &planned.point.settings;
    let is_chosen = settings.get(&rule.address).and_then(Value::text) != Some("");
    let name = rule.machine(settings).filter(|_| !is_chosen);
    let addresses = name.map(addresses).unwrap_or_default();
    if addresses.len() < 2 { Vec::new() } else { addresses }
}

/// The point at one of the addresses.
fn at(planned: &PlannedPoint, address: IpAddr) -> Result<PlannedPoint> {
    let mut settings = planned.point.settings.clone();
    let parameter = planned.description.restricted.as_ref().map(|rule| rule.address.clone());
    settings.extend(parameter.map(|name| (name, Value::Text(address.to_string()))));
    let point = Point::new(&planned.description, &settings, 1)
        .map_err(|error| CommandError::usage(error.to_string()))?;
    Ok(PlannedPoint { point: point.under(&planned.point.conditions), ..planned.clone() })
}

#[cfg(test)]
mod tests {
    use plumb_model::{Description, Goal, PlannedPoint, Point, Program, Value};

    use super::{each_address, is_same_machine, refuse_flood, with_far_end};

    fn planned(host: &str) -> PlannedPoint {
        let text = |name: &str| serde_json::json!({"name": name, "type": "text", "default": "", "summary": ""});
        let description = serde_json::json!({
            "id": "a.b", "version": 1, "summary": "", "roles": ["workload", "server"], "metrics": [],
            "parameters": [text("host"), text("address")],
            "restricted":
                {"host": "host", "address": "address", "bound": "rate", "most": 8, "what": "files"},
        });
        let description: Description = serde_json::from_value(description).unwrap();
        let settings = [("host".to_owned(), Value::Text(host.into()))].into();
        let point = Point::new(&description, &settings, 1).unwrap();
        PlannedPoint::new(point, description, Program { argv: Vec::new() })
    }

    #[test]
    fn a_name_with_several_addresses_is_a_point_for_each() {
        let names = |host: &str| -> Vec<String> {
            let points = each_address(vec![planned(host)]).unwrap();
            points.iter().map(PlannedPoint::name).collect()
        };
        assert_eq!(names("192.0.2.1"), ["a.b:host=192.0.2.1"]);
        assert_eq!(names("no.such.name.invalid"), ["a.b:host=no.such.name.invalid"]);
        // Where it has both; else it has one, and stays as it is.
        assert!(names("localhost").iter().all(|name| name.starts_with("a.b:host=localhost")));
    }

    #[test]
    fn a_server_elsewhere_tells_points_apart() {
        let far_end = "ssh:web1".parse().unwrap();
        let moved = with_far_end(vec![planned("")], &far_end).unwrap();
        assert_eq!(moved[0].name(), "a.b:to=ssh:web1");
        assert_eq!(moved[0].far_end.as_ref(), Some(&far_end));
        let mut without = planned("");
        without.description.roles.clear();
        let error = with_far_end(vec![without], &far_end).unwrap_err();
        assert_eq!(error.to_string(), "--to ssh:web1: none of the workloads has a server");
    }

    #[test]
    fn a_flood_of_others_is_refused_with_the_flag_that_allows_it() {
        // At rates of these numbers, the later ones beside the first.
        let sends = |host: &str, rates: &[u64]| {
            let mut points = rates.iter().map(|rate| {
                let mut planned = planned(host);
                planned.point.settings.insert("rate".into(), Value::Integer(*rate));
                planned
            });
            let plan = serde_json::json!({
                "suite": null, "points": [points.next()], "goal": Goal::Soak, "budget_ns": null, "seed": 0, "dir": "",
                "companions": points.map(|point| serde_json::json!({"role": "load", "point": point})).collect::<Vec<_>>(),
            });
            refuse_flood(&serde_json::from_value(plan).unwrap())
        };
        assert!(sends("127.0.0.1", &[9]).is_ok());
        assert!(sends("192.0.2.1", &[8]).is_ok());
        assert!(sends("192.0.2.1", &[4, 4]).is_ok());
        let floods: [(&[u64], &str); 2] = [
            (&[9], "a.b:host=192.0.2.1: this could send more than 8 files to 192.0.2.1"),
            (
                &[4, 5],
                "a.b:host=192.0.2.1 and the workloads that run with it could send 9 files to 192.0.2.1, more than 8",
            ),
        ];
        for (flood, why) in floods {
            let error = sends("192.0.2.1", flood).unwrap_err();
            assert_eq!(error.to_string(), why);
            assert!(error.hints()[0].contains("--i-own-this-network"));
        }
        assert!(
            is_same_machine("192.0.2.1", "192.0.2.1") && is_same_machine("A.invalid", "a.invalid")
        );
        assert!(!is_same_machine("192.0.2.1", "192.0.2.2"));
        // 127.0.0.1 by two of its names.
        assert!(is_same_machine("localhost", "127.0.0.1"));
    }
}
