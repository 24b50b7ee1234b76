//! `block.mkfs`: a filesystem is made on a remote disk.

use plumb_model::{AuditClass, Description, Ready, SampleIs};
use plumb_protocol::{
    Batch, Failure, Instance, Start, StartError, StartedWorkload, Workload, current_cpu, now_ns,
};
use plumb_workload_kit::declare::{
    LONG_TIMEOUT_S, between, bytes, choice, integer, time, work, workload,
};
use plumb_workload_kit::filesystem::less_size;
use plumb_workload_kit::tool::{run, tool};

use crate::disk::{RemoteDisk, prepare_process};
use crate::report::{device_metrics, device_terms, lacking, of_device, of_device_names};
use crate::settings::{self, Access, DEVICE_DEPTH, check_memory};

/// The smallest and the largest disk.
const SIZES: (usize, usize) = (16 << 20, 64 << 30);
/// Where ext4 has its magic number, and what it is.
const MAGIC: (usize, [u8; 2]) = (1080, [0x53, 0xef]);

/// Makes ext4 on a remote disk.
pub struct Mkfs;

impl Workload for Mkfs {
    fn describe(&self) -> Description {
        let own = vec![
            choice(
                "mode",
                &["lazy", "full"],
                "lazy: the kernel writes inode tables and journal later (mkfs's default); full: mkfs \
                 writes them",
            ),
            choice(
                "zeroes",
                &["written", "small", "told"],
                "how zeroes are sent; written: as data; small: as data, in 4 KiB requests; told: as zero and trim commands",
            ),
            between(
                SIZES.0,
                SIZES.1,
                bytes("size", 1 << 30, "size of the disk; only written parts take memory"),
            ),
            integer(
                "depth",
                "requests",
                DEVICE_DEPTH as u64,
                "maximum number of outstanding requests",
            ),
        ];
        let mut metrics =
            vec![time("time", "time from the start of mkfs.ext4 until all data is on the disk")];
        metrics.extend(device_metrics());
        Description {
            parameters: [own, settings::parameters()].concat(),
            metrics,
            audit_class: Some(AuditClass::Scheduler),
            sample_is: SampleIs::Process,
            link: Some(device_terms()),
            timeout_s: Some(6 * LONG_TIMEOUT_S),
            ..workload("block.mkfs", "creates ext4 on a remote disk behind a slow link")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("mkfs.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let mut ready = Ready::default();
        let zeroes = Zeroes::read(start);
        let access = settings::access(start, zeroes == Zeroes::WithoutData, &mut ready)?;
        let size = start.size("size");
        // A filesystem writes a small part of its disk.
        check_memory(start, size as u64 / 2, &|most| less_size(2 * most))?;
        prepare_process()?;
        ready.work = work(&[("time", 1)]);
        ready.without.push(lacking(access.tunnel).into());
        let lazy = u8::from(start.text("mode") == "lazy");
        let options = format!("nodiscard,lazy_itable_init={lazy},lazy_journal_init={lazy}");
        let instance = MkfsCase { start: start.clone(), size, access, zeroes, options };
        Ok(StartedWorkload { instance: Box::new(instance), ready })
    }
}

/// How zeroes reach the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Zeroes {
    /// As data, in large requests.
    Written,
    /// As data of 4 KiB, each after the other.
    Small,
    /// Without data, as are trims.
    WithoutData,
}

impl Zeroes {
    fn read(start: &Start) -> Self {
        match start.text("zeroes") {
            "written" => Self::Written,
            "told" => Self::WithoutData,
            _ => Self::Small,
        }
    }
}

struct MkfsCase {
    start: Start,
    size: usize,
    access: Access,
    zeroes: Zeroes,
    options: String,
}

impl MkfsCase {
    /// Makes one on a fresh disk: when it began, what it took, and the values.
    fn make(&self) -> Result<(u64, u64, [f64; 12]), Failure> {
        let disk = RemoteDisk::start(&self.start, self.size, self.access)?;
        let mut mkfs = tool("mkfs.ext4");
        mkfs.args(["-q", "-F", "-E", &self.options]).arg(disk.node());
        if self.zeroes == Zeroes::Written {
            // Else the kernel is asked for them, and nbdfuse writes them for it, 4 KiB at a time.
            mkfs.env("UNIX_IO_NOZEROOUT", "1");
        }
        disk.server.link(true);
        let before = disk.server.counts();
        let begun = now_ns();
        run(&mut mkfs, &[])?;
        // Writes that are still in the page cache belong to the time, too.
        disk.sync()?;
        let took = now_ns() - begun;
        let counts = disk.server.counts().since(&before);
        // mkfs may end well without a write that arrived: the superblock of ext4 has a magic number.
        let magic = disk.into_server(|disk| disk[MAGIC.0..MAGIC.0 + 2] == MAGIC.1);
        if !magic {
            return Err(Failure("the remote disk contains no ext4 after mkfs".into()));
        }
        Ok((begun, took, of_device(&counts, took)))
    }
}

impl Instance for MkfsCase {
    fn run(&mut self, _: u64) -> Result<(), Failure> {
        self.make().map(|_| ())
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        for _ in iterations {
            let (begun, took, values) = self.make()?;
            batch.record(begun, took, 1, current_cpu());
            batch.record_values(&values);
        }
        Ok(())
    }

    fn value_names(&self) -> &'static [&'static str] {
        of_device_names(self.access.tunnel)
    }

    fn fixed_iterations(&self) -> bool {
        true
    }

    fn has_untimed_parts(&self) -> bool {
        true
    }
}
