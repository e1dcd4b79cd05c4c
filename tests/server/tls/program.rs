//! The program with certificates: SIGHUP, what it says of one that ends, and its own clients.

use super::authority::{Authority, Files, Issued, NAME, connect};
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

pub struct Program {
    child: Child,
    pub address: SocketAddr,
    /// Lines of its log.
    log: Receiver<String>,
    pub files: Files,
    client_ca: Option<PathBuf>,
}

pub fn mancala(files: &Files) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mancala"));
    command
        .env_clear()
        .env("HOME", files.path(""))
        .env("MANCALA_TLS__CERTIFICATE", files.path("server.pem"))
        .env("MANCALA_TLS__KEY", files.path("server.key"))
        .env("MANCALA_TLS__CHECK_EVERY", "1h");
    command
}

pub fn serve(server: &Issued, clients: Option<&Authority>) -> Program {
    let files = Files::new(server);
    let mut command = mancala(&files);
    let client_ca = files.settings(clients).client_ca;
    if let Some(ca) = &client_ca {
        command.env("MANCALA_TLS__CLIENT_CA", ca);
    }
    command.args(["serve", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null());
    let mut child = command.spawn().expect("the program");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
    assert!(line.contains("try: grpcurl -insecure "), "{line}");
    let address = line.split_once("listening on ").and_then(|(_, rest)| rest.split_once(',')).expect("an address").0;
    let address = address.parse().expect("an address");
    let (says, log) = channel();
    let stderr = BufReader::new(child.stderr.take().expect("its log"));
    std::thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| says.send(line)));
    Program { child, address, log, files, client_ca }
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().expect("kill").success());
}

impl Program {
    fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// Waits for a line of the log that has this in it.
    fn hear(&self, text: &str) -> String {
        loop {
            let line = self.log.recv_timeout(Duration::from_secs(20)).unwrap_or_else(|_| panic!("no line has {text:?}"));
            if line.contains(text) {
                return line;
            }
        }
    }

    /// A command of the same configuration.
    pub fn command(&self, arguments: &[&str]) -> Output {
        let mut command = mancala(&self.files);
        if let Some(ca) = &self.client_ca {
            command.env("MANCALA_TLS__CLIENT_CA", ca);
        }
        command.env("MANCALA_SERVER__LISTEN", self.address.to_string()).args(arguments).output().expect("the program")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn sighup_makes_it_look_at_once() {
    let (old, new) = (Authority::new(), Authority::new());
    let program = serve(&old.issue(NAME), None);
    connect(program.address, &old, None).await.expect("a connection");
    let renewed = new.issue(NAME);
    program.files.write("server.pem", &renewed.certificate);
    program.files.write("server.key", &renewed.key);
    program.signal("-HUP");
    program.hear("the certificate has changed: new connections get the new one");
    connect(program.address, &new, None).await.expect("a connection");

    program.files.write("server.pem", "nonsense");
    program.signal("-HUP");
    let line = program.hear("the old one stays");
    assert!(line.contains("server.pem holds no certificate in PEM"), "{line}");
    connect(program.address, &new, None).await.expect("a connection");
}

#[test]
fn sighup_does_not_end_a_program_that_still_opens_its_store() {
    let files = Files::new(&Authority::new().issue(NAME));
    // A database that takes the connection and says nothing.
    let database = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("postgres://{}/mancala", database.local_addr().expect("an address"));
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    let mut child =
        mancala(&files).env("MANCALA_STORE__URL", url).args(serve).stderr(Stdio::piped()).spawn().expect("the program");
    let connection = database.accept().expect("a connection");
    signal(&child, "-HUP");
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(child.try_wait().expect("its state"), None, "it goes on");
    signal(&child, "-TERM");
    let output = child.wait_with_output().expect("its end");
    drop(connection);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("stopped before the store was open"), "{}", said(&output));
}

#[test]
fn a_certificate_that_ends_is_warned_of_and_one_that_lasts_is_not() {
    let authority = Authority::new();
    let ended = authority.issue_as(NAME, |params| params.not_after = rcgen::date_time_ymd(2020, 1, 2));
    let line = serve(&ended, None).hear("the certificate ends soon, or has ended");
    assert!(line.contains("WARN") && line.contains("server.pem"), "{line}");
    let lasting = serve(&authority.issue(NAME), None);
    lasting.signal("-TERM");
    while let Ok(line) = lasting.log.recv_timeout(Duration::from_secs(20)) {
        assert!(!line.contains("ends soon"), "{line}");
    }
}

pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn healthcheck_and_bench_speak_tls_as_they_are_configured_or_told() {
    let authority = Authority::new();
    let program = serve(&authority.issue_chain(NAME), None);
    let checked = program.command(&["healthcheck"]);
    assert!(checked.status.success(), "{}", said(&checked));
    program.files.write("ca.pem", &authority.pem);
    let ca = program.files.path("ca.pem").to_str().expect("text").to_owned();
    let address = program.address.to_string();
    let told = ["healthcheck", "--address", &address, "--ca", &ca, "--server-name", NAME];
    let checked = program.command(&told);
    assert!(checked.status.success(), "{}", said(&checked));

    let checked = program.command(&told[..5]);
    assert_eq!(checked.status.code(), Some(1));
    assert!(said(&checked).contains("not valid for name"), "{}", said(&checked));
    let bench = program.command(&["bench", "--duration", "200ms", "--concurrency", "4"]);
    assert!(bench.status.success(), "{}", said(&bench));
}

#[test]
fn certificates_that_are_wrong_are_said_before_it_listens() {
    let authority = Authority::new();
    let files = Files::new(&authority.issue(NAME));
    files.write("server.key", &Authority::new().issue(NAME).key);
    let output = mancala(&files).args(["serve", "--listen", "127.0.0.1:0"]).output().expect("the program");
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    assert!(said(&output).contains("the certificate and its key can't be used"), "{}", said(&output));
}
