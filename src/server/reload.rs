//! Certificates that are renewed while the server runs.

use crate::server::counts::Counts;
use crate::server::settings::TlsSettings;
use crate::server::signal::Hangup;
use crate::server::tls::{self, Files, Tls, TlsError};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_rustls::rustls::ServerConfig;

/// Reads the files again when they change, and puts into force what they hold then.
pub struct Reload {
    settings: TlsSettings,
    /// What the files held when they were last looked at, whether it could be used or not: each is reported once.
    seen: Result<Files, String>,
    in_force: watch::Sender<Arc<ServerConfig>>,
    hangup: Option<Hangup>,
}

impl Reload {
    /// Reads the files, which must be right now.
    pub fn start(settings: TlsSettings) -> Result<(Tls, Reload), TlsError> {
        // Before the files are read: whoever changes one later and says so is heard.
        let hangup = Hangup::listen().inspect_err(|error| tracing::warn!(%error, "SIGHUP can't be listened to")).ok();
        let files = Files::read(&settings)?;
        let config = tls::configuration(&settings, &files)?;
        tls::warn_of_end(&settings, &files);
        let (in_force, current) = watch::channel(Arc::new(config));
        let tls = Tls::new(current, &settings.operators)?;
        Ok((tls, Reload { settings, seen: Ok(files), in_force, hangup }))
    }

    /// Looks at the files every now and then, and whenever the process is sent SIGHUP.
    pub async fn run(mut self, counts: Arc<Counts>) -> Infallible {
        loop {
            let hung_up = async {
                match &mut self.hangup {
                    Some(hangup) => hangup.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = tokio::time::sleep(self.settings.check_every) => {}
                () = hung_up => tracing::info!("SIGHUP: looking at the certificate"),
            }
            self.look(&counts).await;
        }
    }

    async fn look(&mut self, counts: &Counts) {
        let settings = self.settings.clone();
        // Reading may take its time where files are on another machine.
        let read = tokio::task::spawn_blocking(move || Files::read(&settings).map_err(|error| error.to_string())).await;
        // A failure means that the runtime stops.
        let Ok(files) = read else { return };
        if files == self.seen {
            return;
        }
        let config = match &files {
            Ok(files) => {
                tls::warn_of_end(&self.settings, files);
                tls::configuration(&self.settings, files).map_err(|error| error.to_string())
            }
            Err(error) => Err(error.clone()),
        };
        match config {
            Ok(config) => {
                counts.tls_reloads.up();
                tracing::info!("the certificate has changed: new connections get the new one");
                self.in_force.send_replace(Arc::new(config));
            }
            Err(error) => {
                counts.tls_reload_failures.up();
                tracing::error!(error, "the certificate has changed and can't be used: the old one stays");
            }
        }
        self.seen = files;
    }
}
