//! The commands with which people make a setting, and undo it, without plumb.

use plumb_keeper::preparation::{Resolved, resolve};
use plumb_machine::Root;
use plumb_model::Preparation;

/// How people make a setting without plumb.
pub struct SettingCommands {
    /// The command that sets it.
    pub set: String,
    /// The command that undoes this; empty if nothing is left to undo.
    pub undo: String,
    /// What it is now; empty if that cannot be read.
    pub now: String,
    /// Whether it is set already.
    pub is_set: bool,
}

impl SettingCommands {
    /// The commands for a knob with its value on this machine.
    pub fn of(root: &Root, preparation: &Preparation) -> Self {
        let Ok(Resolved::Settings(assignments)) = resolve(root, preparation) else {
            let set = match preparation.knob.as_str() {
                "nice" => format!("nice -n {} COMMAND", preparation.value),
                "sched" => format!("chrt --{} 0 COMMAND", preparation.value),
                _ => format!("plumb exec --set {} COMMAND", preparation.name()),
            };
            return Self { set, undo: String::new(), now: String::new(), is_set: false };
        };
        let mut set = Vec::new();
        let mut undo = Vec::new();
        let mut now = Vec::new();
        let mut is_set = true;
        for assignment in &assignments {
            // The files of all CPUs are one command.
            let path = of_all_cpus(&assignment.setting.to_string());
            let before = assignment.setting.read(root).unwrap_or_default().trim().to_owned();
            is_set &= before == assignment.to;
            for (commands, value) in [(&mut set, &assignment.to), (&mut undo, &before)] {
                let command = format!("echo {value} | tee {path}");
                if !commands.contains(&command) {
                    commands.push(command);
                }
            }
            if !now.contains(&before) {
                now.push(before);
            }
        }
        Self { set: set.join("; "), undo: undo.join("; "), now: now.join(", "), is_set }
    }
}

/// The path with `cpu*` in place of the number of a CPU.
fn of_all_cpus(path: &str) -> String {
    let parts = path.split('/').map(|part| match part.strip_prefix("cpu") {
        Some(number) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            "cpu*"
        }
        _ => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use plumb_keeper::preparation::parse;
    use plumb_machine::Root;

    use super::SettingCommands;

    #[test]
    fn a_setting_has_commands_that_set_and_undo_it() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        for cpu in ["cpu0", "cpu1"] {
            let folder = root.path(&format!("/sys/devices/system/cpu/{cpu}/cpufreq"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("scaling_governor"), "powersave\n").unwrap();
            fs::write(folder.join("scaling_available_governors"), "performance powersave\n")
                .unwrap();
        }
        let commands = SettingCommands::of(&root, &parse("governor=performance").unwrap());
        let path = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
        assert_eq!(commands.set, format!("echo performance | tee {path}"));
        assert_eq!(commands.undo, format!("echo powersave | tee {path}"));
        assert_eq!((commands.now.as_str(), commands.is_set), ("powersave", false));
        assert!(SettingCommands::of(&root, &parse("governor=powersave").unwrap()).is_set);
        let nice = SettingCommands::of(&root, &parse("nice=-10").unwrap());
        assert_eq!((nice.set.as_str(), nice.undo.as_str()), ("nice -n -10 COMMAND", ""));
    }
}
