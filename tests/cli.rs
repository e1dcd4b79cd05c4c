//! The program: how it starts, what it prints and logs, how it stops, and its exit codes.
#![cfg(all(feature = "server", unix))]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use tonic::Request;
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

/// Far longer than anything here takes, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// The program with nothing configured, its data in `folder`.
fn mancala(folder: &tempfile::TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mancala"));
    command.env_clear().env("XDG_DATA_HOME", folder.path()).env("HOME", folder.path());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// A running `mancala serve`, ended when it is dropped.
struct Server {
    child: Child,
    first_line: String,
    address: SocketAddr,
    log: mpsc::Receiver<String>,
    folder: tempfile::TempDir,
}

impl Server {
    fn start(change: impl FnOnce(&mut Command) -> &mut Command) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = mancala(&folder);
        command.args(["serve", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = change(&mut command).spawn().expect("the program");

        let mut first_line = String::new();
        let stdout = child.stdout.take().expect("its output");
        BufReader::new(stdout).read_line(&mut first_line).expect("a line");
        let address = first_line.split_once("listening on ").and_then(|(_, rest)| rest.split_once(','));
        let address = address.expect("an address").0.parse().expect("an address");

        let (sender, log) = mpsc::channel();
        let stderr = BufReader::new(child.stderr.take().expect("its log"));
        thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, first_line, address, log, folder }
    }

    fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
    }

    /// Waits for a line of the log.
    fn wait_for_log(&self, part: &str) {
        while !self.log.recv_timeout(PATIENCE).expect("a line in time").contains(part) {}
    }

    fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().expect("a process") {
                return status;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("the server has not ended");
    }

    /// Stops it and gives its log.
    fn into_log(mut self) -> Vec<String> {
        self.signal("TERM");
        assert_eq!(self.wait().code(), Some(0));
        self.log.iter().collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A peer that speaks enough HTTP/2 to be taken in and is then silent.
fn silent_peer(address: SocketAddr) -> TcpStream {
    let mut socket = TcpStream::connect(address).expect("a connection");
    socket.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").expect("the preface is taken");
    socket.read_exact(&mut [0; 9]).expect("settings");
    socket
}

/// Asks for health twice, of the server and of a service that there is not, with metadata that nobody else is to see.
#[tokio::main(flavor = "current_thread")]
async fn ask_with_secrets(address: SocketAddr) {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("an address");
    let mut client = HealthClient::new(endpoint.connect().await.expect("a connection"));
    for service in ["", "secret-message"] {
        let mut request = Request::new(HealthCheckRequest { service: service.to_owned() });
        request.metadata_mut().insert("authorization", "Bearer secret-metadata".parse().expect("a value"));
        assert_eq!(client.check(request).await.is_ok(), service.is_empty());
    }
}

#[test]
fn it_says_where_it_listens_where_data_is_and_how_to_try_it() {
    let server = Server::start(|command| command);
    assert_ne!(server.address.port(), 0);
    let (address, data) = (server.address, server.folder.path().join("mancala/mancala.db"));
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        server.first_line,
        format!(
            "mancala {version} listening on {address}, data in {}; \
             try: grpcurl -plaintext {address} mancala.v1.RulesService/ListGames\n",
            data.display()
        )
    );
    if cfg!(debug_assertions) {
        server.wait_for_log("built without optimisation");
    }
}

#[test]
fn either_signal_stops_it_cleanly() {
    for signal in ["TERM", "INT"] {
        let mut server = Server::start(|command| command);
        server.signal(signal);
        assert_eq!(server.wait().code(), Some(0), "SIG{signal}");
    }
}

#[test]
fn it_ends_within_ten_seconds_by_default_whatever_peers_do() {
    let mut server = Server::start(|command| command);
    let peer = silent_peer(server.address);
    let start = Instant::now();
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    drop(peer);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let mut server = Server::start(|command| command.env("MANCALA_SERVER__DRAIN_TIMEOUT", "1h"));
    let peer = silent_peer(server.address);
    server.signal("TERM");
    server.wait_for_log("stopping");
    server.signal("INT");
    assert_eq!(server.wait().code(), Some(1));
    drop(peer);
}

#[test]
fn a_port_that_is_taken_is_named_with_what_to_do() {
    let first = Server::start(|command| command);
    let folder = tempfile::tempdir().expect("a folder");
    let address = first.address.to_string();
    let second = mancala(&folder).args(["serve", "--listen", &address]).output().expect("the program");
    assert_eq!(second.status.code(), Some(1));
    let problem = text(&second.stderr);
    assert!(problem.contains(&format!("{address} is taken")) && problem.contains("--listen"), "{problem}");
}

#[test]
fn its_log_has_a_line_a_call_for_people_and_no_secrets() {
    let server = Server::start(|command| command.args(["--log", "trace"]));
    ask_with_secrets(server.address);
    let log = server.into_log();
    let calls: Vec<_> = log.iter().filter(|line| line.contains("grpc.health.v1.Health/Check")).collect();
    assert_eq!(calls.len(), 2, "{log:#?}");
    assert!(calls[0].contains("DEBUG") && calls[0].contains("code=\"OK\""), "{log:#?}");
    assert!(calls[1].contains(" INFO") && calls[1].contains("code=\"NOT_FOUND\""), "{log:#?}");
    assert!(!log.iter().any(|line| line.contains("secret") || line.contains('\u{1b}')), "{log:#?}");
}

#[test]
fn its_log_has_a_line_a_call_for_programs_and_no_secrets() {
    let server = Server::start(|command| command.args(["--log-format", "json", "--log", "trace"]));
    ask_with_secrets(server.address);
    let log = server.into_log();
    let lines = log.iter().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let calls: Vec<_> = lines.filter(|line| line["span"]["method"] == "grpc.health.v1.Health/Check").collect();
    let seen: Vec<_> = calls.iter().map(|line| (line["level"].as_str(), line["code"].as_str())).collect();
    assert_eq!(seen, [(Some("DEBUG"), Some("OK")), (Some("INFO"), Some("NOT_FOUND"))]);
    assert!(calls.iter().all(|line| line["duration_ms"].is_f64()), "{calls:#?}");
    assert!(!log.iter().any(|line| line.contains("secret")), "{log:#?}");
}

#[test]
fn calls_that_succeed_are_not_logged_by_default() {
    let server = Server::start(|command| command);
    ask_with_secrets(server.address);
    let log = server.into_log();
    let calls: Vec<_> = log.iter().filter(|line| line.contains("call{")).collect();
    assert_eq!(calls.len(), 1, "{log:#?}");
    assert!(calls[0].contains("NOT_FOUND"), "{log:#?}");
}

#[test]
fn healthcheck_tells_by_its_exit_code() {
    let server = Server::start(|command| command);
    let check = |change: fn(&mut Command, SocketAddr) -> &mut Command| {
        change(mancala(&server.folder).arg("healthcheck"), server.address).output().expect("the program")
    };
    let named = check(|command, address| command.args(["--address", &address.to_string()]));
    assert_eq!(named.status.code(), Some(0), "{}", text(&named.stderr));

    // The configured address, as in a container whose server listens on all addresses.
    let configured = check(|command, address| {
        let anywhere = format!("0.0.0.0:{}", address.port());
        command.env("MANCALA_SERVER__LISTEN", anywhere).env("MANCALA_SERVER__ALLOW_OPEN", "true")
    });
    assert_eq!(configured.status.code(), Some(0), "{}", text(&configured.stderr));

    let unknown = check(|command, address| command.args(["--service", "mancala.v1.Nothing", "--address", &address.to_string()]));
    assert_eq!(unknown.status.code(), Some(1));
    assert!(text(&unknown.stderr).contains("no service of that name"), "{}", text(&unknown.stderr));
}

#[test]
fn healthcheck_of_a_server_that_is_not_there_or_silent_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let check = || -> Output {
        let args = ["healthcheck", "--address", &address, "--timeout", "1"];
        mancala(&folder).args(args).output().expect("the program")
    };
    // It accepts, as the system does so for it, and never answers.
    let silent = check();
    assert_eq!(silent.status.code(), Some(1));
    assert!(text(&silent.stderr).contains("no answer within 1 s"), "{}", text(&silent.stderr));

    drop(listener);
    let gone = check();
    assert_eq!(gone.status.code(), Some(1));
    assert!(text(&gone.stderr).contains("can't be reached"), "{}", text(&gone.stderr));
}

