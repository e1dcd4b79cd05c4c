//! A server that lets nobody in but encrypted and with a password.

use crate::authority::{Authority, Issued};
use crate::outages::{becomes, refused};
use crate::postgres::{Cluster, wait_for};
use crate::support::store_conformance as suite;
use mancala::config::{Config, StoreConfig};
use mancala::store::postgres::{OpenError, Options, PostgresStore};
use mancala::store::{Created, Health, Heard, Store, StoreError};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Whom the server's certificate is for, and who plays there with what password.
const HOST: &str = "db.example";
const USER: &str = "player";
const PASSWORD: &str = "a-s3cret-phrase";

/// A server with a database of the player's, and the files of those who connect to it.
struct Scene {
    cluster: Cluster,
    database: String,
    folder: TempDir,
}

impl Scene {
    fn new() -> Scene {
        let authority = Authority::new();
        let Issued { certificate, key } = authority.issue(HOST);
        let cluster = Cluster::start("");
        cluster.demand_tls_and_passwords(&certificate, &key);
        let database = cluster.database();
        cluster.sql(&database, &format!("CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}'"));
        cluster.sql(&database, &format!("ALTER DATABASE {database} OWNER TO {USER}"));
        let scene = Scene { cluster, database, folder: tempfile::tempdir().expect("a folder") };
        scene.file("right.pem", &authority.pem);
        scene.file("wrong.pem", &Authority::new().pem);
        scene
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).expect("a file");
        path
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The URL for a user, perhaps with a password, of a server by this name.
    fn url(&self, user: &str, host: &str) -> String {
        format!("postgres://{user}@{host}:{}/{}?hostaddr=127.0.0.1", self.cluster.port(), self.database)
    }

    /// Settings as a server of ours has them, with encryption.
    fn store(&self, url: String, password_file: &Path) -> StoreConfig {
        let usual = Config::defaults(self.path("unused.db")).store;
        StoreConfig { url, password_file: password_file.into(), tls: true, tls_ca: self.path("right.pem"), ..usual }
    }

    fn options(&self, user: &str) -> Options {
        Options { tls_ca: Some(self.path("right.pem")), ..Options::new(self.url(user, HOST)) }
    }
}

/// What a refusal says. No password is in it, however it is written.
async fn told(options: Options) -> (OpenError, String) {
    let refusal = refused(options).await;
    let text = refusal.to_string();
    for shown in [&text, &format!("{refusal:?}")] {
        assert!(!shown.contains(PASSWORD) && !shown.contains("guess"), "{shown}");
    }
    (refusal, text)
}

