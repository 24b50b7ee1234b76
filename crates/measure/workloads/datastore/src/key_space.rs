//! Keys of entities on servers that also hold keys of others.

use std::io::Write;

use plumb_protocol::Failure;
use plumb_workload_ends::token;

/// The keys of one process: `plumb:TOKEN:NUMBER`. Two processes that use one server do not disturb each other, and keys of
/// other programs stay as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeySpace {
    token: u32,
}

impl KeySpace {
    /// A space that nobody else has.
    ///
    /// # Errors
    /// If the kernel has no random bytes.
    pub(crate) fn fresh() -> Result<Self, Failure> {
        let [first, second, third, fourth, ..] = token::fresh()?;
        Ok(Self { token: u32::from_le_bytes([first, second, third, fourth]) })
    }

    /// The key of an entity. Keys have digits of equal length, so that they sort as their numbers do.
    pub(crate) fn key(&self, number: u64) -> KeyText {
        KeyText::of(format_args!("plumb:{:08x}:{number:012}", self.token))
    }

    /// The first key behind all of them in the order of bytes.
    pub(crate) fn end(&self) -> KeyText {
        KeyText::of(format_args!("plumb:{:08x};", self.token))
    }
}

/// The text of a key, without allocation.
pub(crate) struct KeyText {
    bytes: [u8; 40],
    length: usize,
}

impl KeyText {
    fn of(text: std::fmt::Arguments<'_>) -> Self {
        let mut bytes = [0; 40];
        let mut rest = &mut bytes[..];
        // Numbers have at most 20 digits, so that there is room.
        let _ = rest.write_fmt(text);
        let left = rest.len();
        Self { length: bytes.len() - left, bytes }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::KeySpace;

    #[test]
    fn keys_sort_as_their_numbers_and_end_before_the_next_space() {
        let keys = KeySpace { token: 0xab };
        assert_eq!(keys.key(7).as_bytes(), b"plumb:000000ab:000000000007");
        assert_eq!(keys.key(u64::MAX).as_bytes(), b"plumb:000000ab:18446744073709551615");
        assert!(keys.key(9).as_bytes() < keys.key(10).as_bytes());
        assert!(keys.key(u64::MAX).as_bytes() < keys.end().as_bytes());
        assert!(keys.end().as_bytes() < KeySpace { token: 0xac }.key(0).as_bytes());
        assert_ne!(KeySpace::fresh().unwrap(), KeySpace::fresh().unwrap());
    }
}
