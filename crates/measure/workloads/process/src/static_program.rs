//! The smallest program there is: an ELF file of one page that ends with the first byte of its argument as status.
//!
//! It is made of bytes here, so that neither a compiler nor anything of the system is needed, and so that it is the
//! same everywhere: no loader, no libraries, no relocations.

use std::ffi::{CStr, CString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use plumb_protocol::{Failure, StartError};
use plumb_workload_kit::folder::Folder;

/// Where the file lies in memory.
const ADDRESS: u64 = 0x40_0000;
/// A page of every size that kernels are built with.
const ALIGNMENT: u64 = 0x1_0000;
/// The ELF header and two program headers.
const HEADERS: u64 = 64 + 2 * 56;

/// What it does, and the number of the architecture in ELF.
#[cfg(target_arch = "x86_64")]
const CODE: (&[u8], u16) = (
    &[
        0x48, 0x8b, 0x44, 0x24, 0x10, // mov rax, [rsp + 16]: the second argument's address
        0x0f, 0xb6, 0x38, // movzx edi, byte [rax]
        0xb8, 0xe7, 0x00, 0x00, 0x00, // mov eax, 231: exit_group
        0x0f, 0x05, // syscall
    ],
    62,
);
#[cfg(target_arch = "aarch64")]
const CODE: (&[u8], u16) = (
    &[
        0xe0, 0x0b, 0x40, 0xf9, // ldr x0, [sp, #16]: the second argument's address
        0x00, 0x00, 0x40, 0x39, // ldrb w0, [x0]
        0xc8, 0x0b, 0x80, 0xd2, // mov x8, #94: exit_group
        0x01, 0x00, 0x00, 0xd4, // svc #0
    ],
    183,
);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const CODE: (&[u8], u16) = (&[], 0);

/// The bytes of the ELF file: headers, then the code.
fn elf() -> Vec<u8> {
    let (code, machine) = CODE;
    let size = HEADERS + code.len() as u64;
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend_from_slice(&2_u16.to_le_bytes()); // an executable
    file.extend_from_slice(&machine.to_le_bytes());
    file.extend_from_slice(&1_u32.to_le_bytes());
    file.extend_from_slice(&(ADDRESS + HEADERS).to_le_bytes()); // where it begins
    file.extend_from_slice(&64_u64.to_le_bytes()); // where the program headers are
    file.extend_from_slice(&0_u64.to_le_bytes());
    file.extend_from_slice(&0_u32.to_le_bytes());
    // Sizes of the headers, and how many there are: 2 for the program, none for sections.
    for half in [64_u16, 56, 2, 64, 0, 0] {
        file.extend_from_slice(&half.to_le_bytes());
    }
    // The whole file, to be read and executed; a stack that is not executed.
    for (kind, flags, at, size, alignment) in
        [(1_u32, 5_u32, ADDRESS, size, ALIGNMENT), (0x6474_e551, 6, 0, 0, 16)]
    {
        file.extend_from_slice(&kind.to_le_bytes());
        file.extend_from_slice(&flags.to_le_bytes());
        for word in [0, at, at, size, size, alignment] {
            file.extend_from_slice(&word.to_le_bytes());
        }
    }
    file.extend_from_slice(code);
    file
}

/// The program, in a folder that is removed with it.
pub(crate) struct StaticProgram {
    path: CString,
    _folder: Folder,
}

impl StaticProgram {
    /// Writes it below `folder`.
    ///
    /// # Errors
    /// Unsupported on an architecture for which it is not written, and if nothing can be written.
    pub(crate) fn create(folder: &Path) -> Result<Self, StartError> {
        if CODE.0.is_empty() {
            return Err(StartError::unsupported(
                format!("plumb has no static program for {}", std::env::consts::ARCH),
                "run process.command with your own program",
            ));
        }
        let folder = Folder::create(folder, "exec")?;
        let path = folder.path().join("program");
        let written = fs::write(&path, elf())
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)));
        written.map_err(|error| Failure::io(format!("writing {}", path.display()), &error))?;
        let path = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| Failure("a folder name contains a NUL byte".into()))?;
        Ok(Self { path, _folder: folder })
    }

    pub(crate) fn path(&self) -> &CStr {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::{HEADERS, elf};

    #[test]
    fn headers_are_as_long_as_they_say() {
        let file = elf();
        assert_eq!(file.len() as u64, HEADERS + super::CODE.0.len() as u64);
        assert_eq!(&file[..4], b"\x7fELF");
        assert_eq!(file[54..60], [56, 0, 2, 0, 64, 0], "two program headers of 56 bytes");
    }
}
