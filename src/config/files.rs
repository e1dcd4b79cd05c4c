//! The files that settings name.

use crate::config::{Config, ConfigErrors, Fault, StoreConfig, TlsConfig};
use crate::server;
use crate::store::postgres::OpenError;
use std::path::Path;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

/// See [`Config::check_files`].
pub fn check(config: &Config) -> Result<(), ConfigErrors> {
    let mut faults = tls(config);
    // With a data file nothing is read of how a database is reached.
    if !config.store.url.is_empty() {
        faults.extend(database(&config.store));
    }
    if faults.is_empty() { Ok(()) } else { Err(ConfigErrors(faults)) }
}

fn tls(config: &Config) -> Vec<Fault> {
    let TlsConfig { certificate, key, client_ca, .. } = &config.tls;
    if !config.tls.is_on() {
        return Vec::new();
    }
    let named = [("tls.certificate", certificate), ("tls.key", key), ("tls.client_ca", client_ca)];
    let given = named.into_iter().filter(|(_, path)| !path.as_os_str().is_empty());
    let faults: Vec<_> = given.filter_map(|(key, path)| unreadable(key, path)).collect();
    if !faults.is_empty() {
        return faults;
    }
    // What they hold only makes sense together.
    server::check(&config.settings()).err().map(|error| fault(Some("tls"), error.to_string())).into_iter().collect()
}

fn database(store: &StoreConfig) -> Vec<Fault> {
    let password = store.options().err().map(|error| fault(None, error.to_string()));
    let authorities = store.tls.then(|| authorities(&store.tls_ca)).and_then(Result::err);
    password.into_iter().chain(authorities.map(|error| fault(Some("store.tls_ca"), error.to_string()))).collect()
}

/// Whether there are authorities in a file, as the store reads them when it connects.
fn authorities(path: &Path) -> Result<(), OpenError> {
    let refused = |why: String| OpenError::Authorities { path: path.to_owned(), why };
    let mut authorities = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| refused(error.to_string()))? {
        let certificate = certificate.map_err(|error| refused(error.to_string()))?;
        authorities.add(certificate).map_err(|error| refused(error.to_string()))?;
    }
    if authorities.is_empty() { Err(refused("there are none".to_owned())) } else { Ok(()) }
}

fn unreadable(key: &str, path: &Path) -> Option<Fault> {
    let error = std::fs::read(path).err()?;
    Some(fault(Some(key), format!("{} can't be read: {error}", path.display())))
}

fn fault(key: Option<&str>, problem: String) -> Fault {
    Fault { key: key.map(str::to_owned), origin: None, problem }
}
