//! Ranges in the names of hosts: `web[01:20]`, `db-[a:f]`, `n[1:9:2]`.

/// More hosts than this in one range are a mistake.
const MOST: u64 = 100_000;

/// The names that a pattern stands for; both ends belong to a range.
///
/// # Errors
/// When a range is not one, or it is too long.
pub(super) fn expanded(pattern: &str) -> Result<Vec<String>, String> {
    let mut names = vec![String::new()];
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('[') {
        // Brackets without a colon are not a range: a pattern of that form is refused by ssh later.
        let (range, after) = after
            .split_once(']')
            .ok_or_else(|| format!("`{pattern}`: `]` of a range is missing"))?;
        let values = values(range).ok_or_else(|| {
            format!("`{pattern}`: `[{range}]` is not a range; use [1:9], [01:20], [a:f] or [1:9:2]")
        })?;
        if (names.len() as u64).saturating_mul(values.len() as u64) > MOST {
            return Err(format!("`{pattern}` stands for more than {MOST} hosts"));
        }
        names = names
            .iter()
            .flat_map(|name| values.iter().map(move |value| format!("{name}{before}{value}")))
            .collect();
        rest = after;
    }
    names.iter_mut().for_each(|name| name.push_str(rest));
    Ok(names)
}

/// The values of a range.
fn values(range: &str) -> Option<Vec<String>> {
    let mut parts = range.split(':');
    let first = parts.next()?;
    let last = parts.next()?;
    let step: u64 = parts.next().map_or(Some(1), |step| step.parse().ok())?;
    if parts.next().is_some() || step == 0 {
        return None;
    }
    let step_size = usize::try_from(step).ok()?;
    if let (Ok(low), Ok(high)) = (first.parse::<u64>(), last.parse::<u64>()) {
        if low > high {
            return None;
        }
        // As many digits as the first value has, if that has leading zeros.
        let digits = if first.starts_with('0') { first.len() } else { 0 };
        // One more than may be is enough to be refused.
        let values = (low..=high).step_by(step_size).take(usize::try_from(MOST).ok()? + 1);
        return Some(values.map(|value| format!("{value:0digits$}")).collect());
    }
    let letter = |text: &str| {
        let mut letters = text.chars();
        letters.next().filter(|c| c.is_ascii_alphabetic() && letters.next().is_none())
    };
    let low = letter(first)?;
    let high = letter(last)?;
    (low <= high).then(|| (low..=high).step_by(step_size).map(String::from).collect())
}

#[cfg(test)]
mod tests {
    use super::expanded;

    #[test]
    fn ranges_are_those_of_ansible() {
        for (pattern, names) in [
            ("web", "web"),
            ("web[1:3]", "web1 web2 web3"),
            ("web[08:10].x", "web08.x web09.x web10.x"),
            ("n[1:6:2]", "n1 n3 n5"),
            ("[a:b]-[1:2]", "a-1 a-2 b-1 b-2"),
        ] {
            assert_eq!(expanded(pattern).unwrap().join(" "), names);
        }
        for wrong in ["w[1:2", "w[1]", "w[3:1]", "w[a:1]", "w[1:2:0]", "w[1:2:3:4]", "w[ab:c]"] {
            assert!(expanded(wrong).is_err(), "{wrong}");
        }
        assert!(expanded("w[0:18446744073709551615]").unwrap_err().contains("more than"));
    }
}
