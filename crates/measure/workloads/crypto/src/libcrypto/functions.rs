//! The functions of libcrypto, by their C types.

use std::ffi::{c_char, c_int, c_long, c_uchar, c_uint, c_void};

use plumb_protocol::Failure;
use plumb_workload_kit::library_functions;

/// An object of OpenSSL whose layout is private.
pub(super) type Opaque = *mut c_void;

library_functions! {
    /// The functions of libcrypto that plumb calls.
    Functions {
        version = "OpenSSL_version": fn(c_int) -> *const c_char;
        info = "OPENSSL_info": fn(c_int) -> *const c_char;
        cipher_fetch = "EVP_CIPHER_fetch": fn(Opaque, *const c_char, *const c_char) -> Opaque;
        cipher_key_length = "EVP_CIPHER_get_key_length": fn(Opaque) -> c_int;
        cipher_nonce_length = "EVP_CIPHER_get_iv_length": fn(Opaque) -> c_int;
        cipher_context = "EVP_CIPHER_CTX_new": fn() -> Opaque;
        cipher_context_free = "EVP_CIPHER_CTX_free": fn(Opaque) -> ();
        cipher_control = "EVP_CIPHER_CTX_ctrl": fn(Opaque, c_int, c_int, *mut c_void) -> c_int;
        encrypt_init = "EVP_EncryptInit_ex": fn(Opaque, Opaque, Opaque, *const c_uchar, *const c_uchar) -> c_int;
        encrypt_update = "EVP_EncryptUpdate": fn(Opaque, *mut c_uchar, *mut c_int, *const c_uchar, c_int) -> c_int;
        encrypt_final = "EVP_EncryptFinal_ex": fn(Opaque, *mut c_uchar, *mut c_int) -> c_int;
        decrypt_init = "EVP_DecryptInit_ex": fn(Opaque, Opaque, Opaque, *const c_uchar, *const c_uchar) -> c_int;
        decrypt_update = "EVP_DecryptUpdate": fn(Opaque, *mut c_uchar, *mut c_int, *const c_uchar, c_int) -> c_int;
        decrypt_final = "EVP_DecryptFinal_ex": fn(Opaque, *mut c_uchar, *mut c_int) -> c_int;
        digest_fetch = "EVP_MD_fetch": fn(Opaque, *const c_char, *const c_char) -> Opaque;
        digest = "EVP_Digest": fn(*const c_void, usize, *mut c_uchar, *mut c_uint, Opaque, Opaque) -> c_int;
        digest_context = "EVP_MD_CTX_new": fn() -> Opaque;
        digest_context_free = "EVP_MD_CTX_free": fn(Opaque) -> ();
        mac_fetch = "EVP_MAC_fetch": fn(Opaque, *const c_char, *const c_char) -> Opaque;
        mac_context = "EVP_MAC_CTX_new": fn(Opaque) -> Opaque;
        mac_context_free = "EVP_MAC_CTX_free": fn(Opaque) -> ();
        mac_init = "EVP_MAC_init": fn(Opaque, *const c_uchar, usize, *const OsslParameter) -> c_int;
        mac_update = "EVP_MAC_update": fn(Opaque, *const c_uchar, usize) -> c_int;
        mac_final = "EVP_MAC_final": fn(Opaque, *mut c_uchar, *mut usize, usize) -> c_int;
        random = "RAND_bytes": fn(*mut c_uchar, c_int) -> c_int;
        pbkdf2 = "PKCS5_PBKDF2_HMAC": fn(*const c_char, c_int, *const c_uchar, c_int, c_int, Opaque, c_int, *mut c_uchar) -> c_int;
        scrypt = "EVP_PBE_scrypt": fn(*const c_char, usize, *const c_uchar, usize, u64, u64, u64, u64, *mut c_uchar, usize) -> c_int;
        kdf_fetch = "EVP_KDF_fetch": fn(Opaque, *const c_char, *const c_char) -> Opaque;
        kdf_free = "EVP_KDF_free": fn(Opaque) -> ();
        kdf_context = "EVP_KDF_CTX_new": fn(Opaque) -> Opaque;
        kdf_context_free = "EVP_KDF_CTX_free": fn(Opaque) -> ();
        kdf_derive = "EVP_KDF_derive": fn(Opaque, *mut c_uchar, usize, *const OsslParameter) -> c_int;
        read_key = "d2i_AutoPrivateKey": fn(*mut Opaque, *mut *const c_uchar, c_long) -> Opaque;
        key_free = "EVP_PKEY_free": fn(Opaque) -> ();
        sign_init = "EVP_DigestSignInit": fn(Opaque, *mut Opaque, Opaque, Opaque, Opaque) -> c_int;
        sign = "EVP_DigestSign": fn(Opaque, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;
        verify_init = "EVP_DigestVerifyInit": fn(Opaque, *mut Opaque, Opaque, Opaque, Opaque) -> c_int;
        verify = "EVP_DigestVerify": fn(Opaque, *const c_uchar, usize, *const c_uchar, usize) -> c_int;
        key_context_by_name = "EVP_PKEY_CTX_new_from_name": fn(Opaque, *const c_char, *const c_char) -> Opaque;
        key_context = "EVP_PKEY_CTX_new": fn(Opaque, Opaque) -> Opaque;
        key_context_free = "EVP_PKEY_CTX_free": fn(Opaque) -> ();
        generate_init = "EVP_PKEY_keygen_init": fn(Opaque) -> c_int;
        generate = "EVP_PKEY_keygen": fn(Opaque, *mut Opaque) -> c_int;
        set_group = "EVP_PKEY_CTX_set_group_name": fn(Opaque, *const c_char) -> c_int;
        derive_init = "EVP_PKEY_derive_init": fn(Opaque) -> c_int;
        derive_peer = "EVP_PKEY_derive_set_peer": fn(Opaque, Opaque) -> c_int;
        derive = "EVP_PKEY_derive": fn(Opaque, *mut c_uchar, *mut usize) -> c_int;
        encapsulate_init = "EVP_PKEY_encapsulate_init": fn(Opaque, *const OsslParameter) -> c_int;
        encapsulate = "EVP_PKEY_encapsulate": fn(Opaque, *mut c_uchar, *mut usize, *mut c_uchar, *mut usize) -> c_int;
        decapsulate_init = "EVP_PKEY_decapsulate_init": fn(Opaque, *const OsslParameter) -> c_int;
        decapsulate = "EVP_PKEY_decapsulate": fn(Opaque, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;
    }
}

/// `OSSL_PARAM` of openssl/core.h.
#[repr(C)]
pub(super) struct OsslParameter {
    pub(super) key: *const c_char,
    pub(super) kind: c_uint,
    pub(super) data: *mut c_void,
    pub(super) size: usize,
    pub(super) return_size: usize,
}

/// `OSSL_PARAM_UNSIGNED_INTEGER` of openssl/core.h.
pub(super) const NUMBER_PARAMETER: c_uint = 2;
/// `OSSL_PARAM_OCTET_STRING` of openssl/core.h.
pub(super) const BYTES_PARAMETER: c_uint = 5;
/// `OSSL_PARAM_UTF8_STRING` of openssl/core.h.
pub(super) const TEXT_PARAMETER: c_uint = 4;
/// `OSSL_PARAM_UNMODIFIED` of openssl/core.h.
pub(super) const UNMODIFIED: usize = usize::MAX;

pub(super) fn done(result: c_int, otherwise: &str) -> Result<(), Failure> {
    if result == 1 { Ok(()) } else { Err(Failure(format!("libcrypto: {otherwise}"))) }
}

pub(super) fn length(buffer: &[u8]) -> Result<c_int, Failure> {
    c_int::try_from(buffer.len()).map_err(|_| Failure("a buffer of more than 2 GiB".into()))
}
