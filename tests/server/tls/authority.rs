//! Authorities, the certificates that they issue, and the files of a server.

use mancala::server::TlsSettings;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub pem: String,
}

/// A certificate and its key, as PEM.
pub struct Issued {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    pub fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.distinguished_name.push(DnType::CommonName, "an authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Authority { issuer: Issuer::new(params, key), pem }
    }

    /// Its own certificate as that of a server.
    pub fn itself(&self) -> Issued {
        Issued { certificate: self.pem.clone(), key: self.issuer.key().serialize_pem() }
    }

    pub fn issue(&self, name: &str) -> Issued {
        self.issue_as(name, |_| {})
    }

    /// With its authority beside it.
    pub fn issue_chain(&self, name: &str) -> Issued {
        let Issued { certificate, key } = self.issue(name);
        Issued { certificate: certificate + &self.pem, key }
    }

    pub fn issue_as(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Issued {
        let mut params = CertificateParams::new([name.to_owned()]).expect("a name");
        params.distinguished_name.push(DnType::CommonName, name);
        change(&mut params);
        let key = KeyPair::generate().expect("a key");
        Issued { certificate: params.signed_by(&key, &self.issuer).expect("a certificate").pem(), key: key.serialize_pem() }
    }
}

/// The files of a server, in a folder of their own.
pub struct Files {
    folder: TempDir,
}

impl Files {
    pub fn new(server: &Issued) -> Files {
        let files = Files { folder: tempfile::tempdir().expect("a folder") };
        files.write("server.pem", &server.certificate);
        files.write("server.key", &server.key);
        files
    }

    /// Puts other contents into the place of a file at once.
    pub fn write(&self, name: &str, text: &str) {
        let (new, path) = (self.path("new"), self.path(name));
        fs::write(&new, text).expect("a file");
        fs::rename(new, path).expect("a file");
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Settings by which a server uses them, and asks clients for certificates of this authority.
    pub fn settings(&self, clients: Option<&Authority>) -> TlsSettings {
        if let Some(authority) = clients {
            self.write("clients.pem", &authority.pem);
        }
        TlsSettings {
            certificate: self.path("server.pem"),
            key: self.path("server.key"),
            client_ca: clients.map(|_| self.path("clients.pem")),
            client_optional: false,
            check_every: Duration::from_millis(20),
            operators: Vec::new(),
        }
    }
}

pub const NAME: &str = "mancala.example";

/// A connection by a client that trusts an authority and shows a certificate.
pub async fn connect(to: SocketAddr, trusted: &Authority, shown: Option<&Issued>) -> Result<Channel, tonic::transport::Error> {
    let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&trusted.pem)).domain_name(NAME);
    let tls = match shown {
        Some(Issued { certificate, key }) => tls.identity(Identity::from_pem(certificate, key)),
        None => tls,
    };
    Endpoint::from_shared(format!("https://{to}")).expect("an address").tls_config(tls)?.connect().await
}
