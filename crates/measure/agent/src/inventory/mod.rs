//! Machines from an Ansible inventory: INI and YAML files, and the JSON that `ansible-inventory --list` prints.
//!
//! Format: <https://docs.ansible.com/ansible/latest/inventory_guide/intro_inventory.html>. Only the variables that say how to connect
//! are used; all others are ignored.

mod ini;
mod json;
mod machines;
mod ranges;
mod yaml;

pub use machines::{Inventory, InventoryError};
pub use yaml::read_yaml_inventory;

/// Reads an inventory.
///
/// # Errors
/// When the text is not INI, YAML or JSON of this form; the error has the line.
pub fn read_inventory(text: &str) -> Result<Inventory, InventoryError> {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(['#', ';']));
    match first.unwrap_or_default() {
        first if first.starts_with('{') => json::parse(text),
        first if is_yaml(first) => read_yaml_inventory(text),
        _ => ini::parse(text),
    }
}

/// Whether only YAML begins with this line: a document's start, or a key with nothing but a comment after it.
fn is_yaml(line: &str) -> bool {
    let before_comment = line.split(" #").next().unwrap_or(line).trim_end();
    before_comment == "---" || (before_comment.ends_with(':') && !line.starts_with('['))
}

#[cfg(test)]
mod tests {
    use super::{Inventory, InventoryError, read_inventory};

    const INI: &str = "\
# Machines of the shop
mail ansible_host=192.0.2.9

[web]
web[01:03] ansible_port=2222
root@last-one   ; not a name for ssh

[db]
db-[a:b] ansible_user=postgres

[db:vars]
ansible_user = nobody
ansible_ssh_private_key_file=/keys/db

[shop:children]
web
db

[all:vars]
ansible_user=deploy
";

    fn shown(inventory: &Inventory, group: Option<&str>) -> Result<Vec<String>, InventoryError> {
        let machines = inventory.machines(group)?;
        let line = |machine: &crate::MachineAddress| format!("{} {machine}", machine.name());
        Ok(machines.iter().map(line).collect())
    }

    #[test]
    fn hosts_have_the_variables_of_their_groups_and_their_own() {
        let inventory = read_inventory(&INI.replace("root@last-one", "last")).unwrap();
        let web = ["web01 deploy@web01:2222", "web02 deploy@web02:2222", "web03 deploy@web03:2222"];
        assert_eq!(shown(&inventory, Some("web")).unwrap()[..3], web);
        let db = ["db-a postgres@db-a", "db-b postgres@db-b"];
        assert_eq!(shown(&inventory, Some("db")).unwrap(), db);
        let all = shown(&inventory, None).unwrap();
        assert_eq!(all[0], "mail deploy@192.0.2.9");
        assert_eq!(all.len(), 7);
        assert_eq!(shown(&inventory, Some("shop")).unwrap(), all[1..]);
        assert_eq!(shown(&inventory, Some("ungrouped")).unwrap(), all[..1]);
        let error = shown(&inventory, Some("shops")).unwrap_err();
        assert_eq!(error.to_string(), "no group shops; groups: all, db, shop, web");
    }

    #[test]
    fn what_ssh_cannot_reach_is_refused_with_the_host() {
        let inventory = read_inventory(INI).unwrap();
        let error = shown(&inventory, None).unwrap_err().to_string();
        assert!(error.starts_with("root@last-one: "), "{error}");
        for (variable, why) in [
            ("ansible_connection=docker", "web: ansible_connection=docker is not ssh or local"),
            ("ansible_password=x", "web: ansible_password is not used; ssh needs a key"),
            (
                "ansible_ssh_common_args=-Jx",
                "web: ansible_ssh_common_args is not used; put the options",
            ),
            ("ansible_port=many", "web: "),
            ("ansible_host=-oProxyCommand=x", "web: "),
        ] {
            let inventory = read_inventory(&format!("web {variable}\n")).unwrap();
            let error = shown(&inventory, None).unwrap_err().to_string();
            assert!(error.starts_with(why), "{error}");
        }
        let local = read_inventory("here ansible_connection=local\n").unwrap();
        assert_eq!(shown(&local, None).unwrap(), ["here local"]);
    }

