//! The server that a command talks to.

use crate::cli::Failure;
use crate::config::{Config, Sources, TlsConfig};
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

#[derive(Debug, clap::Args)]
pub struct PeerArgs {
    /// Where the server listens [default: the configured server.listen, and TLS if tls.certificate is configured]
    #[arg(long, value_name = "ADDR")]
    address: Option<SocketAddr>,
    /// Speak TLS, and trust the certificates in this file (PEM) [default: the configured tls.certificate]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Name that the server's certificate must bear [default: the first one of the configured certificate, or else the address]
    #[arg(long, value_name = "NAME")]
    server_name: Option<String>,
    /// Certificate to show the server (PEM)
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
}

/// The server that a command talks to.
pub struct Peer {
    /// Where it is.
    pub address: SocketAddr,
    /// How to connect to it.
    pub endpoint: Endpoint,
}

/// The configured server, where it speaks TLS and nobody says whom to trust.
pub struct Own {
    /// Where it is.
    pub address: SocketAddr,
    /// How it encrypts.
    pub tls: TlsConfig,
    /// The name that its certificate must bear, if that was given.
    pub server_name: Option<String>,
    /// The certificate to show it and its key, if they were given.
    pub shown: Option<(PathBuf, PathBuf)>,
}

impl PeerArgs {
    /// The configured server, if the arguments leave it to that and it speaks TLS.
    pub fn own(&self) -> Result<Option<Own>, Failure> {
        if self.address.is_some() || self.ca.is_some() {
            return Ok(None);
        }
        let config = Config::load(&Sources::of_process()).map_err(Failure::usage)?;
        Ok(config.tls.is_on().then(|| Own {
            address: reachable(config.server.listen),
            tls: config.tls,
            server_name: self.server_name.clone(),
            shown: self.certificate.clone().zip(self.key.clone()),
        }))
    }

    /// Whether the server is shown a certificate.
    pub fn shows_certificate(&self) -> bool {
        self.certificate.is_some()
    }

    /// The server at the address that was given, or else the one of this configuration.
    pub fn peer(&self) -> Result<Peer, Failure> {
        let (address, configured) = match self.address {
            Some(address) => (address, None),
            None => {
                let config = Config::load(&Sources::of_process()).map_err(Failure::usage)?;
                (config.server.listen, Some(config.tls.certificate).filter(|path| !path.as_os_str().is_empty()))
            }
        };
        let address = reachable(address);
        let endpoint = |scheme| Endpoint::from_shared(format!("{scheme}://{address}")).map_err(Failure::run);
        let endpoint = match (&self.ca, configured) {
            (Some(ca), _) => endpoint("https")?.tls_config(self.tls(&read(ca)?, None, address.ip())?),
            (None, Some(own)) => {
                let certificate = read(&own)?;
                endpoint("https")?.tls_config(self.tls(&certificate, first_name(&certificate), address.ip())?)
            }
            (None, None) if self.server_name.is_some() || self.certificate.is_some() => {
                return Err(Failure::usage("--server-name, --certificate and --key are for TLS: give --ca too"));
            }
            (None, None) => Ok(endpoint("http")?),
        };
        Ok(Peer { address, endpoint: endpoint.map_err(|error| Failure::run(with_causes(&error)))? })
    }

    fn tls(&self, trusted: &[u8], name: Option<String>, address: IpAddr) -> Result<ClientTlsConfig, Failure> {
        let name = self.server_name.clone().or(name).unwrap_or_else(|| address.to_string());
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(trusted)).domain_name(name);
        Ok(match self.certificate.as_deref().zip(self.key.as_deref()) {
            Some((certificate, key)) => tls.identity(Identity::from_pem(read(certificate)?, read(key)?)),
            None => tls,
        })
    }
}

/// The bytes of a file.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| Failure::run(format!("{} can't be read: {error}", path.display())))
}

/// A name that a server with this certificate has, if it has one.
pub fn first_name(pem: &[u8]) -> Option<String> {
    let certificate = CertificateDer::from_pem_slice(pem).ok()?;
    let names = webpki::EndEntityCert::try_from(&certificate).ok()?;
    let plain = |name: &&str| !name.starts_with('*');
    names.valid_dns_names().find(plain).map(str::to_owned)
}

/// An address by which a server on this machine can be reached that listens on this one.
fn reachable(mut listening: SocketAddr) -> SocketAddr {
    match listening.ip() {
        ip if !ip.is_unspecified() => {}
        ip if ip.is_ipv4() => listening.set_ip(Ipv4Addr::LOCALHOST.into()),
        _ => listening.set_ip(Ipv6Addr::LOCALHOST.into()),
    }
    listening
}

/// tonic's own message is "transport error"; what went wrong is in its causes, some of which repeat the one before.
pub fn with_causes(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes
        .map(ToString::to_string)
        .fold(error.to_string(), |text, cause| if text.ends_with(&cause) { text } else { format!("{text}: {cause}") })
}
