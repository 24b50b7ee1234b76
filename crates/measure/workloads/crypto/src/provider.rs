//! Who computes: ring, the crates of RustCrypto, or the system's libcrypto.

use plumb_model::{Facts, Parameter, Ready};
use plumb_protocol::{Start, StartError};
use plumb_workload_kit::declare;

use crate::libcrypto::Libcrypto;

/// The crates that compute and their versions in Cargo.lock; a test compares them, because crates do not report their own.
const CRATES: [(&str, &str); 15] = [
    ("ring", "0.17.14"),
    ("aes", "0.9.4"),
    ("aes-gcm", "0.11.1"),
    ("chacha20", "0.10.2"),
    ("chacha20poly1305", "0.11.0"),
    ("ml-kem", "0.3.4"),
    ("sha1", "0.11.0"),
    ("sha2", "0.11.1"),
    ("sha3", "0.12.0"),
    ("blake2", "0.11.0"),
    ("hmac", "0.13.0"),
    ("xts-mode", "0.6.0"),
    ("pbkdf2", "0.13.0"),
    ("scrypt", "0.12.0"),
    ("argon2", "0.6.0"),
];

/// CPU features by which cryptographic code is chosen, among those that plumb knows of a host.
const FEATURES: [&str; 10] =
    ["aes", "avx", "avx2", "avx512f", "bmi2", "pclmulqdq", "sha_ni", "vaes", "vpclmulqdq", "ssse3"];

/// The library that computes.
#[derive(Clone, Copy)]
pub(super) enum Provider {
    /// The crate ring, with BoringSSL's assembly.
    Ring,
    /// The crates of the RustCrypto project.
    RustCrypto,
    /// The installed libcrypto of OpenSSL, or the one that `library` names.
    System(&'static Libcrypto),
}

/// The parameters that choose the provider; `names` are those that a workload knows, the default first.
pub(super) fn parameters(names: &[&str]) -> Vec<Parameter> {
    vec![
        declare::choice(
            "provider",
            names,
            "library that computes; system: the installed libcrypto of OpenSSL",
        ),
        declare::text(
            "library",
            "",
            "file of another libcrypto for provider=system, such as /opt/openssl/lib64/libcrypto.so.3",
        ),
    ]
}

/// The parameter that switches off the instructions of AES, of workloads that use them.
pub(super) fn acceleration() -> Parameter {
    declare::choice(
        "acceleration",
        &["on", "off"],
        "off: without AES and carry-less multiplication instructions (provider=system)",
    )
}

impl Provider {
    /// The provider that the parameters name.
    ///
    /// # Errors
    /// Unsupported if there is no libcrypto, or the provider can't do without instructions.
    pub(super) fn of(start: &Start) -> Result<Self, StartError> {
        let library = start.text("library");
        let accelerated = start.text("acceleration") != "off";
        let provider = match start.text("provider") {
            "system" => return Libcrypto::load(library, accelerated).map(Self::System),
            "rustcrypto" => Self::RustCrypto,
            _ => Self::Ring,
        };
        if !library.is_empty() {
            return Err(StartError::unsupported(
                format!("provider {} does not use the library {library}", provider.name()),
                "set `provider=system`",
            ));
        }
        if !accelerated {
            return Err(StartError::unsupported(
                format!("{} always uses the instructions that the CPU has", provider.name()),
                "set `provider=system`",
            ));
        }
        Ok(provider)
    }

    /// The name that the parameter `provider` has for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::RustCrypto => "rustcrypto",
            Self::System(_) => "system",
        }
    }

    /// The name with the version, for people.
    pub(super) fn title(self) -> String {
        match self {
            Self::Ring => format!("ring {}", version_of("ring")),
            Self::RustCrypto => "RustCrypto as built into plumb".to_owned(),
            Self::System(library) => format!("libcrypto {}", library.version()),
        }
    }

    /// The providers that could do the same work without being asked; none for the system's library, which somebody
    /// asked for.
    pub(super) fn others(self) -> Vec<Self> {
        let built_in = match self {
            Self::Ring => Self::RustCrypto,
            Self::RustCrypto => Self::Ring,
            Self::System(_) => return Vec::new(),
        };
        let system = Libcrypto::load("", true).ok().map(Self::System);
        system.into_iter().chain([built_in]).collect()
    }

    /// The error of an algorithm that this provider does not have; `others` have it.
    pub(super) fn lacks(self, algorithm: &str, others: &str) -> StartError {
        let which = self.title();
        StartError::unsupported(format!("{which} has no {algorithm}"), format!("set {others}"))
    }

    /// Adds the provider, its version, and the instructions that it may use. `crates` are those that
    /// compute if it is RustCrypto.
    pub(super) fn describe(self, crates: &[&str], facts: &Facts, ready: &mut Ready) {
        match self {
            Self::Ring => {
                ready.versions.insert("ring".into(), version_of("ring").into());
                ready.notes.push("provider: ring".into());
            }
            Self::RustCrypto => {
                for name in crates {
                    ready.versions.insert((*name).into(), version_of(name).into());
                }
                ready.notes.push(format!("provider: RustCrypto ({})", crates.join(", ")));
            }
            Self::System(library) => {
                ready.versions.insert("libcrypto".into(), library.version().into());
                ready.notes.push(format!("provider: libcrypto of OpenSSL {}", library.version()));
            }
        }
        if facts.cpu_features.is_empty() {
            return;
        }
        let present: Vec<&str> = FEATURES
            .into_iter()
            .filter(|feature| facts.cpu_features.iter().any(|here| here == feature))
            .collect();
        let listed = if present.is_empty() { "none".into() } else { present.join(" ") };
        ready.notes.push(format!("CPU features for cryptography: {listed}"));
    }
}

/// The version of a crate that computes.
fn version_of(crate_name: &str) -> &'static str {
    let found = CRATES.iter().find(|(name, _)| *name == crate_name);
    found.map_or("unknown", |(_, version)| version)
}

#[cfg(test)]
mod tests {
    use super::{CRATES, Provider};
    use plumb_model::{Facts, Ready};

    #[test]
    fn versions_are_those_that_are_built_in() {
        let lock = include_str!("../../../../../Cargo.lock");
        for (name, version) in CRATES {
            let entry = format!("name = \"{name}\"\nversion = \"{version}\"");
            assert!(lock.contains(&entry), "{name} in Cargo.lock is not {version}: change CRATES");
        }
    }

    #[test]
    fn features_are_named_if_they_are_known() {
        let facts = Facts {
            cpu_features: vec!["fpu".into(), "aes".into(), "avx".into()],
            ..Facts::default()
        };
        let mut ready = Ready::default();
        Provider::Ring.describe(&["aes-gcm"], &facts, &mut ready);
        assert_eq!(ready.notes[1], "CPU features for cryptography: aes avx");
        let mut ready = Ready::default();
        Provider::Ring.describe(&["aes-gcm"], &Facts::default(), &mut ready);
        assert_eq!(ready.notes.len(), 1);
    }
}
