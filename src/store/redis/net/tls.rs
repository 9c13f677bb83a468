//! TLS from files in PEM form: the authorities that a client trusts, and the certificate that it shows.

use std::{fmt, fs, path::Path};

use redis::{Client, ClientTlsConfig, ConnectionInfo, RedisError, RedisResult, TlsCertificates};
use rustls::{
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    sign::CertifiedKey,
};

use crate::{core::InvalidValue, store::redis::net::options::RedisOptions};

/// Creates the client of a server that speaks TLS. The inner error is about the URL.
pub(crate) fn client(
    info: ConnectionInfo,
    options: &RedisOptions,
) -> Result<RedisResult<Client>, InvalidValue> {
    crypto();
    let RedisOptions { tls_ca, tls_certificate, tls_key, .. } = options;
    let ca = tls_ca.as_deref().map(|file| read("store.tls_ca", file, CERTIFICATE)).transpose()?;
    let both = tls_certificate.as_ref().zip(tls_key.as_ref());
    let client_tls = both.map(|(certificate, key)| pair(certificate, key)).transpose()?;
    if ca.is_none() && client_tls.is_none() {
        return Ok(Client::open(info));
    }
    let wrong = |error: RedisError| InvalidValue::new("store.tls_ca", error, "certificates in PEM form");
    Client::build_with_tls(info, TlsCertificates { client_tls, root_cert: ca }).map(Ok).map_err(wrong)
}

const CERTIFICATE: &str = "CERTIFICATE-----";
const KEY: &str = "PRIVATE KEY-----";

/// Reads a file in PEM form that has at least one `part`: without any, the client library would trust nobody, and show nothing.
fn read(field: &str, file: &Path, part: &str) -> Result<Vec<u8>, InvalidValue> {
    let allowed = format!("a file in PEM form with -----BEGIN … {part}");
    let bytes = fs::read(file).map_err(|error| wrong(field, file, error, &allowed))?;
    if bytes.windows(part.len()).any(|window| window == part.as_bytes()) {
        return Ok(bytes);
    }
    Err(InvalidValue::new(field, format_args!("{}, which has none", file.display()), allowed))
}

fn wrong(field: &str, file: &Path, error: impl fmt::Display, allowed: &str) -> InvalidValue {
    InvalidValue::new(field, format_args!("{}: {error}", file.display()), allowed)
}

/// Reads a certificate and its key. The client library would find out only at each connection that they do not belong together.
fn pair(certificate: &Path, key: &Path) -> Result<ClientTlsConfig, InvalidValue> {
    let client_cert = read("store.tls_certificate", certificate, CERTIFICATE)?;
    let client_key = read("store.tls_key", key, KEY)?;
    let chain = CertificateDer::pem_slice_iter(&client_cert).collect::<Result<_, _>>().map_err(|error| {
        let allowed = "certificates in PEM form, the client's own first";
        wrong("store.tls_certificate", certificate, error, allowed)
    })?;
    // The words of rustls show nothing of a key.
    let allowed = "the key of store.tls_certificate, in PEM form and not encrypted";
    let private = PrivateKeyDer::from_pem_slice(&client_key)
        .map_err(|error| wrong("store.tls_key", key, error, allowed))?;
    CertifiedKey::from_der(chain, private, crypto())
        .map_err(|error| wrong("store.tls_key", key, error, allowed))?;
    Ok(ClientTlsConfig { client_cert, client_key })
}

/// Returns the cryptography of the process. Without it, the client library panics at the first TLS connection.
fn crypto() -> &'static CryptoProvider {
    if CryptoProvider::get_default().is_none() {
        // It fails only if another thread was faster, which is as good.
        let _ = ring::default_provider().install_default();
    }
    CryptoProvider::get_default().expect("installed, and never taken away")
}
