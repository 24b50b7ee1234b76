//! The algorithms that a server offers its clients.

/// Names as OpenSSH spells them, each list with commas between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Algorithms {
    /// Ciphers of the data.
    pub ciphers: String,
    /// Message authentication codes.
    pub macs: String,
    /// Key exchanges at the start of a session.
    pub exchanges: String,
}
