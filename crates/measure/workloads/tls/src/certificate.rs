//! Certificates that are made for one run.

use plumb_protocol::Failure;
use plumb_workload_kit::keys;
use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519, PKCS_RSA_SHA256};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::settings::ServerKey;

/// A certificate with its key.
pub(crate) struct ServerIdentity {
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) key: PrivateKeyDer<'static>,
}

impl ServerIdentity {
    /// Signed by itself, for a server of this name. RSA keys are plumb's published ones, because ring makes none; others are fresh.
    ///
    /// # Errors
    /// If no certificate can be made.
    pub(crate) fn of(name: &str, kind: ServerKey) -> Result<Self, Failure> {
        let failed = |error: rcgen::Error| Failure(format!("a certificate for {name}: {error}"));
        let pair = match kind {
            ServerKey::EcdsaP256 => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256),
            ServerKey::Ed25519 => KeyPair::generate_for(&PKCS_ED25519),
            ServerKey::Rsa2048 => rsa(keys::RSA_2048.key),
            ServerKey::Rsa4096 => rsa(keys::RSA_4096.key),
        };
        let pair = pair.map_err(failed)?;
        let certificate = CertificateParams::new(vec![name.to_owned()])
            .and_then(|parameters| parameters.self_signed(&pair))
            .map_err(failed)?;
        Ok(Self {
            certificate: certificate.der().clone(),
            key: PrivatePkcs8KeyDer::from(pair.serialize_der()).into(),
        })
    }
}

fn rsa(key: &'static [u8]) -> Result<KeyPair, rcgen::Error> {
    KeyPair::from_pkcs8_der_and_sign_algo(&PrivatePkcs8KeyDer::from(key), &PKCS_RSA_SHA256)
}

/// Bytes as hexadecimal digits, as endpoints pass them.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes of hexadecimal digits; None if they are not.
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::{ServerIdentity, from_hex, to_hex};
    use crate::settings::ServerKey;

    #[test]
    fn every_kind_of_key_has_a_certificate() {
        let kinds =
            [ServerKey::EcdsaP256, ServerKey::Ed25519, ServerKey::Rsa2048, ServerKey::Rsa4096];
        for kind in kinds {
            let identity = ServerIdentity::of("plumb.invalid", kind).unwrap();
            let text = to_hex(&identity.certificate);
            assert_eq!(from_hex(&text).unwrap(), identity.certificate.to_vec());
        }
        assert_eq!(from_hex("0g"), None);
        assert_eq!(from_hex("0"), None);
    }
}
