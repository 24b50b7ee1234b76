//! Memory that the parent of new processes has touched.
#![expect(unsafe_code, reason = "mmap has no safe form in std")]

use std::ffi::c_void;
use std::fs;
use std::ptr::NonNull;

use plumb_protocol::{Failure, Start, StartError};

/// Resident memory and page tables of this process, as the kernel tells them.
pub(crate) fn residence() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    format!("{} resident, {} page tables", field(&status, "VmRSS:"), field(&status, "VmPTE:"))
}

fn field<'s>(status: &'s str, name: &str) -> &'s str {
    status.lines().find_map(|line| line.strip_prefix(name)).map_or("unknown", str::trim)
}

/// Touched memory in pages of base size, so that its page tables have to be copied.
pub(crate) struct Ballast {
    memory: Option<(NonNull<c_void>, usize)>,
}

impl Ballast {
    /// So many bytes as the parameter `resident` says.
    ///
    /// # Errors
    /// Unsupported when that is more than half of the memory that plumb may use.
    pub(crate) fn resident(start: &Start) -> Result<Self, StartError> {
        let size = start.size("resident");
        let limit = start.facts.memory_bytes / 2;
        if limit > 0 && size as u64 > limit {
            return Err(StartError::unsupported(
                format!("resident={size} is more than half of the memory that plumb may use"),
                format!("set resident to {limit} or less"),
            ));
        }
        Ok(Self::new(size)?)
    }

    fn new(size: usize) -> Result<Self, Failure> {
        if size == 0 {
            return Ok(Self { memory: None });
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice.
        let mapped = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0) };
        let start = NonNull::new(mapped)
            .filter(|start| start.as_ptr() != libc::MAP_FAILED)
            .ok_or_else(|| Failure::last_os_error(format!("mapping {size} bytes")))?;
        let ballast = Self { memory: Some((start, size)) };
        // SAFETY: the mapping is ours, `size` long, and writable; each store is inside it. Kernels
        // without huge pages refuse the advice, which then is not needed.
        unsafe {
            libc::madvise(start.as_ptr(), size, libc::MADV_NOHUGEPAGE);
            for offset in (0..size).step_by(4096) {
                start.cast::<u8>().add(offset).write_volatile(1);
            }
        }
        Ok(ballast)
    }
}

impl Drop for Ballast {
    fn drop(&mut self) {
        if let Some((start, size)) = self.memory {
            // SAFETY: exactly the mapping made above, which nothing points into any more.
            unsafe { libc::munmap(start.as_ptr(), size) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ballast;

    #[test]
    fn ballast_of_any_size_is_touched_and_given_back() {
        for size in [0, 1, 4096, 1_000_001] {
            drop(Ballast::new(size).unwrap());
        }
        assert!(Ballast::new(usize::MAX / 2).is_err());
    }
}
