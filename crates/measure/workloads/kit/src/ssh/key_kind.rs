//! Kinds of keys that servers and users log in with.

/// Kinds of keys of hosts and users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// Ed25519, the default of OpenSSH.
    Ed25519,
    /// ECDSA on P-256.
    EcdsaP256,
    /// RSA with 3072 bits, the default of `ssh-keygen -t rsa`.
    Rsa3072,
}

impl KeyKind {
    /// All kinds that plumb makes.
    pub(super) const ALL: [Self; 3] = [Self::Ed25519, Self::EcdsaP256, Self::Rsa3072];

    /// The name at the beginning of a public key.
    pub(super) fn public_name(self) -> &'static str {
        match self {
            Self::Ed25519 => "ssh-ed25519",
            Self::EcdsaP256 => "ecdsa-sha2-nistp256",
            Self::Rsa3072 => "ssh-rsa",
        }
    }

    /// The options by which ssh-keygen makes one.
    pub(super) fn options(self) -> [&'static str; 4] {
        match self {
            Self::Ed25519 => ["-t", "ed25519", "-b", "256"],
            Self::EcdsaP256 => ["-t", "ecdsa", "-b", "256"],
            Self::Rsa3072 => ["-t", "rsa", "-b", "3072"],
        }
    }
}
