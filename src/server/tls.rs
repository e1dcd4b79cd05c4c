//! Encryption, and clients that are known by their certificates.

use crate::server::settings::TlsSettings;
use crate::wire::access::OperatorCertificate;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, InvalidDnsNameError, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use tokio_rustls::rustls::{self, RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;
use webpki::{EndEntityCert, KeyUsage};

/// What is spoken over TLS, the better first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];
/// A certificate that ends so soon is warned of.
const SOON: Duration = Duration::from_secs(14 * 24 * 3600);

/// Why connections can't be encrypted.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file can't be read.
    #[error("{} can't be read: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{} holds no {what} in PEM: {error}", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
        /// Why not.
        error: pem::Error,
    },
    /// An authority can't be one.
    #[error("{} holds no certificate of an authority: {error}", path.display())]
    Authority {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: rustls::Error,
    },
    /// No certificate of a client could be checked.
    #[error("certificates of clients can't be checked: {0}")]
    Clients(#[from] VerifierBuilderError),
    /// The certificate and the key are not of each other, or not of a kind that is known.
    #[error("the certificate and its key can't be used: {0}")]
    Certificate(#[from] rustls::Error),
    /// An operator's name is none.
    #[error("auth.certificates: {0}")]
    Name(#[from] InvalidDnsNameError),
}

/// What the files hold.
#[derive(PartialEq, Eq)]
pub struct Files {
    certificate: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
}

impl Files {
    /// Reads them.
    pub fn read(settings: &TlsSettings) -> Result<Self, TlsError> {
        let read = |path: &Path| std::fs::read(path).map_err(|error| TlsError::Read { path: path.to_owned(), error });
        Ok(Self {
            certificate: read(&settings.certificate)?,
            key: read(&settings.key)?,
            client_ca: settings.client_ca.as_deref().map(read).transpose()?,
        })
    }
}

/// All that connections are encrypted by, made of the files.
pub fn configuration(settings: &TlsSettings, files: &Files) -> Result<ServerConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let chain = certificates(&settings.certificate, &files.certificate)?;
    let key = PrivateKeyDer::from_pem_slice(&files.key).map_err(|error| TlsError::Pem {
        path: settings.key.clone(),
        what: "private key",
        error,
    })?;
    let builder = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
    let builder = match settings.client_ca.as_deref().zip(files.client_ca.as_deref()) {
        None => builder.with_no_client_auth(),
        Some((path, pem)) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path, pem)? {
                roots.add(certificate).map_err(|error| TlsError::Authority { path: path.to_owned(), error })?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
            let verifier = if settings.client_optional { verifier.allow_unauthenticated() } else { verifier };
            builder.with_client_cert_verifier(verifier.build()?)
        }
    };
    let mut config = builder.with_single_cert(chain, key)?;
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(config)
}

/// All certificates of a file; at least one.
fn certificates(path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let fault = |error| TlsError::Pem { path: path.to_owned(), what: "certificate", error };
    let read: Vec<_> = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(fault)?;
    if read.is_empty() { Err(fault(pem::Error::NoItemsFound)) } else { Ok(read) }
}

/// Warns of a certificate that has ended or will soon. Its time is checked before anything else of it, so that it does not
/// matter by whom it is signed.
pub fn warn_of_end(settings: &TlsSettings, files: &Files) {
    let Ok(leaf) = CertificateDer::from_pem_slice(&files.certificate) else { return };
    let (Ok(certificate), Ok(anchor)) = (EndEntityCert::try_from(&leaf), webpki::anchor_from_trusted_cert(&leaf)) else { return };
    let algorithms = ring::default_provider().signature_verification_algorithms.all;
    let (now, anchors) = (UnixTime::now().as_secs(), [anchor]);
    let soon = UnixTime::since_unix_epoch(Duration::from_secs(now) + SOON);
    let verified = certificate.verify_for_usage(algorithms, &anchors, &[], soon, KeyUsage::server_auth(), None, None);
    if let Err(webpki::Error::CertExpired { not_after, .. }) = verified {
        let hours_left = (not_after.as_secs() as i64 - now as i64) / 3600;
        tracing::warn!(certificate = %settings.certificate.display(), hours_left, "the certificate ends soon, or has ended: renew it");
    }
}

/// Encrypts connections by what is in force when they begin.
#[derive(Clone)]
pub struct Tls {
    current: watch::Receiver<Arc<ServerConfig>>,
    operators: Arc<[ServerName<'static>]>,
}

impl Tls {
    /// By the last of these configurations; whoever has a certificate for one of the names of `operators` may do everything.
    pub fn new(current: watch::Receiver<Arc<ServerConfig>>, operators: &[String]) -> Result<Self, TlsError> {
        let operators: Result<Arc<[_]>, _> = operators.iter().map(|name| ServerName::try_from(name.clone())).collect();
        Ok(Self { current, operators: operators? })
    }

    /// Encrypts a connection.
    pub async fn handshake(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let config = self.current.borrow().clone();
        TlsAcceptor::from(config).accept(stream).await
    }

    /// The mark of a connection whose client has shown an operator's certificate, which the handshake has verified.
    pub fn operator(&self, stream: &TlsStream<TcpStream>) -> Option<OperatorCertificate> {
        let (_, session) = stream.get_ref();
        let certificate = EndEntityCert::try_from(session.peer_certificates()?.first()?).ok()?;
        let name = self.operators.iter().find(|name| certificate.verify_is_valid_for_subject_name(name).is_ok())?;
        Some(OperatorCertificate(name.to_str().into()))
    }
}
