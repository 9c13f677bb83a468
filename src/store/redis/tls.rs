//! TLS: whom a client trusts, and what it shows of itself, from files in PEM form.

use std::path::PathBuf;
#[cfg(feature = "tls")]
use std::{fs, path::Path};

use redis::{Client, ConnectionInfo, RedisResult};
#[cfg(feature = "tls")]
use redis::{ClientTlsConfig, TlsCertificates};

use crate::protocol::Invalid;

/// The files that a `rediss://` URL needs beside itself, all in PEM form. They are read once, when the store is opened.
///
/// # Default
/// None of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificates of the authorities that may vouch for the server, and no others. Default: the public ones.
    pub ca: Option<PathBuf>,
    /// The certificate that the client shows to the server, with those between it and its authority. Default: none.
    pub certificate: Option<PathBuf>,
    /// The private key of [`certificate`](Self::certificate); one is not given without the other. Default: none.
    pub key: Option<PathBuf>,
}

impl TlsFiles {
    /// Refuses what cannot be meant: files for a connection without TLS, and a certificate or a key alone.
    fn check(&self, is_tls: bool) -> Result<(), Invalid> {
        let Self { ca, certificate, key } = self;
        let given = [("store.tls_ca", ca), ("store.tls_certificate", certificate), ("store.tls_key", key)];
        if let Some((field, _)) = given.iter().find(|(_, file)| file.is_some() && !is_tls) {
            return Err(Invalid::new(*field, "given", "nothing, unless store.url is rediss://…"));
        }
        match (certificate, key) {
            (Some(_), None) => {
                Err(Invalid::new("store.tls_key", "nothing", "the key of store.tls_certificate"))
            }
            (None, Some(_)) => {
                Err(Invalid::new("store.tls_certificate", "nothing", "the certificate of store.tls_key"))
            }
            _ => Ok(()),
        }
    }
}

/// The client of a server. The inner error is about the URL.
#[cfg(feature = "tls")]
pub(super) fn client(
    info: ConnectionInfo,
    files: &TlsFiles,
    is_tls: bool,
) -> Result<RedisResult<Client>, Invalid> {
    files.check(is_tls)?;
    install_crypto();
    let TlsFiles { ca, certificate, key } = files;
    let ca = ca.as_deref().map(|file| read("store.tls_ca", file, CERTIFICATE)).transpose()?;
    let client_tls = match (certificate, key) {
        (Some(certificate), Some(key)) => Some(ClientTlsConfig {
            client_cert: read("store.tls_certificate", certificate, CERTIFICATE)?,
            client_key: read("store.tls_key", key, KEY)?,
        }),
        _ => None,
    };
    if ca.is_none() && client_tls.is_none() {
        return Ok(Client::open(info));
    }
    // What is wrong with a file beyond its reading is known only here, and the words of rustls show nothing of a key.
    let wrong = |error: redis::RedisError| {
        Invalid::new(
            "store.tls_ca, store.tls_certificate or store.tls_key",
            error,
            "certificates and a key in PEM form",
        )
    };
    Client::build_with_tls(info, TlsCertificates { client_tls, root_cert: ca }).map(Ok).map_err(wrong)
}

/// The client of a server. The inner error is about the URL.
#[cfg(not(feature = "tls"))]
pub(super) fn client(
    info: ConnectionInfo,
    files: &TlsFiles,
    is_tls: bool,
) -> Result<RedisResult<Client>, Invalid> {
    files.check(is_tls)?;
    Ok(Client::open(info))
}

#[cfg(feature = "tls")]
const CERTIFICATE: &str = "CERTIFICATE-----";
#[cfg(feature = "tls")]
const KEY: &str = "PRIVATE KEY-----";

/// A file in PEM form that has at least one `part`: without any, the client library would trust nobody, and show nothing.
#[cfg(feature = "tls")]
fn read(field: &str, file: &Path, part: &str) -> Result<Vec<u8>, Invalid> {
    let allowed = || format!("a file in PEM form with -----BEGIN … {part}");
    let shown = file.display();
    let bytes =
        fs::read(file).map_err(|error| Invalid::new(field, format_args!("{shown}: {error}"), allowed()))?;
    if bytes.windows(part.len()).any(|window| window == part.as_bytes()) {
        return Ok(bytes);
    }
    Err(Invalid::new(field, format_args!("{shown}, which has none"), allowed()))
}

/// The client library panics at the first TLS connection unless the process has a crypto provider.
#[cfg(feature = "tls")]
fn install_crypto() {
    use rustls::crypto::{CryptoProvider, ring};
    if CryptoProvider::get_default().is_none() {
        // It fails only if another thread was faster, which is as good.
        let _ = ring::default_provider().install_default();
    }
}