async fn open(options: Options) -> PostgresStore {
    let store = PostgresStore::connect(options).await.expect("the store opens");
    becomes(&store, Health::Writable, Duration::from_secs(10)).await;
    store
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_connection_is_encrypted() {
    let scene = Scene::new();
    let options = scene.options(&format!("{USER}:{PASSWORD}"));
    let (one, two) = (open(options.clone()).await, open(options).await);
    let mut hearing = two.hear().expect("it hears");
    assert_eq!(one.create(suite::create("s")).await, Ok(Created::Done));
    assert_eq!(two.head("s").await.expect("a read").expect("the session").version, 1);
    // A hint from before the other one listens is heard by nobody.
    let told = async {
        loop {
            one.tell("s", 1);
            if let Ok(Ok(Heard::Hints(hints))) = tokio::time::timeout(Duration::from_millis(100), hearing.recv()).await {
                return hints[0].session_id.clone();
            }
        }
    };
    assert_eq!(tokio::time::timeout(Duration::from_secs(20), told).await.expect("a hint is heard"), "s");

    let connections = |ssl: &str| {
        let joined = "FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)";
        scene.cluster.sql("postgres", &format!("SELECT count(*) {joined} WHERE usename = '{USER}' AND {ssl}"))
    };
    // Of each store: one that looks after the database, one that listens, and one for calls; and one has told something.
    wait_for("they are all there", || connections("ssl").parse::<u32>().expect("a number") >= 7);
    assert_eq!(connections("NOT ssl"), "0");
    assert_eq!(connections("version IN ('TLSv1.2', 'TLSv1.3')"), connections("ssl"));
    one.close().await;
    two.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_not_known_to_be_the_one_is_refused() {
    let scene = Scene::new();
    let user = format!("{USER}:{PASSWORD}");
    let advice = "an authority in store.tls_ca has issued";

    // An authority of the same name, with another key.
    let stranger = Options { tls_ca: Some(scene.path("wrong.pem")), ..scene.options(&user) };
    let (refusal, text) = told(stranger).await;
    assert!(
        matches!(&refusal, OpenError::Untrusted(why) if why.contains("invalid peer certificate: BadSignature")),
        "{refusal:?}"
    );
    assert!(text.contains(advice), "{text}");

    // By its address, and by the name of another one: neither is in its certificate.
    for host in ["127.0.0.1", "other.example"] {
        let misnamed = Options { url: scene.url(&user, host), ..scene.options(&user) };
        let (refusal, text) = told(misnamed).await;
        assert!(matches!(&refusal, OpenError::Untrusted(why) if why.contains("not valid for name")), "{refusal:?}");
        assert!(text.contains(host) && text.contains(HOST) && text.contains(advice), "{text}");
    }

    let plain = Cluster::shared();
    let unencrypted = Options { tls_ca: Some(scene.path("right.pem")), ..Options::new(plain.url(&plain.database())) };
    let (refusal, text) = told(unencrypted).await;
    assert!(matches!(&refusal, OpenError::Untrusted(why) if why.contains("does not support TLS")), "{refusal:?}");
    assert!(text.contains("see that the server has ssl on"), "{text}");
    assert_eq!(scene.cluster.sql(&scene.database, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_lets_in_who_is_encrypted_and_has_the_password() {
    let scene = Scene::new();
    let user = format!("{USER}:{PASSWORD}");
    let none = Path::new("");
    let from_file = |text: &str| scene.store(scene.url(USER, HOST), &scene.file("password", text)).options().expect("it is read");

    open(scene.store(scene.url(&user, HOST), none).options().expect("options")).await.close().await;
    open(from_file(&format!("{PASSWORD}\n"))).await.close().await;

    let plain = StoreConfig { tls: false, ..scene.store(scene.url(&user, HOST), none) };
    let (refusal, text) = told(plain.options().expect("options")).await;
    assert!(matches!(&refusal, OpenError::Refused(why) if why.contains("28000") && why.contains("no encryption")), "{refusal:?}");
    assert!(text.contains("store.tls = \"on\""), "{text}");

    let wrong = scene.store(scene.url(&format!("{USER}:guess"), HOST), none).options().expect("options");
    for options in [wrong, from_file("guess")] {
        let (refusal, text) = told(options).await;
        assert!(matches!(&refusal, OpenError::Refused(why) if why.contains("28P01") && why.contains(USER)), "{refusal:?}");
        assert!(text.contains("check user, password"), "{text}");
    }

    let (refusal, text) = told(scene.options(USER)).await;
    assert!(matches!(&refusal, OpenError::Refused(why) if why.contains("password missing")), "{refusal:?}");
    assert!(text.contains("check user, password"), "{text}");

    let unreadable = scene.store(scene.url(USER, HOST), &scene.path("missing")).options().expect_err("there is none");
    assert!(unreadable.to_string().contains("store.password_file") && unreadable.path == scene.path("missing"), "{unreadable}");
}

/// Files that hold no authorities are no reason to go on without: they are refused before any server is asked.
#[tokio::test]
async fn authorities_that_can_not_be_read_are_refused_with_their_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let authority = Authority::new();
    let key = authority.issue(HOST).key;
    let torn = authority.pem.replace("-----END CERTIFICATE-----", "");
    let no_certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let one_of_two = format!("{}{no_certificate}", authority.pem);
    for (name, content, why) in [
        ("missing.pem", None, "No such file"),
        ("prose.pem", Some("no PEM"), "there are none"),
        ("empty.pem", Some(""), "there are none"),
        ("key.pem", Some(&*key), "there are none"),
        ("torn.pem", Some(&*torn), "missing section end"),
        ("no_certificate.pem", Some(no_certificate), "invalid peer certificate"),
        ("one_of_two.pem", Some(&*one_of_two), "invalid peer certificate"),
    ] {
        let path = folder.path().join(name);
        if let Some(content) = content {
            std::fs::write(&path, content).expect("a file");
        }
        let options = Options { tls_ca: Some(path.clone()), ..Options::new("postgres://me@db.invalid/games") };
        let (refusal, text) = told(options).await;
        assert!(
            matches!(&refusal, OpenError::Authorities { path: named, why: given } if *named == path && given.contains(why)),
            "{name}: {refusal:?}"
        );
        assert!(text.contains(&path.display().to_string()), "{text}");
    }
}

/// A server that goes in the middle of a handshake says nothing of whether it can be trusted: it is tried again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handshake_that_is_cut_off_is_no_refusal() {
    let folder = tempfile::tempdir().expect("a folder");
    let authorities = folder.path().join("right.pem");
    std::fs::write(&authorities, Authority::new().pem).expect("a file");
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut request = [0; 8];
            stream.read_exact(&mut request).await.expect("it asks for encryption");
            stream.write_all(b"S").await.expect("it is promised");
            // What the client says is read, so that the end is an end and no reset.
            let _ = stream.read(&mut [0; 4_096]).await;
        }
    });
    let options = Options { tls_ca: Some(authorities), ..Options::new(format!("postgres://{USER}@127.0.0.1:{port}/games")) };
    let store = PostgresStore::connect(options).await.expect("it may come back");
    assert_eq!(*store.health().borrow(), Health::Unwritable);
    assert!(matches!(store.head("s").await, Err(StoreError::Unavailable(why)) if why.contains("TLS handshake")));
    store.close().await;
    server.abort();
}