#[test]
fn check_config_prints_a_file_that_can_be_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let printed =
        mancala(&folder).args(["check-config", "--listen", "127.0.0.1:7", "--log", "warn"]).output().expect("the program");
    assert_eq!(printed.status.code(), Some(0));
    let file = folder.path().join("printed.toml");
    std::fs::write(&file, &printed.stdout).expect("a file");
    let again = mancala(&folder).args(["check-config", "--config"]).arg(&file).output().expect("the program");
    assert_eq!(text(&again.stdout), text(&printed.stdout));
    assert!(text(&again.stdout).contains("listen = \"127.0.0.1:7\""));
}

#[test]
fn a_key_is_printed_with_a_configuration_that_takes_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = |name: &str| mancala(&folder).args(["key", name]).output().expect("the program");
    let printed = text(&key("ops").stdout);
    assert_ne!(printed, text(&key("ops").stdout), "every key is another one");
    assert_eq!(printed.lines().filter(|line| line.starts_with("mop_ops_") && line.len() == 51).count(), 1, "{printed}");

    let lines = |of: &str| printed[printed.find(of).expect("it")..].split("\n\n").next().expect("lines").to_owned();
    let file = folder.path().join("token.toml");
    std::fs::write(&file, lines("[auth]")).expect("a file");
    let by_file = mancala(&folder).args(["check-config", "--config"]).arg(&file).output().expect("the program");
    let assignments = lines("MANCALA_AUTH__MODE").replace('\n', " ");
    let by_environment = format!("{assignments} {} check-config", env!("CARGO_BIN_EXE_mancala"));
    let home = format!("HOME={}", folder.path().display());
    let by_environment = Command::new("env").args(["-i", &home, "sh", "-c", &by_environment]).output().expect("a shell");
    assert_eq!((by_file.status.code(), by_environment.status.code()), (Some(0), Some(0)));
    let auth = |output: &Output| text(&output.stdout).split_once("[auth]").expect("a section").1.to_owned();
    assert_eq!(auth(&by_file), auth(&by_environment));
    assert!(auth(&by_file).starts_with("\nmode = \"token\"\noperators = [{ name = \"ops\""), "{}", auth(&by_file));

    let bad = key("No Name");
    assert_eq!((bad.status.code(), bad.stdout.is_empty()), (Some(2), true));
}

