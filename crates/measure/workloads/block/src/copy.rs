//! `block.copy`: a file goes onto a remote disk, or as many bytes without a filesystem.

use std::fs;
use std::path::PathBuf;

use plumb_model::{AuditClass, Description, Ready, SampleIs};
use plumb_protocol::{
    Batch, Failure, Instance, SplitMix64, Start, StartError, StartedWorkload, Workload,
    current_cpu, now_ns,
};
use plumb_workload_kit::declare::{
    LONG_TIMEOUT_S, between, bytes, choice, integer, rate, work, workload,
};
use plumb_workload_kit::filesystem::less_size;
use plumb_workload_kit::folder::sync_filesystem;
use plumb_workload_kit::tool::{run, tool};
use rustix::fs::{Advice, fadvise};

use crate::address::Address;
use crate::client::NbdClient;
use crate::disk::{RemoteDisk, prepare_process, unmount, write_through};
use crate::encrypted::EncryptedFolder;
use crate::nbd::RequestKind;
use crate::report::{device_metrics, device_terms, lacking, of_device, of_device_names};
use crate::server::{NbdServer, RequestCounts};
use crate::settings::{self, Access, DEVICE_DEPTH, TunnelKind, check_memory, fresh_path};

/// Bytes of one write of the stream.
const BLOCK: usize = 64 << 10;
/// The largest file.
const LARGEST: usize = 4 << 30;
/// A disk is larger than the file by this factor and this much, for the filesystem.
const ROOM: (usize, usize) = (2, 64 << 20);

/// Copies bytes to a remote disk.
pub struct Copy;

