//! Who is at the other end: whoever signs with the key that both derive from the shared one.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{
    CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, NoServerSessionStorage};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig,
    SignatureScheme,
};

use crate::key::PeerKey;

/// The names of the two uses of the shared key.
const OF_SERVER: &str = "plumb peer: server";
const OF_CLIENT: &str = "plumb peer: client";
/// What stands before the 32 bytes of a private key of Ed25519 in PKCS #8 (RFC 8410, section 7).
const PKCS8: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// How a peer speaks TLS.
///
/// # Errors
/// When rustls takes no such key.
pub(crate) fn server(key: &PeerKey) -> Result<Arc<ServerConfig>, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let own = certified(key, OF_SERVER, &provider)?;
    let client = Pinned::to(key, OF_CLIENT, &provider)?;
    let mut settings = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(Arc::new(client))
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(own)));
    // Each connection proves the key again.
    settings.send_tls13_tickets = 0;
    settings.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(Arc::new(settings))
}

/// How one who reaches a peer speaks TLS.
///
/// # Errors
/// When rustls takes no such key.
pub(crate) fn client(key: &PeerKey) -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let own = certified(key, OF_CLIENT, &provider)?;
    let server = Pinned::to(key, OF_SERVER, &provider)?;
    let mut settings = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(server))
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(own)));
    settings.resumption = Resumption::disabled();
    // The name is a placeholder, and SNI would send it in the clear.
    settings.enable_sni = false;
    Ok(Arc::new(settings))
}

/// The key of an end, with its public half as that is shown.
fn certified(
    key: &PeerKey,
    usage: &str,
    provider: &CryptoProvider,
) -> Result<Arc<CertifiedKey>, Error> {
    let private = [&PKCS8[..], &key.derived(usage)].concat();
    let signer =
        provider.key_provider.load_private_key(PrivatePkcs8KeyDer::from(private).into())?;
    let Some(half) = signer.public_key() else {
        return Err(Error::General("a key without a public half".to_owned()));
    };
    let public = CertificateDer::from(half.as_ref().to_vec());
    Ok(Arc::new(CertifiedKey::new(vec![public], signer)))
}

/// The other end has one key and no other.
#[derive(Debug)]
struct Pinned {
    public: CertificateDer<'static>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Pinned {
    fn to(key: &PeerKey, usage: &str, provider: &CryptoProvider) -> Result<Self, Error> {
        let public = certified(key, usage, provider)?.cert[0].clone();
        Ok(Self { public, algorithms: provider.signature_verification_algorithms })
    }

    fn is_it(&self, shown: &CertificateDer<'_>) -> Result<(), Error> {
        let is_it = shown.as_ref() == self.public.as_ref();
        is_it.then_some(()).ok_or(CertificateError::ApplicationVerificationFailure.into())
    }

    fn has_signed(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let public = SubjectPublicKeyInfoDer::from(shown.as_ref());
        verify_tls13_signature_with_raw_key(message, &public, signed, &self.algorithms)
    }
}

/// Only TLS 1.3 is spoken.
fn too_old() -> Error {
    Error::General("TLS 1.2 is not supported".to_owned())
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.is_it(shown).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _shown: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(too_old())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.has_signed(message, shown, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        shown: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.is_it(shown).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _shown: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(too_old())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.has_signed(message, shown, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