#[test]
fn faults_of_the_configuration_and_wrong_usage_exit_with_2() {
    let folder = tempfile::tempdir().expect("a folder");
    for command in ["check-config", "serve"] {
        let faulty = mancala(&folder)
            .args([command, "--listen", "0.0.0.0:0"])
            .env("MANCALA_SERVER__THREDS", "1")
            .output()
            .expect("the program");
        assert_eq!(faulty.status.code(), Some(2), "{command}");
        let problem = text(&faulty.stderr);
        assert!(problem.contains("server.listen (--listen)") && problem.contains("MANCALA_SERVER__THREDS"), "{problem}");
    }
    let unknown = mancala(&folder).arg("dance").output().expect("the program");
    assert_eq!(unknown.status.code(), Some(2));
}

/// Settings that are right one by one, but whose files `serve` can't begin with.
#[test]
fn check_config_says_what_is_wrong_with_files_as_serve_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("empty.pem"), "").expect("a file");
    let database = ("MANCALA_STORE__URL", "postgres://me@127.0.0.1:1/games".to_owned());
    let cases = [
        (
            vec![("MANCALA_TLS__CERTIFICATE", path("a.pem")), ("MANCALA_TLS__KEY", path("b.pem"))],
            vec!["\n  tls.certificate: ", "/a.pem can't be read: ", "\n  tls.key: ", "/b.pem can't be read: "],
        ),
        (
            vec![("MANCALA_TLS__CERTIFICATE", path("empty.pem")), ("MANCALA_TLS__KEY", path("empty.pem"))],
            vec!["\n  tls: ", "/empty.pem holds no certificate in PEM"],
        ),
        (
            vec![
                database.clone(),
                ("MANCALA_STORE__PASSWORD_FILE", path("password")),
                ("MANCALA_STORE__TLS", "on".to_owned()),
                ("MANCALA_STORE__TLS_CA", path("empty.pem")),
            ],
            vec!["\n  store.password_file ", "/password can't be read: ", "\n  store.tls_ca: ", "there are none"],
        ),
        (
            vec![database, ("MANCALA_STORE__TLS", "on".to_owned()), ("MANCALA_STORE__TLS_CA", path("ca.pem"))],
            vec!["\n  store.tls_ca: the authorities in ", "/ca.pem can't be used: "],
        ),
    ];
    for (variables, expected) in cases {
        for command in ["check-config", "serve"] {
            let listen = ["--listen", "127.0.0.1:0"];
            let run = mancala(&folder).arg(command).args(listen).envs(variables.clone()).output().expect("the program");
            assert_eq!((run.status.code(), run.stdout.is_empty()), (Some(1), true), "{command} {variables:?}");
            let problem = text(&run.stderr);
            assert!(expected.iter().all(|part| problem.contains(part)), "{command}: {problem}");
        }
    }
    // A password that is not asked for need not be there; and nothing was made on the way.
    let unused = mancala(&folder).arg("check-config").env("MANCALA_STORE__PASSWORD_FILE", path("password")).output();
    assert_eq!(unused.expect("the program").status.code(), Some(0));
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
}