impl Workload for Copy {
    fn describe(&self) -> Description {
        let own = vec![
            choice(
                "method",
                &["file", "stream"],
                "file: write and sync a file on ext4; stream: send the same bytes without a filesystem",
            ),
            between(1, LARGEST, bytes("size", 11 << 20, "bytes to copy")),
            integer(
                "depth",
                "requests",
                DEVICE_DEPTH as u64,
                "maximum number of outstanding requests",
            ),
            choice(
                "encryption",
                &["none", "gocryptfs"],
                "gocryptfs: encrypts the file at this end (AES-256-GCM, in user space)",
            ),
        ];
        let mut metrics = vec![rate(
            "throughput",
            "B/s",
            "file size divided by the time from open until all data is on the disk",
        )];
        metrics.extend(device_metrics());
        Description {
            parameters: [own, settings::parameters()].concat(),
            metrics,
            audit_class: Some(AuditClass::Scheduler),
            sample_is: SampleIs::Process,
            link: Some(device_terms()),
            timeout_s: Some(6 * LONG_TIMEOUT_S),
            ..workload(
                "block.copy",
                "copies a file to a remote disk behind a slow link, including the \
                                      sync",
            )
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("copy.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let size = start.size("size");
        // The bytes, the disk, and what is read back.
        check_memory(start, 4 * size as u64, &|most| less_size(most / 4))?;
        let mut ready = Ready::default();
        let access = settings::access(start, true, &mut ready)?;
        ready.work = work(&[("throughput", size as u64)]);
        ready.without.push(lacking(access.tunnel).into());
        let mut data = vec![0; size];
        SplitMix64::new(start.seed).fill(&mut data);
        let is_encrypted = start.text("encryption") == "gocryptfs";
        let target: Box<dyn CopyTarget> = match start.text("method") {
            "stream" if is_encrypted => {
                return Err(StartError::unsupported(
                    "gocryptfs encrypts files, and method=stream has none",
                    "set method=file, or leave out `encryption`",
                ));
            }
            "stream" => Box::new(RawDisk::start(start, size, access)?),
            _ => {
                prepare_process()?;
                Box::new(MountedDisk::start(start, size, access, is_encrypted)?)
            }
        };
        let helpers = target.helpers();
        let copying = Copying { target, data, tunnel: access.tunnel, helpers };
        Ok(StartedWorkload { instance: Box::new(copying), ready })
    }
}

/// Where bytes go.
trait CopyTarget {
    /// The server that holds the disk.
    fn server(&self) -> &NbdServer;

    /// The processes that work for it.
    fn helpers(&self) -> Vec<u32> {
        self.server().helpers().to_vec()
    }

    /// Copies them, until they have reached the disk.
    fn copy(&mut self, data: &[u8]) -> Result<(), Failure>;

    /// Looks at them, and takes them away again; untimed, and without the link.
    fn put_back(&mut self, data: &[u8]) -> Result<(), Failure>;
}

/// A disk with ext4 on it.
struct MountedDisk {
    folder: PathBuf,
    /// Where the copy goes.
    file: PathBuf,
    /// What encrypts the copy, if anything does.
    encrypted: Option<EncryptedFolder>,
    // Dropped after it was unmounted.
    disk: RemoteDisk,
}

impl MountedDisk {
    fn start(
        start: &Start,
        size: usize,
        access: Access,
        is_encrypted: bool,
    ) -> Result<Self, StartError> {
        let disk = RemoteDisk::start(start, ROOM.0 * size + ROOM.1, access)?;
        // mkfs would otherwise discard and zero large parts of the disk over the slow link.
        let lazily = "nodiscard,lazy_itable_init=1,lazy_journal_init=1";
        run(tool("mkfs.ext4").args(["-q", "-F", "-E", lazily]).arg(disk.node()), &[])?;
        let folder = fresh_path(start, "nbd-files");
        fs::create_dir_all(&folder)
            .map_err(|error| Failure::io("creating a mount point", &error))?;
        let mut mount = tool("mount");
        // Without the kernel's background zeroing of inode tables, which would run next to the copies.
        mount.args(["-t", "ext4", "-o", "noinit_itable", "--"]).arg(disk.node()).arg(&folder);
        run(&mut mount, &[])?;
        let file = folder.join("copy");
        // It is made whole before anything can fail: what was mounted is unmounted again.
        let mut made = Self { folder, file, encrypted: None, disk };
        if is_encrypted {
            let encrypted = EncryptedFolder::over(start, &made.folder)?;
            made.file = encrypted.path().join("copy");
            made.encrypted = Some(encrypted);
        }
        Ok(made)
    }
}

impl CopyTarget for MountedDisk {
    fn server(&self) -> &NbdServer {
        &self.disk.server
    }

    fn helpers(&self) -> Vec<u32> {
        let mut helpers = self.disk.server.helpers().to_vec();
        helpers.extend(self.encrypted.as_ref().map(EncryptedFolder::pid));
        helpers
    }

    fn copy(&mut self, data: &[u8]) -> Result<(), Failure> {
        write_through(&self.file, data)
            .map_err(|error| Failure::io("copying to the remote disk", &error))?;
        match self.encrypted {
            // FUSE does not pass on that a whole filesystem is to be synced.
            Some(_) => sync_filesystem(&self.folder),
            None => Ok(()),
        }
    }

    fn put_back(&mut self, data: &[u8]) -> Result<(), Failure> {
        let read = |error| Failure::io("reading the copy", &error);
        let file = fs::File::open(&self.file).map_err(read)?;
        // From the disk, not from memory.
        let _ = fadvise(&file, 0, None, Advice::DontNeed);
        drop(file);
        let there = fs::read(&self.file).map_err(read)?;
        if there != data {
            return Err(Failure("the copy on the remote disk contains unexpected bytes".into()));
        }
        fs::remove_file(&self.file).map_err(|error| Failure::io("removing the copy", &error))?;
        sync_filesystem(&self.folder)
    }
}

impl Drop for MountedDisk {
    fn drop(&mut self) {
        // Unmounting writes what is dirty: over the slow link it would take as long as a copy.
        self.disk.server.link(false);
        self.encrypted = None;
        unmount(&self.folder).ok();
        fs::remove_dir(&self.folder).ok();
    }
}

/// A disk without a filesystem.
struct RawDisk {
    client: NbdClient,
    server: NbdServer,
    depth: usize,
}

impl RawDisk {
    fn start(start: &Start, size: usize, access: Access) -> Result<Self, StartError> {
        let server = NbdServer::start(start, size.next_multiple_of(BLOCK), access)?;
        server.link(false);
        let address = Address::of_server(&server);
        let client = NbdClient::connect(&address, access.depth, BLOCK)?;
        Ok(Self { client, server, depth: access.depth })
    }
}

impl CopyTarget for RawDisk {
    fn server(&self) -> &NbdServer {
        &self.server
    }

    fn copy(&mut self, data: &[u8]) -> Result<(), Failure> {
        let mut offset = 0;
        for block in data.chunks(BLOCK) {
            if self.client.under_way() == self.depth {
                self.client.receive()?;
            }
            self.client.payload()[..block.len()].copy_from_slice(block);
            self.client.send(RequestKind::Write, offset, block.len())?;
            offset += block.len() as u64;
        }
        while self.client.under_way() > 0 {
            self.client.receive()?;
        }
        self.client.send(RequestKind::Flush, 0, 0)?;
        self.client.receive().map(|_| ())
    }

    fn put_back(&mut self, data: &[u8]) -> Result<(), Failure> {
        for (number, block) in data.chunks(BLOCK).enumerate() {
            let offset = (number * BLOCK) as u64;
            self.client.send(RequestKind::Read, offset, block.len())?;
            self.client.receive()?;
            if self.client.data()[..block.len()] != *block {
                return Err(Failure(format!("unexpected bytes at {offset} of the remote disk")));
            }
            self.client.send(RequestKind::WriteZeroes, offset, block.len())?;
            self.client.receive()?;
        }
        Ok(())
    }
}

struct Copying {
    target: Box<dyn CopyTarget>,
    data: Vec<u8>,
    tunnel: TunnelKind,
    helpers: Vec<u32>,
}

impl Copying {
    /// One copy: when it began, what it took, and the values.
    fn once(&mut self) -> Result<(u64, u64, RequestCounts), Failure> {
        self.target.server().link(true);
        let before = self.target.server().counts();
        let begun = now_ns();
        self.target.copy(&self.data)?;
        let took = now_ns() - begun;
        let counts = self.target.server().counts().since(&before);
        self.target.server().link(false);
        self.target.put_back(&self.data)?;
        Ok((begun, took, counts))
    }
}

impl Instance for Copying {
    fn run(&mut self, _: u64) -> Result<(), Failure> {
        self.once().map(|_| ())
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        for _ in iterations {
            let (begun, took, counts) = self.once()?;
            batch.record(begun, took, 1, current_cpu());
            batch.record_values(&of_device(&counts, took));
        }
        Ok(())
    }

    fn value_names(&self) -> &'static [&'static str] {
        of_device_names(self.tunnel)
    }

    fn fixed_iterations(&self) -> bool {
        true
    }

    fn has_untimed_parts(&self) -> bool {
        true
    }

    fn helpers(&self) -> &[u32] {
        &self.helpers
    }
}
