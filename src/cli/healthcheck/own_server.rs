//! The server of this configuration, over TLS. Where its certificate lies in a file, no authority need say that it is the server's.

use super::same_certificate::{OTHER, SameCertificate};
use crate::cli::Failure;
use crate::cli::peer::{Own, first_name, read, with_causes};
use hyper_util::rt::TokioIo;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig};
use tonic::transport::{Channel, Endpoint};

/// How to talk to it.
#[derive(Clone)]
pub struct OwnServer {
    /// Where it is.
    pub address: SocketAddr,
    /// It takes only clients that show a certificate, and none was given to show.
    pub lacks_certificate: bool,
    file: PathBuf,
    tls: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl OwnServer {
    /// By its configuration.
    pub fn new(own: Own) -> Result<OwnServer, Failure> {
        let Own { address, tls, server_name, shown } = own;
        let pem = read(&tls.certificate)?;
        let certificate =
            CertificateDer::from_pem_slice(&pem).map_err(|error| no_pem(&tls.certificate, "certificate", &error))?;
        let named = server_name.is_some();
        let name = server_name.or_else(|| first_name(&pem)).unwrap_or_else(|| address.ip().to_string());
        let name = ServerName::try_from(name).map_err(|error| Failure::usage(format!("--server-name: {error}")))?;

        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        let verifier = Arc::new(SameCertificate { certificate, named, provider });
        let builder = builder.map_err(Failure::run)?.dangerous().with_custom_certificate_verifier(verifier);
        let is_required = !tls.client_ca.as_os_str().is_empty() && !tls.client_optional;
        let lacks_certificate = is_required && shown.is_none();
        // An authority that issues certificates of clients may have issued the server's, too.
        let shown = shown.or_else(|| is_required.then(|| (tls.certificate.clone(), tls.key.clone())));
        let mut client = match shown {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let (chain, key) = identity(&certificate, &key)?;
                builder
                    .with_client_auth_cert(chain, key)
                    .map_err(|error| Failure::run(format!("{} and its key can't be used: {error}", certificate.display())))?
            }
        };
        client.alpn_protocols = vec![b"h2".to_vec()];
        Ok(OwnServer { address, lacks_certificate, file: tls.certificate, tls: client.into(), name })
    }

    /// Connects, or says what the server does instead.
    pub async fn connect(&self) -> Result<Channel, String> {
        let server = self.clone();
        let connector = tower::service_fn(move |_| {
            let server = server.clone();
            async move { server.open().await.map(TokioIo::new) }
        });
        // The connection is encrypted already, of which the channel need not know.
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address)).map_err(|error| with_causes(&error))?;
        endpoint.connect_with_connector(connector).await.map_err(|error| format!("can't be reached: {}", with_causes(&error)))
    }

    async fn open(self) -> io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(self.address).await?;
        TlsConnector::from(self.tls).connect(self.name, stream).await.map_err(|error| {
            let is_other = error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>()) == Some(&OTHER);
            if !is_other {
                return error;
            }
            let file = self.file.display();
            io::Error::other(format!(
                "its certificate is not that of {file}: it has not taken a new one yet, or is another server"
            ))
        })
    }
}

/// A certificate with those that lead to its authority, and its key.
fn identity(certificate: &Path, key: &Path) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), Failure> {
    let chain = CertificateDer::pem_slice_iter(&read(certificate)?).collect::<Result<_, _>>();
    let private = PrivateKeyDer::from_pem_slice(&read(key)?);
    Ok((
        chain.map_err(|error| no_pem(certificate, "certificate", &error))?,
        private.map_err(|error| no_pem(key, "private key", &error))?,
    ))
}

fn no_pem(path: &Path, what: &str, error: &pem::Error) -> Failure {
    Failure::run(format!("{} holds no {what} in PEM: {error}", path.display()))
}
