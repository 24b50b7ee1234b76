//! The functions of libssl and of the libcrypto below it, by their C types.

use std::ffi::{c_char, c_int, c_long, c_uchar, c_ulong, c_void};

use plumb_workload_kit::library_functions;

/// An object of OpenSSL whose layout is private.
pub(super) type OpensslObject = *mut c_void;

/// A function that is asked for each ClientHello (SSL_CTX_set_tlsext_servername_callback(3)).
pub(super) type ServernameCallback =
    unsafe extern "C" fn(OpensslObject, *mut c_int, *mut c_void) -> c_int;

library_functions! {
    /// The functions that plumb calls.
    SslFunctions {
        version = "OpenSSL_version": fn(c_int) -> *const c_char;
        next_error = "ERR_get_error": fn() -> c_ulong;
        error_text = "ERR_error_string_n": fn(c_ulong, *mut c_char, usize) -> ();
        clear_errors = "ERR_clear_error": fn() -> ();
        client_method = "TLS_client_method": fn() -> OpensslObject;
        server_method = "TLS_server_method": fn() -> OpensslObject;
        context = "SSL_CTX_new": fn(OpensslObject) -> OpensslObject;
        context_free = "SSL_CTX_free": fn(OpensslObject) -> ();
        context_control = "SSL_CTX_ctrl": fn(OpensslObject, c_int, c_long, *mut c_void) -> c_long;
        context_callback = "SSL_CTX_callback_ctrl": fn(OpensslObject, c_int, Option<ServernameCallback>) -> c_long;
        context_options = "SSL_CTX_set_options": fn(OpensslObject, u64) -> u64;
        set_suites = "SSL_CTX_set_ciphersuites": fn(OpensslObject, *const c_char) -> c_int;
        set_ciphers = "SSL_CTX_set_cipher_list": fn(OpensslObject, *const c_char) -> c_int;
        set_tickets = "SSL_CTX_set_num_tickets": fn(OpensslObject, usize) -> c_int;
        set_verification = "SSL_CTX_set_verify": fn(OpensslObject, c_int, *mut c_void) -> ();
        default_authorities = "SSL_CTX_set_default_verify_paths": fn(OpensslObject) -> c_int;
        certificate_store = "SSL_CTX_get_cert_store": fn(OpensslObject) -> OpensslObject;
        store_add = "X509_STORE_add_cert": fn(OpensslObject, OpensslObject) -> c_int;
        read_certificate = "d2i_X509": fn(*mut OpensslObject, *mut *const c_uchar, c_long) -> OpensslObject;
        certificate_free = "X509_free": fn(OpensslObject) -> ();
        use_certificate = "SSL_CTX_use_certificate_ASN1": fn(OpensslObject, c_int, *const c_uchar) -> c_int;
        read_key = "d2i_AutoPrivateKey": fn(*mut OpensslObject, *mut *const c_uchar, c_long) -> OpensslObject;
        use_key = "SSL_CTX_use_PrivateKey": fn(OpensslObject, OpensslObject) -> c_int;
        key_free = "EVP_PKEY_free": fn(OpensslObject) -> ();
        connection = "SSL_new": fn(OpensslObject) -> OpensslObject;
        connection_free = "SSL_free": fn(OpensslObject) -> ();
        control = "SSL_ctrl": fn(OpensslObject, c_int, c_long, *mut c_void) -> c_long;
        set_descriptor = "SSL_set_fd": fn(OpensslObject, c_int) -> c_int;
        set_name = "SSL_set1_host": fn(OpensslObject, *const c_char) -> c_int;
        server_name = "SSL_get_servername": fn(OpensslObject, c_int) -> *const c_char;
        connect = "SSL_connect": fn(OpensslObject) -> c_int;
        accept = "SSL_accept": fn(OpensslObject) -> c_int;
        read = "SSL_read": fn(OpensslObject, *mut c_void, c_int) -> c_int;
        write = "SSL_write": fn(OpensslObject, *const c_void, c_int) -> c_int;
        shutdown = "SSL_shutdown": fn(OpensslObject) -> c_int;
        set_shutdown = "SSL_set_shutdown": fn(OpensslObject, c_int) -> ();
        error_kind = "SSL_get_error": fn(OpensslObject, c_int) -> c_int;
        was_reused = "SSL_session_reused": fn(OpensslObject) -> c_int;
        session = "SSL_get1_session": fn(OpensslObject) -> OpensslObject;
        set_session = "SSL_set_session": fn(OpensslObject, OpensslObject) -> c_int;
        session_free = "SSL_SESSION_free": fn(OpensslObject) -> ();
        is_resumable = "SSL_SESSION_is_resumable": fn(OpensslObject) -> c_int;
        cipher = "SSL_get_current_cipher": fn(OpensslObject) -> OpensslObject;
        cipher_name = "SSL_CIPHER_get_name": fn(OpensslObject) -> *const c_char;
        protocol = "SSL_get_version": fn(OpensslObject) -> *const c_char;
    }
}
