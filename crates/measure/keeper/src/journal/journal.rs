//! The journal of one keeper, and the restoring of those that no keeper has.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use plumb_machine::{Root, boot_id, owner};
use rustix::fs::{FlockOperation, flock};
use serde::Serialize;

use crate::journal::file::{
    Became, Intent, JournalContent, JournalEntry, JournalHeader, Released, SUFFIX, journals, line,
    lock, read,
};
use crate::journal::settled::{ChangeMade, Settled, settle};
use crate::plugin::PluginPreparation;
use crate::private::{NotPrivate, check_private};
use crate::setting::{OFF, ON, SystemSetting, refused};
use crate::unchanged::Unchanged;

/// The journal of one keeper. Nothing is on disk before the first change and after the last undo.
#[derive(Debug)]
pub struct Journal {
    root: Root,
    folder: PathBuf,
    plumb: u32,
    open: Option<Open>,
    entries: Vec<JournalEntry>,
    /// Held open for as long as limits on wake-ups hold.
    latency: Vec<File>,
}

#[derive(Debug)]
struct Open {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// The journal of this process in `folder`, for changes below `root`; `plumb` is whose they are.
    #[must_use]
    pub fn new(root: Root, folder: PathBuf, plumb: u32) -> Self {
        Self { root, folder, plumb, open: None, entries: Vec::new(), latency: Vec::new() }
    }

    /// A journal whose keeper is gone, to be restored.
    fn left_behind(
        root: Root,
        plumb: u32,
        file: File,
        path: PathBuf,
        entries: Vec<JournalEntry>,
    ) -> Self {
        let open = Some(Open { file, path });
        Self { root, folder: PathBuf::new(), plumb, open, entries, latency: Vec::new() }
    }

    /// Changes that are not undone.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether all is as it was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Writes down what is, and changes it.
    ///
    /// # Errors
    /// Why it is as it was.
    pub fn change(&mut self, setting: &SystemSetting, to: &str) -> Result<ChangeMade, Unchanged> {
        if *setting == SystemSetting::Latency {
            return self.hold_latency(to);
        }
        let _lock = lock(&self.folder).map_err(|error| unwritable(&self.folder, &error))?;
        // First what a killed keeper left: its value would otherwise be taken for the machine's own.
        recover_locked(&self.root, &self.folder);
        self.refuse_held(setting)?;
        let was = setting.read(&self.root).map_err(|error| refused(setting, None, &error))?;
        // No entry: its undo could only revert what somebody else sets meanwhile.
        if SystemSetting::same(&was, to) {
            return Ok(ChangeMade { setting: setting.clone(), became: was.clone(), was });
        }
        // The intent is written before the change: if the keeper is killed in between, the journal says what to restore.
        let intent = Intent { setting: setting.clone(), was: was.clone(), to: to.to_owned() };
        let offset = self.append(&intent).map_err(|error| unwritable(&self.folder, &error))?;
        if let Err(error) = setting.write(&self.root, to) {
            self.cut(offset).map_err(|error| unwritable(&self.folder, &error))?;
            return Err(refused(setting, Some(to), &error));
        }
        let became = setting.read(&self.root).unwrap_or_else(|_| to.to_owned());
        // A change without this line is undone all the same.
        let _ = self.write(&Became { became: became.clone() });
        self.entries.push(JournalEntry { intent, became: Some(became.clone()), offset });
        Ok(ChangeMade { setting: setting.clone(), was, became })
    }

    /// Writes down how a plug-in's preparation is undone, before it is made.
    ///
    /// # Errors
    /// Why that can't be written down.
    pub fn hold(&mut self, preparation: PluginPreparation) -> Result<(), Unchanged> {
        let _lock = lock(&self.folder).map_err(|error| unwritable(&self.folder, &error))?;
        let setting = SystemSetting::Plugin(preparation);
        let intent = Intent { setting, was: OFF.into(), to: ON.into() };
        let offset = self.append(&intent).map_err(|error| unwritable(&self.folder, &error))?;
        self.entries.push(JournalEntry { intent, became: None, offset });
        Ok(())
    }

    /// A plug-in has undone by itself what it prepared.
    pub fn release(&mut self, name: &str) {
        let is_it = |entry: &JournalEntry| matches!(&entry.intent.setting, SystemSetting::Plugin(it) if it.name == name);
        let Some(at) = self.entries.iter().rposition(is_it) else { return };
        let entry = self.entries.remove(at);
        // What is undone once more where this can't be written is undone all the same.
        let _ = match at == self.entries.len() {
            true => self.cut(entry.offset),
            false => self.write(&Released { released: entry.offset }).map(|_| ()),
        };
        if self.entries.is_empty() {
            self.remove();
        }
    }

