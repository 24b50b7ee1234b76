//! The key that both ends have: 256 bits in a file that its owner alone can read.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

/// The variable that names the file of the key.
pub const KEY_FILE: &str = "PLUMB_PEER_KEY";
/// The length of a key, in bytes.
const LENGTH: usize = 32;

/// 256 random bits that both ends know.
#[derive(Clone)]
pub struct PeerKey([u8; LENGTH]);

impl PeerKey {
    /// The key of a file: 64 hexadecimal digits.
    ///
    /// # Errors
    /// When the file can't be read, holds no key, or others than its owner can read it.
    pub fn read(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let text = fs::read_to_string(path)
            .map_err(|error| format!("the key {shown} can't be read: {error}"))?;
        let mode = fs::metadata(path).map(|metadata| metadata.permissions().mode());
        if mode.is_ok_and(|mode| mode & 0o077 != 0) {
            return Err(format!("other users can read the key {shown}; run: chmod 600 {shown}"));
        }
        of_text(text.trim()).ok_or_else(|| {
            format!("{shown} does not contain a key of {} hexadecimal digits", 2 * LENGTH)
        })
    }

    /// Writes a fresh key into a new file.
    ///
    /// # Errors
    /// When there is a file of this name, or it can't be written.
    pub fn create(path: &Path) -> Result<(), String> {
        let failed =
            |error: std::io::Error| format!("can't write a key to {}: {error}", path.display());
        let mut bytes = [0; LENGTH];
        SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| "this machine provides no random numbers")?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        // A key that is there already may be in use: it is never overwritten.
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(failed)?;
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let written = file.write_all(format!("{digits}\n").as_bytes());
        // Half a key would be in the way of the next attempt.
        written.inspect_err(|_| drop(fs::remove_file(path))).map_err(failed)
    }

    /// Where the key is: in the file that `PLUMB_PEER_KEY` names, else `plumb/peer.key` where the user's settings are.
    ///
    /// # Errors
    /// When nothing says where those are.
    pub fn place() -> Result<PathBuf, String> {
        if let Some(file) = std::env::var_os(KEY_FILE) {
            return Ok(file.into());
        }
        let home = || Some(absolute_path("HOME")?.join(".config"));
        let Some(settings) = absolute_path("XDG_CONFIG_HOME").or_else(home) else {
            return Err(format!("HOME is not set; use {KEY_FILE}=FILE to select the key"));
        };
        Ok(settings.join("plumb/peer.key"))
    }

    /// What is derived from it for one use: HMAC-SHA256 of the name of that use (RFC 5869, for one block).
    pub(crate) fn derived(&self, usage: &str) -> [u8; LENGTH] {
        let derived = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &self.0), usage.as_bytes());
        let mut bytes = [0; LENGTH];
        bytes.copy_from_slice(derived.as_ref());
        bytes
    }
}

/// The key itself is never shown.
impl fmt::Debug for PeerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// A variable of the environment that holds an absolute path; others are ignored, as the XDG specification wants it.
fn absolute_path(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

fn of_text(text: &str) -> Option<PeerKey> {
    if text.len() != 2 * LENGTH || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; LENGTH];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok()?;
    }
    Some(PeerKey(bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::{PeerKey, of_text};

    #[test]
    fn a_key_is_written_once_and_read_by_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings/peer.key");
        PeerKey::create(&file).unwrap();
        let key = PeerKey::read(&file).unwrap();
        assert!(!format!("{key:?}").contains(&format!("{}", key.0[0])));
        assert!(PeerKey::create(&file).unwrap_err().contains("File exists"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(PeerKey::read(&file).unwrap_err().contains("chmod 600"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&file, "secret").unwrap();
        assert!(PeerKey::read(&file).unwrap_err().ends_with("64 hexadecimal digits"));
        assert!(of_text(&"+1".repeat(32)).is_none());
        assert!(of_text(&"x".repeat(64)).is_none() && of_text(&"é".repeat(32)).is_none());
    }

    #[test]
    fn what_is_derived_differs_by_use_and_by_key() {
        let one = PeerKey([1; 32]);
        let other = PeerKey([2; 32]);
        assert_eq!(one.derived("client"), one.derived("client"));
        assert_ne!(one.derived("client"), one.derived("server"));
        assert_ne!(one.derived("client"), other.derived("client"));
    }
}
