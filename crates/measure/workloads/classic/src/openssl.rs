//! `classic.openssl`: `openssl speed` of a cipher.

use std::path::Path;

use plumb_classics::Format;
use plumb_model::{Better, Metric, Parameter};
use plumb_protocol::{Start, StartError};

use plumb_workload_kit::declare::{between, bytes, choice, integer, reported, switch};

use crate::named::{ToolNames, value_names};
use crate::tool::{Call, Tool};
use crate::version;

/// Makes OpenSSL believe that the CPU has no AVX-512 (bits F, DQ, CD, BW and VL of leaf 7; OPENSSL_ia32cap(3)).
const WITHOUT_AVX512: &str = "OPENSSL_ia32cap=:~0xd0030000";

#[derive(Clone)]
pub(crate) struct Openssl;

impl Tool for Openssl {
    fn named(&self) -> ToolNames {
        ToolNames {
            id: "classic.openssl",
            summary: "openssl speed: encrypts messages with authenticated encryption",
            manual: include_str!("openssl.md"),
            program: "openssl",
            package: "openssl",
            format: Some(Format::Openssl),
            prints: "throughput",
            values: const { &value_names("throughput") },
        }
    }

    fn metric(&self) -> Metric {
        reported("throughput", "B/s", Better::Higher, "bytes of plaintext encrypted per second")
    }

    fn parameters(&self) -> Vec<Parameter> {
        let ciphers = ["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"];
        vec![
            choice("cipher", &ciphers, "authenticated cipher (-evp)"),
            between(16, 1 << 20, bytes("bytes", 16 << 10, "plaintext size of a message (-bytes)")),
            between(
                1,
                60,
                integer("seconds", "seconds", 1, "how long one process measures (-seconds)"),
            ),
            switch(
                "aead",
                "a nonce, 13 bytes of associated data and a tag per message, as in TLS (-aead)",
            ),
            choice(
                "instructions",
                &["all", "no-avx512"],
                "instructions that OpenSSL may use (OPENSSL_ia32cap); x86 only",
            ),
        ]
    }

    fn version(&self, path: &Path) -> Result<String, StartError> {
        version::after(path, &["version"], "OpenSSL ")
    }

    fn call(&self, start: &Start, _version: &str) -> Result<Call, StartError> {
        let bytes = start.size("bytes").to_string();
        let seconds = start.size("seconds").to_string();
        let words = ["speed", "-mr", "-elapsed", "-seconds", &seconds, "-bytes", &bytes, "-evp"];
        let aead = start.is_on("aead").then_some("-aead");
        let mut call = Call::with(words.into_iter().chain([start.text("cipher")]).chain(aead));
        if start.text("instructions") == "no-avx512" {
            call.variable = Some(WITHOUT_AVX512.to_owned());
        }
        Ok(call)
    }
}