    #[test]
    fn the_price_of_a_machine_is_a_label_of_its_runs() {
        let ini = "[web]\na\nb price='19.95 EUR'\nc price='{{ x }}'\n[web:vars]\nprice=9.95\n";
        let yaml = "web:\n  hosts:\n    a:\n    b: {price: 19.95 EUR}\n    c: {price: '{{ x }}'}\n  vars: {price: 9.95}\n";
        let json = r#"{"_meta": {"hostvars": {"b": {"price": "19.95 EUR"}, "c": {"price": "{{ x }}"}}},
            "web": {"hosts": ["a", "b", "c"], "vars": {"price": 9.95}}}"#;
        for text in [ini, yaml, json] {
            let machines = read_inventory(text).unwrap().machines(None).unwrap();
            let prices: Vec<Option<&str>> = machines
                .iter()
                .map(|machine| machine.labels().get("price").map(String::as_str))
                .collect();
            assert_eq!(prices, [Some("9.95"), Some("19.95 EUR"), None], "{text}");
        }
    }

    #[test]
    fn the_json_of_ansible_reads_as_the_same_machines() {
        let json = r#"{
            "_meta": {"hostvars": {"web1": {"ansible_host": "192.0.2.1", "ansible_port": 2222, "facts": {"a": [1]}}}},
            "all": {"children": ["ungrouped", "web"]},
            "web": {"hosts": ["web1", "web2"], "vars": {"ansible_user": "root"}},
            "ungrouped": {"hosts": ["mail"]}
        }"#;
        let inventory = read_inventory(json).unwrap();
        assert_eq!(
            shown(&inventory, Some("web")).unwrap(),
            ["web1 root@192.0.2.1:2222", "web2 root@web2"]
        );
        assert_eq!(shown(&inventory, None).unwrap().len(), 3);
        for wrong in ["{", "{\"web\": 3}", "{\"web\": {\"hosts\": [3]}}"] {
            assert!(read_inventory(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn yaml_reads_as_the_same_machines() {
        let yaml = r#"---
# Machines of the shop
all:
  hosts:
    mail:
      ansible_host: 192.0.2.9
  vars: {ansible_user: deploy}
  children:
    shop:
      children:
        web:
          hosts:
            web[01:03]:
              ansible_port: 2222
            last:
        db: # two of them
          hosts:
            "db-[a:b]": {ansible_user: postgres, other: [1, {two: 3}]}
          vars:
            ansible_user: nobody
            ansible_ssh_private_key_file: /keys/db
"#;
        let of_yaml = read_inventory(yaml).unwrap();
        let of_ini = read_inventory(&INI.replace("root@last-one", "last")).unwrap();
        for group in [None, Some("web"), Some("db"), Some("shop"), Some("ungrouped")] {
            assert_eq!(shown(&of_yaml, group), shown(&of_ini, group), "{group:?}");
        }
        let one = read_inventory("web:\n  hosts: first\n").unwrap();
        assert_eq!(shown(&one, None).unwrap(), ["first first"]);
        let template =
            read_inventory("web:\n  hosts:\n    a: {ansible_host: '{{ x }}'}\n").unwrap();
        assert!(shown(&template, None).unwrap_err().to_string().contains("a template"));
        let deep = format!("a: {}{}", "[".repeat(9_999), "]".repeat(9_999));
        assert!(read_inventory(&format!("---\n{deep}\n")).is_err());
    }

    #[test]
    fn mistakes_are_refused_with_their_line() {
        for (text, line, why) in [
            ("[web\n", 1, "`]` is missing"),
            ("a\n[web:kids]\n", 2, "children or vars"),
            ("[web:vars]\nnothing\n", 2, "NAME=VALUE"),
            ("\nweb key\n", 2, "NAME=VALUE"),
            ("web key=\"open\n", 1, "quotation"),
            ("web[1:x]\n", 1, "range"),
            ("web[9:1]\n", 1, "range"),
            ("web[0:99999999]\n", 1, "more than"),
            ("all:\n  hosts:\n    - web1\n", 3, "`hosts` of all is not a mapping"),
            ("---\nweb:\n  host:\n    web1:\n", 3, "must be hosts, children or vars"),
            ("web:\n  hosts:\n    web[1:x]:\n", 3, "range"),
            ("web:\n  hosts:\n  a: [\n", 4, "not YAML"),
            ("web:\n  vars: &v\n    a: b\ndb:\n  vars: *v\n", 5, "aliases"),
            ("web:\nweb:\n", 2, "twice"),
            ("---\na:\n---\nb:\n", 3, "several"),
        ] {
            let error = read_inventory(text).unwrap_err();
            assert_eq!(error.line, Some(line), "{error}");
            assert!(error.message.contains(why), "{error}");
        }
        let error = read_inventory("").unwrap().machines(None).unwrap_err();
        assert_eq!(error.to_string(), "there are no machines");
    }

    #[test]
    fn groups_below_themselves_end() {
        let text = "[a:children]\nb\n[b:children]\na\n[b]\nhost\n[a:vars]\nansible_user=x\n";
        let inventory = read_inventory(text).unwrap();
        assert_eq!(shown(&inventory, Some("a")).unwrap(), ["host x@host"]);
    }
}