    /// Undoes the latest changes until `left` are left.
    pub fn restore(&mut self, left: usize) -> Vec<Settled> {
        let mut kept = Vec::new();
        let mut settled = Vec::new();
        while self.entries.len() > left
            && let Some(entry) = self.entries.pop()
        {
            let outcome = match entry.intent.setting {
                // The limit ends with its file descriptor.
                SystemSetting::Latency => self.latency.pop().and(None),
                _ => settle(&self.root, &entry),
            };
            let failed = matches!(outcome, Some(Settled::Failed { .. }));
            settled.extend(outcome);
            match failed {
                true => kept.push(entry),
                // Only the end can be cut off; what is settled twice is settled all the same.
                false if kept.is_empty() => _ = self.cut(entry.offset),
                false => {}
            }
        }
        kept.reverse();
        self.entries.extend(kept);
        if self.entries.is_empty() {
            self.remove();
        }
        settled
    }

    fn hold_latency(&mut self, to: &str) -> Result<ChangeMade, Unchanged> {
        let setting = SystemSetting::Latency;
        let limit: i32 =
            to.parse().map_err(|_| Unchanged::new(format!("{to} is not a latency")))?;
        let file = OpenOptions::new().write(true).open(self.root.path(&setting.to_string()));
        // The kernel takes a binary s32 of exactly 4 bytes; it would parse a text as hexadecimal.
        let held = file.and_then(|mut file| file.write_all(&limit.to_ne_bytes()).map(|()| file));
        self.latency.push(held.map_err(|error| refused(&setting, Some(to), &error))?);
        let change =
            ChangeMade { setting: setting.clone(), was: String::new(), became: to.to_owned() };
        let intent = Intent { setting, was: String::new(), to: to.to_owned() };
        // It stands in no file, so that nothing is to be cut off.
        let offset = self.open.as_ref().and_then(|open| Some(open.file.metadata().ok()?.len()));
        self.entries.push(JournalEntry { intent, became: None, offset: offset.unwrap_or(0) });
        Ok(change)
    }

    fn refuse_held(&self, setting: &SystemSetting) -> Result<(), Unchanged> {
        let own = self.open.as_ref().map(|open| open.path.as_path());
        let mut others = journals(&self.folder).into_iter().filter(|path| Some(&**path) != own);
        let holder = others.find_map(|path| {
            let read = read(&mut File::open(path).ok()?)?;
            let holds = read.entries.iter().any(|entry| entry.intent.setting == *setting);
            holds.then_some(read.header.plumb)
        });
        match holder {
            None => Ok(()),
            Some(plumb) => Err(Unchanged {
                why: format!("{setting} is changed by another plumb (pid {plumb})"),
                fix: "run without --no-lock to wait for it".into(),
            }),
        }
    }

    /// Appends a line and syncs it; where it begins.
    fn append(&mut self, intent: &Intent) -> io::Result<u64> {
        if self.open.is_none() {
            self.open = Some(self.begin()?);
        }
        let offset = self.write(intent)?;
        match &self.open {
            Some(open) => open.file.sync_all().map(|()| offset),
            None => Ok(offset),
        }
    }

    /// A journal is locked before others can see it.
    fn begin(&self) -> io::Result<Open> {
        let keeper = owner(&self.root);
        if keeper.boot_id.is_empty() {
            return Err(io::Error::other(
                "the kernel provides no boot id, so plumb could not restore anything later",
            ));
        }
        let name = format!("{}-{}", std::process::id(), keeper.start_ticks);
        let hidden = self.folder.join(format!(".{name}"));
        let path = self.folder.join(format!("{name}{SUFFIX}"));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&hidden)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        file.write_all(&line(&JournalHeader { keeper, plumb: self.plumb })?)?;
        file.sync_all()?;
        fs::rename(&hidden, &path)?;
        // A rename survives a power failure only once its folder is synced, too.
        File::open(&self.folder)?.sync_all()?;
        Ok(Open { file, path })
    }

    fn write(&mut self, what: &impl Serialize) -> io::Result<u64> {
        let Some(open) = &mut self.open else { return Err(io::ErrorKind::NotFound.into()) };
        let offset = open.file.seek(SeekFrom::End(0))?;
        let written = open.file.write_all(&line(what)?);
        // Half a line would spoil the next one.
        written.inspect_err(|_| _ = open.file.set_len(offset)).map(|()| offset)
    }

    fn cut(&mut self, offset: u64) -> io::Result<()> {
        let Some(open) = &self.open else { return Ok(()) };
        open.file.set_len(offset)?;
        open.file.sync_all()
    }

    fn remove(&mut self) {
        if let Some(open) = self.open.take() {
            let _ = fs::remove_file(open.path);
        }
    }
}

