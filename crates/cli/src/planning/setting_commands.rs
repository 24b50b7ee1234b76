//! The commands with which people make a setting, and undo it, without plumb.

use plumb_keeper::SystemSetting;
use plumb_keeper::preparation::{Assignment, Resolved, resolve};
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
        match resolve(root, preparation) {
            Ok(Resolved::Settings(assignments))
                if assignments.iter().all(|one| matches!(one.setting, SystemSetting::File(_))) =>
            {
                Self::of_files(root, &assignments)
            }
            _ => Self::of_process(preparation),
        }
    }

    /// The commands for what no file of the kernel holds: it is set for one command.
    fn of_process(preparation: &Preparation) -> Self {
        let value = &preparation.value;
        let set = match (preparation.knob.as_str(), value.as_str()) {
            ("nice", _) => format!("nice -n {value} COMMAND"),
            ("sched", "other" | "batch" | "idle") => format!("chrt --{value} 0 COMMAND"),
            _ => format!("plumb exec --set {} COMMAND", quoted(&preparation.name())),
        };
        Self { set, undo: String::new(), now: String::new(), is_set: false }
    }

    fn of_files(root: &Root, assignments: &[Assignment]) -> Self {
        let mut set = Vec::new();
        let mut undo = Vec::new();
        let mut now: Vec<String> = Vec::new();
        let mut is_set = true;
        for assignment in assignments {
            let path = assignment.setting.to_string();
            let text = assignment.setting.read(root).unwrap_or_default();
            let before = text.split_whitespace().collect::<Vec<_>>().join(" ");
            is_set &= SystemSetting::same(&before, &assignment.to);
            // What all CPUs get is one command.
            let of_all = write_command(&assignment.to, &of_all_cpus(&path));
            if !set.contains(&of_all) {
                set.push(of_all);
            }
            undo.push((path, before.clone()));
            if !now.contains(&before) {
                now.push(before);
            }
        }
        let mut undone: Vec<String> = Vec::new();
        for (path, before) in undo {
            let path = if now.len() == 1 { of_all_cpus(&path) } else { path };
            let command = write_command(&before, &path);
            if !undone.contains(&command) {
                undone.push(command);
            }
        }
        Self { set: set.join("; "), undo: undone.join("; "), now: now.join(", "), is_set }
    }
}

fn write_command(value: &str, path: &str) -> String {
    format!("echo {} | tee {path}", quoted(value))
}

fn needs_no_quotes(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_=./:%,+@".contains(&byte)
}

/// A word for the shell.
fn quoted(word: &str) -> String {
    if !word.is_empty() && word.bytes().all(needs_no_quotes) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
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
        // CPUs that differ are undone one by one.
        let second = "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor";
        fs::write(root.path(second), "schedutil\n").unwrap();
        let undo = SettingCommands::of(&root, &parse("governor=performance").unwrap()).undo;
        assert!(undo.ends_with(&format!("; echo schedutil | tee {second}")), "{undo}");
        let variable = SettingCommands::of(&root, &parse("set-env.X=a b").unwrap());
        assert_eq!(variable.set, "plumb exec --set 'set-env.X=a b' COMMAND");
        let nice = SettingCommands::of(&root, &parse("nice=-10").unwrap());
        assert_eq!((nice.set.as_str(), nice.undo.as_str()), ("nice -n -10 COMMAND", ""));
    }
}
