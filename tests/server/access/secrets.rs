//! No secret leaves the server but once, in the answer that gives it: the whole program, with logs at their finest.

use super::running::{Bearer, Client, gore, with_join_code, with_token};
use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::{self, Seat, SpectatorPolicy};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use tonic::transport::Endpoint;

fn mancala(folder: &tempfile::TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mancala"));
    command.env_clear().env("XDG_DATA_HOME", folder.path()).env("HOME", folder.path());
    command
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("the program");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// A key, and what to put in the environment for it.
fn key(folder: &tempfile::TempDir) -> (String, String) {
    let printed = output(mancala(folder).args(["key", "ops"]));
    let line = |start: &str| printed.lines().find_map(|line| line.strip_prefix(start)).expect("a line").to_owned();
    let operators = line("MANCALA_AUTH__OPERATORS=").trim_matches('\'').to_owned();
    (format!("mop_{}", line("mop_")), operators)
}

/// The program in token mode.
struct Server {
    child: Child,
    address: String,
    log: Option<JoinHandle<String>>,
}

impl Server {
    fn start(folder: &tempfile::TempDir, operators: &str, format: &str) -> Server {
        let mut child = mancala(folder)
            .args(["serve", "--listen", "127.0.0.1:0", "--log", "trace", "--log-format", format])
            .envs([("MANCALA_AUTH__MODE", "token"), ("MANCALA_AUTH__OPERATORS", operators)])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
        let address =
            line.split_once("listening on ").and_then(|(_, rest)| rest.split_once(',')).expect("an address").0.to_owned();
        let mut stderr = child.stderr.take().expect("its log");
        let log = thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).expect("text");
            text
        });
        Server { child, address, log: Some(log) }
    }

    async fn client(&self, token: &str) -> Client {
        let channel = Endpoint::from_shared(format!("http://{}", self.address)).expect("an address").connect().await;
        SessionServiceClient::with_interceptor(channel.expect("a connection"), Bearer::new(Some(token)))
    }

    /// Ends it and gives all that it logged.
    fn into_log(mut self) -> String {
        self.child.kill().expect("a running server");
        self.log.take().expect("once").join().expect("no panic")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes a session, uses, rotates and revokes its secrets, rightly and wrongly; gives the secrets and all else that was answered.
async fn use_secrets(server: &Server, key: &str) -> (Vec<String>, String) {
    let mut answers = String::new();
    let mut operator = server.client(key).await;
    let request = gore([with_token(Seat::South), with_join_code(Seat::North)], SpectatorPolicy::Public, 0);
    let made = operator.create_session(request).await.expect("a session").into_inner();
    let session_id = made.session.expect("it").session_id;
    let (old, code) = (made.secrets[0].token.clone(), made.secrets[1].join_code.clone());

    let rotate = proto::RotateSeatTokenRequest { session_id: session_id.clone(), ..Default::default() };
    let token = server.client(&old).await.rotate_seat_token(rotate.clone()).await.expect("a token").into_inner().token;
    answers += &format!("{:?}", server.client(&old).await.rotate_seat_token(rotate).await.expect_err("void"));

    let claim = proto::ClaimSeatRequest { session_id: session_id.clone(), join_code: code.clone(), ..Default::default() };
    let claimed = operator.claim_seat(claim.clone()).await.expect("a seat").into_inner().token;
    answers += &format!("{:?}", operator.claim_seat(claim.clone()).await.expect_err("taken"));
    let wrong = proto::ClaimSeatRequest { join_code: format!("{code}X"), ..claim.clone() };
    answers += &format!("{:?}", operator.claim_seat(wrong).await.expect_err("malformed"));
    let wrong = proto::ClaimSeatRequest { seat: Seat::South.into(), ..claim };
    answers += &format!("{:?}", operator.claim_seat(wrong).await.expect_err("wrong"));

    let get = proto::GetSessionRequest { session_id: session_id.clone(), version: None };
    for wrong in
        [format!("{token}="), token.replace(".S_", ".N_"), key.replace("mop_ops", "mop_opt"), token.replace("mst_", "mop_")]
    {
        answers += &format!("{:?}", server.client(&wrong).await.get_session(get.clone()).await.expect_err("no token"));
    }
    answers += &format!("{:?}", operator.get_session(get).await.expect("a session").into_inner());
    answers +=
        &format!("{:?}", operator.list_sessions(proto::ListSessionsRequest::default()).await.expect("a list").into_inner());
    let revoke = proto::RevokeSeatTokenRequest { session_id: session_id.clone(), ..Default::default() };
    answers += &format!("{:?}", server.client(&claimed).await.revoke_seat_token(revoke).await.expect("void").into_inner());
    let events = proto::ListEventsRequest { session_id, ..Default::default() };
    let events = operator.list_events(events).await.expect("events").into_inner();
    assert_eq!(events.events.len(), 4);
    answers += &format!("{events:?}");
    (vec![key.to_owned(), old, token, claimed, code.replace('-', ""), code], answers)
}

#[tokio::test]
async fn secrets_are_in_no_log_error_event_or_printed_configuration() {
    for format in ["human", "json"] {
        let folder = tempfile::tempdir().expect("a folder");
        let (key, operators) = key(&folder);
        let server = Server::start(&folder, &operators, format);
        let (secrets, answers) = use_secrets(&server, &key).await;
        let log = server.into_log();
        let calls = log.matches("call ended").count();
        assert!(calls >= 14, "the log has a line a call: {log}");
        let configuration = output(
            mancala(&folder)
                .arg("check-config")
                .envs([("MANCALA_AUTH__MODE", "token"), ("MANCALA_AUTH__OPERATORS", operators.as_str())]),
        );
        assert!(configuration.contains(&operators), "{configuration}");

        let hashes = secrets.iter().filter_map(|secret| mancala::service::Token::parse(secret)).map(|token| match token {
            mancala::service::Token::Operator { hash, .. } | mancala::service::Token::Seat { hash, .. } => hash.to_string(),
        });
        let code = mancala::service::read_join_code(&secrets[5]).expect("a code").to_string();
        let hashes: Vec<_> = hashes.chain([code]).collect();
        assert_eq!(hashes.len(), 5);
        for secret in &secrets {
            // The random part is what is secret.
            let secret = &secret[secret.len().saturating_sub(43)..];
            for (place, text) in [("log", &log), ("answers", &answers), ("configuration", &configuration)] {
                assert!(!text.contains(secret), "a secret is in the {place}:\n{text}");
            }
        }
        for hash in hashes {
            assert!(!log.contains(&hash) && !answers.contains(&hash), "a hash is in the log or the answers");
        }
    }
}

#[test]
fn faults_of_a_configuration_do_not_show_a_key_that_was_put_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let (key, _) = key(&folder);
    for operators in [
        key.clone(),
        format!("[\"{key}\"]"),
        format!("[{{ name = \"ops\", key_sha256 = \"{key}\" }}]"),
        format!("[{{ name = \"{key}\", key_sha256 = \"{}\" }}]", "0".repeat(64)),
        format!("[{{ name = \"ops\", key = \"{key}\" }}]"),
    ] {
        let mut command = mancala(&folder);
        command.arg("check-config").envs([("MANCALA_AUTH__MODE", "token"), ("MANCALA_AUTH__OPERATORS", operators.as_str())]);
        let output = command.output().expect("the program");
        let printed = String::from_utf8([output.stdout, output.stderr].concat()).expect("text");
        assert_eq!(output.status.code(), Some(2), "{printed}");
        assert!(printed.contains("auth.operators (MANCALA_AUTH__OPERATORS): "), "{printed}");
        assert!(!printed.contains(&key), "{printed}");
    }
}
