//! Users of this machine.

use std::fs;

/// The numbers of a user and their group, by name or number; none if /etc/passwd has no such user.
#[must_use]
pub fn ids(user: &str) -> Option<(u32, u32)> {
    find(&fs::read_to_string("/etc/passwd").ok()?, user)
}

fn find(passwd: &str, user: &str) -> Option<(u32, u32)> {
    passwd.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, uid, gid, ..] = fields[..] else { return None };
        if name != user && uid != user {
            return None;
        }
        Some((uid.parse().ok()?, gid.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn users_are_found_by_name_and_number() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nbroken\ndaemon:x:1:2:daemon:/:/bin/false\n";
        assert_eq!(find(passwd, "root"), Some((0, 0)));
        assert_eq!(find(passwd, "1"), Some((1, 2)));
        assert_eq!(find(passwd, "nobody"), None);
    }
}
