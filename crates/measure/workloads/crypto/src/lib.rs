//! The family `crypto`.

use plumb_protocol::Workload;

mod aead;
mod agree;
mod batches;
mod digest;
mod hash;
mod kdf;
mod libcrypto;
mod mac;
mod provider;
mod random;
mod sign;
mod speed;
mod xts;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[
    &aead::Aead,
    &hash::Hashing,
    &mac::MessageAuthentication,
    &xts::Xts,
    &agree::Agree,
    &sign::Sign,
    &random::RandomNumbers,
    &kdf::KeyDerivation,
];
