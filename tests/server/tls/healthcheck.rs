//! `mancala healthcheck` of the configured server: by its own certificate, whoever has issued that.

use super::authority::{Authority, Files, Issued, NAME};
use super::program::{Program, mancala, said, serve};
use std::process::Output;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

fn path(program: &Program, name: &str) -> String {
    program.files.path(name).to_str().expect("text").to_owned()
}

/// That it fails, and says this.
fn fails(output: &Output, text: &str) {
    assert_eq!(output.status.code(), Some(1));
    assert!(said(output).contains(text), "{}", said(output));
}

#[test]
fn whoever_has_issued_the_certificate() {
    let authority = Authority::new();
    let ended = authority.issue_as(NAME, |params| params.not_after = rcgen::date_time_ymd(2020, 1, 2));
    for (what, server) in [
        ("a certificate of a private authority", authority.issue(NAME)),
        ("with that authority beside it", authority.issue_chain(NAME)),
        ("one of its own authority, without a name", authority.itself()),
        ("one for any name", authority.issue("*.mancala.example")),
        ("one that has ended, of which the server warns", ended),
    ] {
        let checked = serve(&server, None).command(&["healthcheck"]);
        assert!(checked.status.success(), "{what}: {}", said(&checked));
    }
}

#[test]
fn another_certificate_is_not_the_servers_nor_another_name() {
    let authority = Authority::new();
    let program = serve(&authority.issue(NAME), None);
    let named = |name| program.command(&["healthcheck", "--server-name", name]);
    assert!(named(NAME).status.success());
    fails(&named("other.example"), "not valid for name");
    // Of the same authority and name, but the server has not taken it.
    program.files.write("server.pem", &authority.issue(NAME).certificate);
    fails(&program.command(&["healthcheck"]), "its certificate is not that of ");
}

/// Shows a certificate without its key.
#[derive(Debug)]
struct Impostor(Arc<CertifiedKey>);

impl ResolvesServerCert for Impostor {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

#[tokio::test]
async fn who_shows_the_certificate_without_its_key_is_not_the_server() {
    let authority = Authority::new();
    let Issued { certificate, key } = authority.issue(NAME);
    let files = Files::new(&Issued { certificate: certificate.clone(), key });
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).expect("a certificate");
    let other = PrivateKeyDer::from_pem_slice(authority.issue(NAME).key.as_bytes()).expect("a key");
    let other = ring::sign::any_supported_type(&other).expect("a key");
    let impostor = Arc::new(Impostor(CertifiedKey::new(vec![certificate], other).into()));
    let provider = Arc::new(ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("versions");
    let config = Arc::new(config.with_no_client_auth().with_cert_resolver(impostor));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        TlsAcceptor::from(config).accept(stream).await.expect_err("it is refused");
    });
    let mut check = mancala(&files);
    check.env("MANCALA_SERVER__LISTEN", address.to_string()).args(["healthcheck"]);
    let checked = tokio::task::spawn_blocking(move || check.output().expect("the program")).await.expect("no panic");
    fails(&checked, "invalid peer certificate: BadSignature");
}

#[test]
fn where_clients_must_show_a_certificate_it_shows_one_or_says_what_to_give() {
    let (servers, clients) = (Authority::new(), Authority::new());
    let program = serve(&servers.issue_chain(NAME), Some(&clients));
    let needed = "it takes only clients that show a certificate of its tls.client_ca: give one by --certificate and --key";
    fails(&program.command(&["healthcheck"]), needed);

    let show = |issued: &Issued| {
        program.files.write("own.pem", &issued.certificate);
        program.files.write("own.key", &issued.key);
        program.command(&["healthcheck", "--certificate", &path(&program, "own.pem"), "--key", &path(&program, "own.key")])
    };
    let checked = show(&clients.issue("probe.example"));
    assert!(checked.status.success(), "{}", said(&checked));
    fails(&show(&Authority::new().issue("probe.example")), "it may not take the certificate that it was shown");

    // One that is told of and not configured.
    program.files.write("ca.pem", &servers.pem);
    let told = program.command(&["healthcheck", "--ca", &path(&program, "ca.pem"), "--server-name", NAME]);
    fails(&told, "it may take only clients that show a certificate: give one by --certificate and --key");
}

#[test]
fn the_servers_own_certificate_is_shown_where_it_is_of_the_clients_authority() {
    let authority = Authority::new();
    let program = serve(&authority.issue(NAME), Some(&authority));
    let checked = program.command(&["healthcheck"]);
    assert!(checked.status.success(), "{}", said(&checked));
    fails(&program.command(&["healthcheck", "--service", "nothing"]), "answers: there is no service of that name\n");
}

#[test]
fn a_port_of_tls_that_is_asked_without_is_told_for_one() {
    let program = serve(&Authority::new().issue(NAME), None);
    let address = program.address.to_string();
    let checked = program.command(&["healthcheck", "--address", &address]);
    fails(&checked, &format!("the server at {address} speaks TLS and was asked without: give --ca FILE, "));
}
