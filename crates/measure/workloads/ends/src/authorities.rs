//! The certificate authorities that this machine trusts.

use std::path::{Path, PathBuf};

use plumb_protocol::StartError;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// The variable that names a file of trusted authorities, as OpenSSL and curl read it.
const AUTHORITIES: &str = "SSL_CERT_FILE";
/// Where distributions keep theirs: Debian and Arch, Fedora, openSUSE, Alpine.
const FILES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The authorities that this machine trusts.
///
/// # Errors
/// Unsupported if there are none.
pub fn trusted() -> Result<RootCertStore, StartError> {
    let named = std::env::var_os(AUTHORITIES).map(PathBuf::from);
    let usual = FILES.iter().map(PathBuf::from).find(|file| file.exists());
    let file = named.or(usual).unwrap_or_default();
    let found = of_file(&file).map_err(|why| (file, why));
    found.map_err(|(file, why)| {
        StartError::unsupported(
            format!(
                "no certificate authority is trusted here, so plumb can't verify servers: {}: {why}",
                file.display()
            ),
            format!("apt install ca-certificates, or set {AUTHORITIES}=FILE"),
        )
    })
}

fn of_file(file: &Path) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    let all = CertificateDer::pem_file_iter(file).map_err(|error| error.to_string())?;
    store.add_parsable_certificates(all.flatten());
    if store.is_empty() { Err("it contains no certificate".to_owned()) } else { Ok(store) }
}

#[cfg(test)]
mod tests {
    use super::of_file;

    #[test]
    fn a_file_without_certificates_is_none_of_authorities() {
        let folder = std::env::temp_dir().join(format!("plumb-authorities-{}", std::process::id()));
        std::fs::write(&folder, "hello").unwrap();
        assert_eq!(of_file(&folder).unwrap_err(), "it contains no certificate");
        std::fs::remove_file(&folder).unwrap();
        assert!(of_file(&folder).is_err());
    }
}
