//! The key exchange group X25519MLKEM768 for rustls: ML-KEM-768 by RustCrypto and X25519 by ring, whose default provider does not
//! have it. Shares and secrets are concatenated as draft-ietf-tls-ecdhe-mlkem says, ML-KEM's first.

use ml_kem::array::Array;
use ml_kem::kem::{Decapsulate, KeyExport, TryKeyInit};
use ml_kem::ml_kem_768::{DecapsulationKey, EncapsulationKey};
use ml_kem::{FromSeed, MlKem768};
use ring::rand::{SecureRandom, SystemRandom};
use rustls::crypto::ring::kx_group::X25519;
use rustls::crypto::{ActiveKeyExchange, CompletedKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, PeerMisbehaved, ProtocolVersion};

/// Bytes of an encapsulation key and of an encapsulation (FIPS 203, table 3), and of a point of X25519.
const ENCAPSULATION_KEY: usize = 1184;
const ENCAPSULATION: usize = 1088;

/// The group, as rustls takes it.
pub(crate) static X25519_ML_KEM_768: &dyn SupportedKxGroup = &HybridGroup;

/// X25519 and ML-KEM-768 together.
#[derive(Debug)]
struct HybridGroup;

impl SupportedKxGroup for HybridGroup {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let curve = X25519.start()?;
        let mut seed = [0; 64];
        SystemRandom::new().fill(&mut seed).map_err(|_| Error::FailedToGetRandomBytes)?;
        let (key, public_key) = MlKem768::from_seed(&Array(seed));
        let mut share = public_key.to_bytes().to_vec();
        share.extend_from_slice(curve.pub_key());
        Ok(Box::new(HybridExchange { key, curve, share }))
    }

    fn start_and_complete(&self, client_share: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let (key, point) =
            client_share.split_at_checked(ENCAPSULATION_KEY).ok_or_else(misbehaved)?;
        let key = EncapsulationKey::new_from_slice(key).map_err(|_| misbehaved())?;
        let curve = X25519.start_and_complete(point)?;
        let mut message = [0; 32];
        SystemRandom::new().fill(&mut message).map_err(|_| Error::FailedToGetRandomBytes)?;
        let (encapsulation, secret) = key.encapsulate_deterministic(&Array(message));
        let mut share = encapsulation.to_vec();
        share.extend_from_slice(&curve.pub_key);
        Ok(CompletedKeyExchange {
            group: self.name(),
            pub_key: share,
            secret: joined(&secret, &curve.secret),
        })
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_3
    }
}

/// A client's half of an exchange.
struct HybridExchange {
    key: DecapsulationKey,
    curve: Box<dyn ActiveKeyExchange>,
    share: Vec<u8>,
}

impl ActiveKeyExchange for HybridExchange {
    fn complete(self: Box<Self>, server_share: &[u8]) -> Result<SharedSecret, Error> {
        let (encapsulation, point) =
            server_share.split_at_checked(ENCAPSULATION).ok_or_else(misbehaved)?;
        let secret = self.key.decapsulate_slice(encapsulation).map_err(|_| misbehaved())?;
        let curve = self.curve.complete(point)?;
        Ok(joined(&secret, &curve))
    }

    fn pub_key(&self) -> &[u8] {
        &self.share
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }
}

fn joined(lattice: &[u8], curve: &SharedSecret) -> SharedSecret {
    let mut both = lattice.to_vec();
    both.extend_from_slice(curve.secret_bytes());
    SharedSecret::from(both)
}

fn misbehaved() -> Error {
    PeerMisbehaved::InvalidKeyShare.into()
}

#[cfg(test)]
mod tests {
    use super::X25519_ML_KEM_768;

    #[test]
    fn both_sides_have_one_secret_and_shares_have_their_lengths() {
        let client = X25519_ML_KEM_768.start().unwrap();
        assert_eq!(client.pub_key().len(), 1184 + 32);
        let server = X25519_ML_KEM_768.start_and_complete(client.pub_key()).unwrap();
        assert_eq!(server.pub_key.len(), 1088 + 32);
        let secret = client.complete(&server.pub_key).unwrap();
        assert_eq!(secret.secret_bytes(), server.secret.secret_bytes());
        assert_eq!(secret.secret_bytes().len(), 64);
    }

    #[test]
    fn short_shares_are_refused() {
        assert!(X25519_ML_KEM_768.start_and_complete(&[0; 100]).is_err());
        assert!(X25519_ML_KEM_768.start().unwrap().complete(&[0; 100]).is_err());
    }
}
