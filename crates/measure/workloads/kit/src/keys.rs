//! Private keys for measuring. They are public and protect nothing; `keys/README.md` gives their sources.

/// A key, and a signature that was made with it elsewhere.
#[derive(Debug)]
pub struct PublishedKey {
    /// The private key in PKCS#8.
    pub key: &'static [u8],
    /// The message that was signed.
    pub message: &'static [u8],
    /// Its signature; of ECDSA in ASN.1.
    pub signature: &'static [u8],
}

/// ECDSA on the curve P-256 (RFC 6979, section A.2.5).
pub static ECDSA_P256: PublishedKey = PublishedKey {
    key: include_bytes!("../keys/ecdsa-p256.der"),
    message: b"sample",
    signature: include_bytes!("../keys/ecdsa-p256.sig"),
};

/// Ed25519 (RFC 8032, section 7.1, test 3).
pub static ED25519: PublishedKey = PublishedKey {
    key: include_bytes!("../keys/ed25519.der"),
    message: b"\xaf\x82",
    signature: include_bytes!("../keys/ed25519.sig"),
};

/// RSA with 2048 bits, made by OpenSSL.
pub static RSA_2048: PublishedKey = PublishedKey {
    key: include_bytes!("../keys/rsa-2048.der"),
    message: b"abc",
    signature: include_bytes!("../keys/rsa-2048.sig"),
};

/// RSA with 4096 bits, made by OpenSSL.
pub static RSA_4096: PublishedKey = PublishedKey {
    key: include_bytes!("../keys/rsa-4096.der"),
    message: b"abc",
    signature: include_bytes!("../keys/rsa-4096.sig"),
};
