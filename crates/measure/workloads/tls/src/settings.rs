//! What the parameters of the family say of a connection: version, group, cipher, key, and how far a server is trusted.

use std::sync::Arc;

use plumb_model::Parameter;
use plumb_protocol::{Failure, Start, StartError};
use plumb_workload_ends::authorities;
use plumb_workload_kit::declare::choice;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::{cipher_suite, default_provider, kx_group};
use rustls::crypto::{
    CryptoProvider, SupportedKxGroup, WebPkiSupportedAlgorithms, verify_tls12_signature,
    verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    SupportedCipherSuite, SupportedProtocolVersion,
};

use crate::post_quantum::X25519_ML_KEM_768;

/// The kind of key by which plumb's server proves its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerKey {
    /// ECDSA on P-256.
    EcdsaP256,
    /// EdDSA on Curve25519.
    Ed25519,
    /// RSA with 2048 bits.
    Rsa2048,
    /// RSA with 4096 bits.
    Rsa4096,
}

/// A protocol version with one group and one cipher.
#[derive(Debug, Clone)]
pub(crate) struct TlsSettings {
    /// The only version that is offered.
    pub(crate) version: &'static SupportedProtocolVersion,
    /// Of plumb's own server.
    pub(crate) key: ServerKey,
    group: &'static dyn SupportedKxGroup,
    suites: Vec<SupportedCipherSuite>,
}

/// The parameters that [`TlsSettings::of`] reads.
pub(crate) fn parameters() -> Vec<Parameter> {
    vec![
        choice("version", &["1.3", "1.2"], "protocol version"),
        choice(
            "group",
            &["x25519", "p-256", "p-384", "x25519-ml-kem-768"],
            "key exchange; x25519-ml-kem-768 is post-quantum (TLS 1.3 only)",
        ),
        choice("cipher", &["aes-256-gcm", "aes-128-gcm", "chacha20-poly1305"], "cipher"),
        choice(
            "key",
            &["ecdsa-p256", "ed25519", "rsa-2048", "rsa-4096"],
            "key by which plumb's server proves its name",
        ),
    ]
}

impl TlsSettings {
    /// As the parameters say.
    ///
    /// # Errors
    /// Unsupported if the version does not have the group.
    pub(crate) fn of(start: &Start) -> Result<Self, StartError> {
        let is_old = start.text("version") == "1.2";
        let group = match start.text("group") {
            "p-256" => kx_group::SECP256R1,
            "p-384" => kx_group::SECP384R1,
            "x25519-ml-kem-768" if is_old => {
                return Err(StartError::unsupported(
                    "TLS 1.2 has no post-quantum group",
                    "set `version=1.3`",
                ));
            }
            "x25519-ml-kem-768" => X25519_ML_KEM_768,
            _ => kx_group::X25519,
        };
        let key = match start.text("key") {
            "ed25519" => ServerKey::Ed25519,
            "rsa-2048" => ServerKey::Rsa2048,
            "rsa-4096" => ServerKey::Rsa4096,
            _ => ServerKey::EcdsaP256,
        };
        let suites = match start.text("cipher") {
            "aes-128-gcm" => vec![
                cipher_suite::TLS13_AES_128_GCM_SHA256,
                cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
                cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            ],
            "chacha20-poly1305" => vec![
                cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
                cipher_suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
                cipher_suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
            ],
            _ => vec![
                cipher_suite::TLS13_AES_256_GCM_SHA384,
                cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
                cipher_suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            ],
        };
        Ok(Self { version: if is_old { &TLS12 } else { &TLS13 }, key, group, suites })
    }

    /// ring, with the one group and the one cipher.
    pub(crate) fn provider(&self) -> Arc<CryptoProvider> {
        Arc::new(CryptoProvider {
            cipher_suites: self.suites.clone(),
            kx_groups: vec![self.group],
            ..default_provider()
        })
    }

    /// Settings of a client that trusts these servers; every handshake is a full one until resumption is set.
    ///
    /// # Errors
    /// Unsupported if no authority is trusted here.
    pub(crate) fn client(&self, trust: Trust) -> Result<ClientConfig, StartError> {
        let provider = self.provider();
        let algorithms = provider.signature_verification_algorithms;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[self.version])
            .map_err(|error| Failure(format!("plumb can't use these settings: {error}")))?;
        let mut settings = match trust {
            Trust::Authorities => {
                builder.with_root_certificates(authorities::trusted()?).with_no_client_auth()
            }
            Trust::Certificate(certificate) => {
                let mut roots = RootCertStore::empty();
                roots
                    .add(certificate)
                    .map_err(|error| Failure(format!("the certificate of the server: {error}")))?;
                builder.with_root_certificates(roots).with_no_client_auth()
            }
            Trust::Anyone => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(NoVerification(algorithms)))
                .with_no_client_auth(),
        };
        settings.resumption = rustls::client::Resumption::disabled();
        Ok(settings)
    }
}

/// Which servers a client trusts.
#[derive(Debug)]
pub(crate) enum Trust {
    /// Those for which an authority of this machine vouches.
    Authorities,
    /// The one that has this certificate.
    Certificate(CertificateDer<'static>),
    /// All: the user said so.
    Anyone,
}

/// Accepts every certificate, but checks that the server has its key.
#[derive(Debug)]
struct NoVerification(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for NoVerification {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