/// Restores what journals without a keeper hold, and removes those of another boot.
///
/// # Errors
/// When others could have written the journals: what stands there is not believed.
pub fn recover(root: &Root, folder: &Path) -> Result<Vec<Settled>, NotPrivate> {
    if journals(folder).is_empty() {
        return Ok(Vec::new());
    }
    check_private(folder)?;
    match lock(folder) {
        Ok(_lock) => Ok(recover_locked(root, folder)),
        Err(_) => Ok(Vec::new()),
    }
}

/// The same for a caller who holds the lock of the folder.
fn recover_locked(root: &Root, folder: &Path) -> Vec<Settled> {
    journals(folder).into_iter().flat_map(|path| recover_one(root, path)).collect()
}

fn recover_one(root: &Root, path: PathBuf) -> Vec<Settled> {
    let file = OpenOptions::new().read(true).write(true).open(&path);
    let Ok(mut file) = file else { return Vec::new() };
    // Its keeper may have removed it after it was listed: the open file then lives on without a name.
    let free = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    if !free || file.metadata().is_ok_and(|metadata| metadata.nlink() == 0) {
        return Vec::new();
    }
    let Some(JournalContent { header, mut entries }) = read(&mut file) else {
        let _ = fs::remove_file(&path);
        return Vec::new();
    };
    let mut settled = Vec::new();
    if header.keeper.boot_id != boot_id(root) {
        let all = entries.len();
        // Only a plug-in knows whether what it changed outlives a boot.
        entries.retain(|entry| matches!(entry.intent.setting, SystemSetting::Plugin(_)));
        settled.extend((entries.len() < all).then(|| Settled::Stale(all - entries.len())));
    }
    let mut journal = Journal::left_behind(root.clone(), header.plumb, file, path, entries);
    settled.extend(journal.restore(0));
    settled
}

