//! Connections to the server, encrypted or not.

use super::hosts::{Hosts, Place};
use super::{OpenError, Options};
use deadpool_postgres::Connect;
use futures_util::future::BoxFuture;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Error, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring, version};

/// Makes connections.
#[derive(Clone)]
pub(super) struct Connector {
    hosts: Hosts,
    /// For all hosts together.
    patience: Duration,
    tls: Option<MakeRustlsConnect>,
}

/// What is done with a message that is no answer.
pub(super) type OnMessage = Arc<dyn Fn(AsyncMessage) + Send + Sync>;

/// A connection of its own.
pub(super) struct Opened {
    pub client: Client,
    /// Ends with it.
    pub task: JoinHandle<()>,
    /// To whom.
    pub place: Place,
}

impl Connector {
    pub fn new(options: &Options) -> Result<Connector, OpenError> {
        let tls = options.tls_ca.as_deref().map(client_tls).transpose()?;
        Ok(Connector { hosts: Hosts::of(&options.client()?)?, patience: options.connect_timeout(), tls })
    }

    /// The settings of its connections, as they are for one of the hosts.
    pub fn config(&self) -> &Config {
        self.hosts.first()
    }

    /// The same with these options of the server beside the others.
    pub fn with_options(&self, more: &str) -> Connector {
        let mut connector = self.clone();
        let options = format!("{} {more}", self.config().get_options().unwrap_or_default());
        connector.hosts.change(|config| {
            config.options(options.as_str());
        });
        connector
    }

    /// The same whose connections call themselves by this name.
    pub fn named(mut self, name: &str) -> Connector {
        self.hosts.change(|config| {
            config.application_name(name);
        });
        self
    }

    /// A connection to the first host that takes one. How long it may take is up to the caller; within the usual time all are tried.
    pub async fn open(&self, on_message: Option<OnMessage>) -> Result<Opened, Error> {
        let connect = |config: Config| {
            let (tls, on_message) = (self.tls.clone(), on_message.clone());
            async move {
                Ok(match tls {
                    None => {
                        let (client, connection) = config.connect(NoTls).await?;
                        (client, tokio::spawn(drive(connection, on_message)))
                    }
                    Some(tls) => {
                        let (client, connection) = config.connect(tls).await?;
                        (client, tokio::spawn(drive(connection, on_message)))
                    }
                })
            }
        };
        let ((client, task), place) = self.hosts.connect(self.patience, connect).await?;
        Ok(Opened { client, task, place })
    }

    /// What is there is what is meant: it is tried first from now on.
    pub fn prefer(&self, place: Place) {
        self.hosts.prefer(place);
    }
}

impl Connect for Connector {
    fn connect(&self, _: &Config) -> BoxFuture<'_, Result<(Client, JoinHandle<()>), Error>> {
        Box::pin(async { self.open(None).await.map(|opened| (opened.client, opened.task)) })
    }
}

/// Runs a connection until it ends. Why it ends is told to whoever uses it next.
async fn drive<S, T>(mut connection: Connection<S, T>, on_message: Option<OnMessage>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    T: AsyncRead + AsyncWrite + Unpin + Send,
{
    while let Some(message) = std::future::poll_fn(|context| connection.poll_message(context)).await {
        match (message, &on_message) {
            (Ok(message), Some(on_message)) => on_message(message),
            (Ok(_), None) => {}
            (Err(error), _) => {
                tracing::debug!(error = super::errors::text(&error), "a connection to the database has ended");
                break;
            }
        }
    }
}

/// TLS that trusts these authorities alone, and checks the server's name.
fn client_tls(path: &Path) -> Result<MakeRustlsConnect, OpenError> {
    let refused = |why: String| OpenError::Authorities { path: path.to_owned(), why };
    let mut authorities = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| refused(error.to_string()))? {
        let certificate = certificate.map_err(|error| refused(error.to_string()))?;
        authorities.add(certificate).map_err(|error| refused(error.to_string()))?;
    }
    if authorities.is_empty() {
        return Err(refused("there are none".into()));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&version::TLS13, &version::TLS12])
        .map_err(|error| refused(error.to_string()))?
        .with_root_certificates(authorities)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