#[test]
fn bench_shows_an_operators_key_to_a_server_in_token_mode() {
    let folder = tempfile::tempdir().expect("a folder");
    let printed = text(&mancala(&folder).args(["key", "ops"]).output().expect("the program").stdout);
    let line =
        |start: &str| printed.lines().find_map(|line| line.strip_prefix(start)).expect("a line").trim_matches('\'').to_owned();
    let (key, operators) = (format!("mop_ops_{}", line("mop_ops_")), line("MANCALA_AUTH__OPERATORS="));
    let server =
        Server::start(|command| command.envs([("MANCALA_AUTH__MODE", "token"), ("MANCALA_AUTH__OPERATORS", &operators)]));
    let file = folder.path().join("ops.txt");
    std::fs::write(&file, &printed).expect("a file");

    let bench = |flags: &[&str], key: Option<&str>| -> Output {
        let mut command = mancala(&folder);
        command.args(["bench", "--json", "--duration", "300ms", "--concurrency", "4", "--address", &server.address.to_string()]);
        command.args(flags).envs(key.map(|key| ("MANCALA_OPERATOR_KEY", key))).output().expect("the program")
    };
    let by_file = ["--operator-key-file", file.to_str().expect("text")];
    for (flags, key) in [
        (vec!["--calls", "apply=4,legal,get,health"], Some(&*key)),
        (by_file.to_vec(), None),
        // The flag goes over the variable.
        ([&by_file[..], &["--stream"]].concat(), Some("none")),
    ] {
        let run = bench(&flags, key);
        assert_eq!(run.status.code(), Some(0), "{flags:?}: {run:?}");
        let report: serde_json::Value = serde_json::from_slice(&run.stdout).expect("JSON");
        let moves = report["by_call"]["apply"]["succeeded"].as_u64();
        assert!(report["failed"] == 0 && moves.is_some_and(|moves| moves > 0), "{report}");
    }

    let other = text(&mancala(&folder).args(["key", "ops"]).output().expect("the program").stdout);
    let other = other.lines().find(|line| line.starts_with("mop_")).expect("a key");
    for (flags, key, code, expected) in [
        (vec![], None, 1, "TOKEN_MISSING; give an operator's key by --operator-key-file"),
        (vec!["--stream"], None, 1, "TOKEN_MISSING; give an operator's key by --operator-key-file"),
        (vec![], Some(other), 1, "TOKEN_INVALID; the key is not one of the server's operators"),
        (vec![], Some("mop_ops_secret"), 2, "MANCALA_OPERATOR_KEY is no operator's key"),
        (vec!["--operator-key-file", "/nowhere/key"], None, 2, "--operator-key-file /nowhere/key can't be read"),
        (vec!["--operator-key-file", "/dev/null"], None, 2, "--operator-key-file /dev/null holds no operator's key"),
    ] {
        let run = bench(&flags, key);
        assert_eq!(run.status.code(), Some(code), "{flags:?}: {run:?}");
        let problem = text(&run.stderr);
        assert!(problem.contains(expected) && !problem.contains("secret"), "{problem}");
    }
}

#[test]
fn a_record_is_checked_without_a_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("game.txt");
    let page = include_str!("../docs/record.md");
    let record = page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let verify = |content: &str| {
        std::fs::write(&file, content).expect("a file");
        let Output { status, stdout, stderr } = mancala(&folder).arg("verify-record").arg(&file).output().expect("the program");
        (status.code(), text(&stdout), text(&stderr))
    };
    let (code, said, problem) = verify(record);
    assert_eq!((code, problem.as_str()), (Some(0), ""));
    assert!(said.starts_with("ok: session game-1, 8 events, hash "), "{said}");
    let (code, said, problem) = verify(&record.replacen("+3.120000", "+3.130000", 1));
    assert_eq!((code, said.as_str()), (Some(1), ""));
    assert!(problem.contains("game.txt: line 14: event 2: its hash differs: expected "), "{problem}");
    let (code, _, problem) = verify(&" ".repeat(1 << 20));
    assert_eq!(code, Some(1));
    assert!(problem.contains("line 1: expected a record of at most 1047552 bytes"), "{problem}");
    std::fs::remove_file(&file).expect("it was there");
    let missing = mancala(&folder).arg("verify-record").arg(&file).output().expect("the program");
    assert_eq!(missing.status.code(), Some(2));
}