fn unwritable(folder: &Path, error: &io::Error) -> Unchanged {
    let folder = folder.display();
    Unchanged::new(format!("can't save the old value in {folder}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::{Journal, PluginPreparation, Settled, journals, recover};
    use crate::journal::held::held;
    use crate::setting::{OFF, ON, SystemSetting};
    use plumb_machine::Root;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    /// A machine of files, with a folder for journals outside it.
    struct FakeMachine(tempfile::TempDir);

    impl FakeMachine {
        fn new() -> Self {
            let machine = Self(tempfile::tempdir().unwrap());
            machine.put("proc/sys/kernel/random/boot_id", "first\n");
            machine.put("sys/thp", "always [madvise] never\n");
            machine.put("proc/sys/swappiness", "60\n");
            machine
        }

        fn put(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn text(&self, path: &str) -> String {
            fs::read_to_string(self.0.path().join(path)).unwrap()
        }

        fn root(&self) -> Root {
            Root::at(self.0.path())
        }

        fn folder(&self) -> PathBuf {
            self.0.path().join("var/lib/plumb")
        }

        fn journal(&self) -> Journal {
            Journal::new(self.root(), self.folder(), 42)
        }
    }

    fn thp() -> SystemSetting {
        SystemSetting::File("/sys/thp".into())
    }

    fn swappiness() -> SystemSetting {
        SystemSetting::File("/proc/sys/swappiness".into())
    }

    #[test]
    fn the_exact_old_values_are_back_and_nothing_is_left() {
        let machine = FakeMachine::new();
        let mut journal = machine.journal();
        assert!(!machine.folder().exists());
        let change = journal.change(&swappiness(), "10").unwrap();
        assert_eq!((change.was.as_str(), change.became.as_str()), ("60\n", "10"));
        journal.change(&thp(), "always").unwrap();
        assert_eq!((machine.text("sys/thp"), journal.len()), ("always".into(), 2));
        let group = SystemSetting::Group("/sys/plumb-1".into());
        journal.change(&group, ON).unwrap();
        assert_eq!(journal.change(&group, ON).unwrap().was, ON);
        assert_eq!(journal.restore(2).len(), 1);
        assert!(!machine.root().path("/sys/plumb-1").exists());
        assert_eq!(held(&machine.folder()).len(), 2);
        assert_eq!(journal.restore(0).len(), 2);
        assert_eq!(machine.text("proc/sys/swappiness"), "60\n");
        assert_eq!(machine.text("sys/thp"), "madvise");
        assert!(journals(&machine.folder()).is_empty());
    }

    #[test]
    fn a_journal_without_a_keeper_is_restored_by_whoever_comes_next() {
        let machine = FakeMachine::new();
        let mut journal = machine.journal();
        journal.change(&swappiness(), "10").unwrap();
        journal.change(&swappiness(), "20").unwrap();
        assert_eq!(recover(&machine.root(), &machine.folder()).unwrap(), [], "its keeper lives");
        // What kill -9 leaves: the file, and no lock.
        drop(journal);
        assert!(!held(&machine.folder())[0].alive);
        let settled = recover(&machine.root(), &machine.folder()).unwrap();
        assert_eq!(settled.len(), 2, "{settled:?}");
        assert_eq!(machine.text("proc/sys/swappiness"), "60\n");
        assert_eq!(recover(&machine.root(), &machine.folder()).unwrap(), []);
    }

    #[test]
    fn a_journal_that_others_could_have_written_is_not_believed() {
        let machine = FakeMachine::new();
        let mut journal = machine.journal();
        journal.change(&swappiness(), "10").unwrap();
        drop(journal);
        fs::set_permissions(machine.folder(), fs::Permissions::from_mode(0o777)).unwrap();
        let refused = recover(&machine.root(), &machine.folder()).unwrap_err().to_string();
        assert!(refused.contains("can be written by everybody"), "{refused}");
        assert_eq!(held(&machine.folder()), []);
        assert_eq!(machine.text("proc/sys/swappiness"), "10");
        let refused = machine.journal().change(&thp(), "always").unwrap_err();
        assert!(format!("{refused:?}").contains("can be written by everybody"), "{refused:?}");
    }

    #[test]
    fn a_change_that_was_written_down_and_not_made_needs_no_undo() {
        let machine = FakeMachine::new();
        let mut journal = machine.journal();
        journal.change(&swappiness(), "10").unwrap();
        drop(journal);
        machine.put("proc/sys/swappiness", "60\n");
        assert_eq!(recover(&machine.root(), &machine.folder()).unwrap(), []);
        assert!(journals(&machine.folder()).is_empty());
    }

    #[test]
    fn wherever_the_journal_is_torn_what_was_written_down_is_restored() {
        let machine = FakeMachine::new();
        let mut journal = machine.journal();
        journal.change(&swappiness(), "10").unwrap();
        journal.change(&thp(), "always").unwrap();
        let path = journals(&machine.folder()).remove(0);
        let whole = fs::read(&path).unwrap();
        drop(journal);
        let ends: Vec<usize> = (0..whole.len()).filter(|place| whole[*place] == b'\n').collect();
        for length in 0..=whole.len() {
            machine.put("sys/thp", "always");
            machine.put("proc/sys/swappiness", "10");
            fs::write(&path, &whole[..length]).unwrap();
            let settled = recover(&machine.root(), &machine.folder()).unwrap();
            let lines = ends.iter().filter(|end| **end < length).count();
            let expected = [0, 0, 1, 1, 2, 2][lines];
            assert_eq!(settled.len(), expected, "{length} of {}: {settled:?}", whole.len());
            assert!(!path.exists());
        }
    }

    #[test]
    fn what_somebody_else_changed_meanwhile_is_left_and_told() {
        let machine = FakeMachine::new();
        let mut journal = machine.journal();
        journal.change(&swappiness(), "10").unwrap();
        machine.put("proc/sys/swappiness", "33\n");
        let settled = journal.restore(0);
        assert!(matches!(settled[0], Settled::Left { .. }), "{settled:?}");
        assert!(settled[0].to_string().contains("is 33, not the 10"), "{}", settled[0]);
        assert_eq!(machine.text("proc/sys/swappiness"), "33\n");
    }

    #[test]
    fn values_of_another_boot_are_never_written() {
        let machine = FakeMachine::new();
        let mut journal = machine.journal();
        journal.change(&swappiness(), "10").unwrap();
        drop(journal);
        machine.put("proc/sys/kernel/random/boot_id", "second\n");
        assert_eq!(recover(&machine.root(), &machine.folder()).unwrap(), [Settled::Stale(1)]);
        assert_eq!(machine.text("proc/sys/swappiness"), "10");
        assert!(journals(&machine.folder()).is_empty());
    }

    /// A plug-in whose program is gone.
    fn plugin(name: &str) -> PluginPreparation {
        let prepare =
            serde_json::json!({"role": "preparation", "params": {}, "dir": "", "seed": 1});
        PluginPreparation { name: name.into(), argv: vec!["/none".into()], timeout_s: 1, prepare }
    }

    #[test]
    fn a_plugin_is_written_down_until_it_has_undone_what_it_prepared() {
        let machine = FakeMachine::new();
        let mut journal = machine.journal();
        for name in ["one", "two"] {
            journal.hold(plugin(name)).unwrap();
        }
        let names = || -> Vec<String> {
            held(&machine.folder()).iter().map(|change| change.setting.to_string()).collect()
        };
        assert_eq!(names(), ["plug-in one", "plug-in two"]);
        journal.release("one");
        assert_eq!((names(), journal.len()), (vec!["plug-in two".to_owned()], 1));
        journal.release("two");
        assert!(journals(&machine.folder()).is_empty());
    }

    #[test]
    fn a_plugin_is_asked_after_another_boot_too() {
        let machine = FakeMachine::new();
        let mut journal = machine.journal();
        journal.change(&swappiness(), "10").unwrap();
        journal.hold(plugin("one")).unwrap();
        drop(journal);
        machine.put("proc/sys/kernel/random/boot_id", "second\n");
        let settled = recover(&machine.root(), &machine.folder()).unwrap();
        let [Settled::Stale(1), gone] = &settled[..] else { panic!("{settled:?}") };
        assert_eq!(gone.to_string(), "plug-in one no longer exists, so its change was not undone");
        assert!(journals(&machine.folder()).is_empty());
    }

    #[test]
    fn two_do_not_fight_over_a_setting() {
        let machine = FakeMachine::new();
        let mut first = machine.journal();
        first.change(&swappiness(), "10").unwrap();
        // Two journals of one process would have one name.
        let path = journals(&machine.folder()).remove(0);
        fs::rename(&path, path.with_file_name("1-1.jsonl")).unwrap();
        let mut second = Journal::new(machine.root(), machine.folder(), 43);
        let refused = second.change(&swappiness(), "10").unwrap_err();
        assert!(refused.why.contains("another plumb (pid 42)"), "{refused:?}");
        second.change(&thp(), "never").unwrap();
        assert_eq!(second.restore(0).len(), 1);
        assert_eq!(machine.text("proc/sys/swappiness"), "10");
    }

    #[test]
    fn what_cannot_be_changed_leaves_no_line() {
        let machine = FakeMachine::new();
        let mut journal = machine.journal();
        let missing = journal.change(&SystemSetting::File("/sys/none".into()), "1").unwrap_err();
        assert!(missing.why.contains("this machine has no /sys/none"), "{missing:?}");
        let folder = SystemSetting::File("/proc/sys".into());
        assert!(journal.change(&folder, OFF).is_err());
        assert!(journal.is_empty());
        let root = machine.root();
        fs::remove_file(root.path("/proc/sys/kernel/random/boot_id")).unwrap();
        let without = journal.change(&swappiness(), "10").unwrap_err();
        assert!(without.why.contains("no boot id"), "{without:?}");
        assert_eq!(machine.text("proc/sys/swappiness"), "60\n");
    }

    #[test]
    fn a_limit_on_latency_holds_until_it_is_undone() {
        let machine = FakeMachine::new();
        machine.put("dev/cpu_dma_latency", "");
        let mut journal = machine.journal();
        journal.change(&SystemSetting::Latency, "10").unwrap();
        journal.change(&swappiness(), "10").unwrap();
        journal.change(&SystemSetting::Latency, "0").unwrap();
        assert_eq!((journal.len(), journal.latency.len()), (3, 2));
        journal.restore(2);
        assert_eq!((journal.len(), journal.latency.len()), (2, 1));
        assert_eq!(machine.text("proc/sys/swappiness"), "10");
        journal.restore(0);
        assert_eq!(
            (journal.latency.len(), machine.text("proc/sys/swappiness").as_str()),
            (0, "60\n")
        );
    }
}
