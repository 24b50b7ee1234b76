//! Loop devices that clear themselves once nobody has them open.
#![expect(unsafe_code, reason = "ioctls of loop devices have no safe form")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Ioctls of linux/loop.h.
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82_u32 as libc::Ioctl;
const LOOP_CONFIGURE: libc::Ioctl = 0x4C0A_u32 as libc::Ioctl;
/// Flags of linux/loop.h.
const AUTOCLEAR: u32 = 4;
const DIRECT_IO: u32 = 16;
/// How often another may take the free device first.
const ATTEMPTS: usize = 50;

/// `struct loop_info64` of linux/loop.h.
#[repr(C)]
struct LoopInfo {
    numbers: [u64; 5],
    more: [u32; 3],
    flags: u32,
    names_and_key: [u8; 160],
    init: [u64; 2],
}

/// `struct loop_config` of linux/loop.h.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

/// A device over a file, past the page cache if the filesystem can; it is gone with the last that has it open.
///
/// # Errors
/// When there is none, or the kernel refuses.
pub fn over(file: &File) -> io::Result<(File, PathBuf)> {
    let control = File::options().read(true).write(true).open("/dev/loop-control")?;
    let mut last = io::Error::from(io::ErrorKind::ResourceBusy);
    let mut direct = DIRECT_IO;
    for _ in 0..ATTEMPTS {
        // SAFETY: it takes no argument and gives a number.
        let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        let path = PathBuf::from(format!("/dev/loop{number}"));
        match configured(&path, file, AUTOCLEAR | direct) {
            Ok(device) => return Ok((device, path)),
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => last = error,
            // Older kernels refuse what they can't do.
            Err(error) => (last, direct) = (error, 0),
        }
    }
    Err(last)
}

fn configured(path: &Path, file: &File, flags: u32) -> io::Result<File> {
    let device = File::options().read(true).write(true).open(path)?;
    let info =
        LoopInfo { numbers: [0; 5], more: [0; 3], flags, names_and_key: [0; 160], init: [0; 2] };
    let fd = file.as_raw_fd().cast_unsigned();
    let config = LoopConfig { fd, block_size: 0, info, reserved: [0; 8] };
    // SAFETY: the structure has the kernel's layout and lives beyond the call, which only reads it.
    let done = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const config) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(device) }
}

#[cfg(test)]
mod tests {
    use super::{LoopConfig, LoopInfo};

    #[test]
    fn structures_are_as_long_as_the_kernels() {
        assert_eq!((size_of::<LoopInfo>(), size_of::<LoopConfig>()), (232, 304));
    }
}
