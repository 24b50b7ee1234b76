//! The smallest programs there are, ELF files of one page: one ends with the first byte of its argument as status, the other
//! counts down an empty loop and then becomes the program that its first argument names.
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

/// Where the number of steps stands in [`SPIN`].
#[cfg(target_arch = "x86_64")]
const STEPS_AT: usize = 2;
/// Counts down, then starts the program of the first argument with the arguments from the second on.
#[cfg(target_arch = "x86_64")]
const SPIN: &[u8] = &[
    0x48, 0xb9, 0, 0, 0, 0, 0, 0, 0, 0, // mov rcx, steps
    0x48, 0xff, 0xc9, // dec rcx
    0x75, 0xfb, // jnz, to the dec
    0x48, 0x8b, 0x04, 0x24, // mov rax, [rsp]: the number of arguments
    0x48, 0x8b, 0x7c, 0x24, 0x10, // mov rdi, [rsp + 16]: the second argument
    0x48, 0x8d, 0x74, 0x24, 0x18, // lea rsi, [rsp + 24]: the arguments from the third on
    0x48, 0x8d, 0x54, 0xc4, 0x10, // lea rdx, [rsp + 8 rax + 16]: the environment
    0xb8, 0x3b, 0x00, 0x00, 0x00, // mov eax, 59: execve
    0x0f, 0x05, // syscall
    0xbf, 0x7f, 0x00, 0x00, 0x00, // mov edi, 127: only if that failed
    0xb8, 0xe7, 0x00, 0x00, 0x00, // mov eax, 231: exit_group
    0x0f, 0x05, // syscall
];

/// The code that takes so many steps, at least one; none on an architecture for which it is not written.
#[cfg(target_arch = "x86_64")]
fn spin_code(steps: u64) -> Vec<u8> {
    let mut code = SPIN.to_vec();
    // From 0 the loop would count through all of 2^64.
    code[STEPS_AT..STEPS_AT + 8].copy_from_slice(&steps.max(1).to_le_bytes());
    code
}

/// The code that takes so many steps; none on an architecture for which it is not written.
#[cfg(not(target_arch = "x86_64"))]
fn spin_code(_steps: u64) -> Vec<u8> {
    Vec::new()
}

/// The bytes of an ELF file: headers, then the code.
fn elf(code: &[u8]) -> Vec<u8> {
    let machine = CODE.1;
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
        Self::of_code(folder, CODE.0, "run process.command with your own program")
    }

    /// Writes the program that takes so many steps of an empty loop before it becomes another.
    ///
    /// # Errors
    /// As of [`Self::create`].
    pub(crate) fn spinning(folder: &Path, steps: u64) -> Result<Self, StartError> {
        Self::of_code(folder, &spin_code(steps), "compare without --prove")
    }

    fn of_code(folder: &Path, code: &[u8], fix: &str) -> Result<Self, StartError> {
        if code.is_empty() {
            return Err(StartError::unsupported(
                format!("plumb has no such static program for {}", std::env::consts::ARCH),
                fix,
            ));
        }
        let folder = Folder::create(folder, "exec")?;
        let path = folder.path().join("program");
        let written = fs::write(&path, elf(code))
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
    #[cfg(target_arch = "x86_64")]
    fn the_spinning_program_becomes_another_with_its_arguments_and_environment() {
        let folder =
            plumb_workload_kit::folder::Folder::create(&std::env::temp_dir(), "spin").unwrap();
        let program = super::StaticProgram::spinning(folder.path(), 1000).unwrap();
        let mut command = std::process::Command::new(program.path().to_str().unwrap());
        command.args(["/bin/sh", "sh", "-c", "echo $0 $1 $KEPT; exit 3", "zero", "one"]);
        let ran = command.env("KEPT", "kept").output().unwrap();
        assert_eq!(ran.status.code(), Some(3));
        assert_eq!(String::from_utf8_lossy(&ran.stdout), "zero one kept\n");
        let missing = std::process::Command::new(program.path().to_str().unwrap())
            .args(["/nowhere", "x"])
            .status();
        assert_eq!(missing.unwrap().code(), Some(127));
    }

    #[test]
    fn headers_are_as_long_as_they_say() {
        let file = elf(super::CODE.0);
        assert_eq!(file.len() as u64, HEADERS + super::CODE.0.len() as u64);
        assert_eq!(&file[..4], b"\x7fELF");
        assert_eq!(file[54..60], [56, 0, 2, 0, 64, 0], "two program headers of 56 bytes");
    }
}
