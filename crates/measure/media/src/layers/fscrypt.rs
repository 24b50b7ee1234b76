//! `medium=…+ext4+fscrypt`.
#![expect(unsafe_code, reason = "ioctls of encrypted folders have no safe form")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use plumb_protocol::StartError;

use crate::building::{Building, failed};
use crate::layer::{AesKey, LayerBase, LayerOption, LayerSurface, MediumLayer};
use crate::layers::ext4;

/// Ioctls of linux/fscrypt.h.
const ADD_KEY: libc::Ioctl = 0xc050_6617_u32 as libc::Ioctl;
const SET_POLICY: libc::Ioctl = 0x800c_6613_u32 as libc::Ioctl;
/// A key that is named by what it hashes to.
const BY_IDENTIFIER: u32 = 2;
/// Version of the policy; the modes of contents and of names; names padded to 32 bytes. AES-256-XTS and AES-256-CTS, or
/// AES-128-CBC with ESSIV and AES-128-CTS: the kernel has no AES-128-XTS for files.
const LONG_POLICY: [u8; 4] = [2, 1, 4, 3];
const SHORT_POLICY: [u8; 4] = [2, 5, 6, 3];
/// Bytes of a key.
const KEY: usize = 64;
/// Bytes of the name of a key.
const IDENTIFIER: usize = 16;

/// The layer `fscrypt`: what it lies on, what it gives, and how it is built.
pub const LAYER: MediumLayer = MediumLayer {
    name: "fscrypt",
    summary: "a folder that ext4 encrypts with AES",
    takes: LayerOption::KeySize,
    manual: include_str!("fscrypt.md"),
    on: LayerBase::Filesystem("ext4"),
    gives: LayerSurface::Folder,
    missing: |root| (ext4::LAYER.missing)(root),
    lay,
};

/// `struct fscrypt_add_key_arg` of linux/fscrypt.h with a key behind it.
#[repr(C)]
struct AddKey {
    kind: u32,
    reserved: u32,
    name: [u8; 32],
    length: u32,
    more: [u32; 9],
    key: [u8; KEY],
}

/// `struct fscrypt_policy_v2` of linux/fscrypt.h.
#[repr(C)]
struct FscryptPolicy {
    modes: [u8; 4],
    reserved: [u8; 4],
    identifier: [u8; IDENTIFIER],
}

fn lay(building: &mut Building<'_>, option: &str) -> Result<(), StartError> {
    let folder = building.surface.join("encrypted");
    std::fs::create_dir(&folder).map_err(|error| failed(&folder, &error))?;
    let policy = match AesKey::of_option(option).unwrap_or_default() {
        AesKey::Long => LONG_POLICY,
        AesKey::Short => SHORT_POLICY,
    };
    let done = File::open(&folder).and_then(|file| encrypt(&file, policy));
    done.map_err(|error| match error.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::ENOTTY) => {
            let why = "this kernel can't encrypt ext4 files (CONFIG_FS_ENCRYPTION)";
            StartError::unsupported(why, "use another layer: ram+ext4+gocryptfs")
        }
        _ => failed(&folder, &error),
    })?;
    try_file(&folder)?;
    building.surface = folder;
    Ok(())
}

/// Makes a file and removes it: the kernel looks for the ciphers of a policy only now.
fn try_file(folder: &Path) -> Result<(), StartError> {
    let file = folder.join("trial");
    let made = File::create(&file).and_then(|_| std::fs::remove_file(&file));
    made.map_err(|error| match error.raw_os_error() {
        Some(libc::ENOPKG) => StartError::unsupported(
            "this kernel lacks the cipher of this encryption (AES-128-CBC needs CONFIG_CRYPTO_ESSIV)",
            "leave out `:aes-128`, or use another layer: ram+luks:aes-128+ext4",
        ),
        _ => failed(&file, &error),
    })
}

/// Gives the filesystem a random key, and encrypts this empty folder with it and these modes.
fn encrypt(folder: &File, modes: [u8; 4]) -> io::Result<()> {
    let mut key = [0; KEY];
    rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty())?;
    let mut add = AddKey {
        kind: BY_IDENTIFIER,
        reserved: 0,
        name: [0; 32],
        length: KEY as u32,
        more: [0; 9],
        key,
    };
    let fd = folder.as_raw_fd();
    // SAFETY: the structure has the kernel's layout and lives beyond the call, which writes the key's name into it.
    done(unsafe { libc::ioctl(fd, ADD_KEY, &raw mut add) })?;
    let mut identifier = [0; IDENTIFIER];
    identifier.copy_from_slice(&add.name[..IDENTIFIER]);
    let policy = FscryptPolicy { modes, reserved: [0; 4], identifier };
    // SAFETY: the structure has the kernel's layout and lives beyond the call, which only reads it.
    done(unsafe { libc::ioctl(fd, SET_POLICY, &raw const policy) })
}

fn done(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::{AddKey, FscryptPolicy, KEY};

    #[test]
    fn structures_are_as_long_as_the_kernels() {
        assert_eq!((size_of::<AddKey>() - KEY, size_of::<FscryptPolicy>()), (80, 24));
    }
}
