//! The configuration: which source wins, and that everything that is wrong is said at once.
#![cfg(feature = "server")]

#[path = "config/faulty.rs"]
mod faulty;

use mancala::config::{
    AuthMode, Config, ConfigErrors, LogFormat, Operator, Sources, StoreConfig, StreamsConfig, TlsConfig, WebConfig,
};
use mancala::server::{ConnectionSettings, Rate};
use mancala::session::SecretHash;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Sources with a data folder and a file of this content.
struct Given {
    folder: tempfile::TempDir,
    sources: Sources,
}

fn given(file: &str) -> Given {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mancala.toml");
    fs::write(&path, file).expect("a file");
    Given { folder, sources: Sources { file: Some(path), ..nothing() } }
}

fn nothing() -> Sources {
    Sources { data_folder: Some(PathBuf::from("/data")), ..Sources::default() }
}

fn variables<const N: usize>(variables: [(&str, &str); N]) -> Vec<(OsString, OsString)> {
    variables.map(|(name, value)| (name.into(), value.into())).to_vec()
}

fn defaults() -> Config {
    Config::defaults(PathBuf::from("/data/mancala/mancala.db"))
}

/// The keys of the faults, sorted, "-" for a source as a whole; and all of the text.
fn faults(loaded: Result<Config, ConfigErrors>) -> (Vec<String>, String) {
    let errors = loaded.expect_err("faults");
    let mut keys: Vec<_> = errors.0.iter().map(|fault| fault.key.clone().unwrap_or("-".to_owned())).collect();
    keys.sort();
    (keys, errors.to_string())
}

#[test]
fn nothing_given_is_the_defaults() {
    let config = Config::load(&nothing()).expect("defaults are valid");
    assert_eq!(config, defaults());
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:50051");
    assert_eq!(config.server.drain_timeout, Duration::from_secs(8));
    assert!(config.server.worker_threads() >= 1);
}

#[test]
fn the_deployed_file_is_the_defaults() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/mancala.toml");
    let text = fs::read_to_string(&file).expect("the file");
    assert_eq!(Config::load(&Sources { file: Some(file), ..nothing() }), Ok(defaults()));

    // It shows every setting, the one without a fixed default too.
    let shown = |line: &str| text.lines().any(|shown| shown.trim_start_matches("# ").starts_with(line));
    for line in defaults().to_string().lines().filter(|line| line.contains('=')) {
        let key = line.split('=').next().expect("a key");
        assert!(shown(&format!("{key}=")), "{key} is missing");
    }
}

#[test]
fn flags_go_over_the_environment_and_that_over_the_file() {
    let file = "[server]\nlisten = '127.0.0.1:1'\nthreads = 1\nmax_streams = 7\n[log]\nfilter = 'warn'\n";
    let mut given = given(file);
    given.sources.environment =
        variables([("MANCALA_SERVER__LISTEN", "127.0.0.1:2"), ("MANCALA_SERVER__THREADS", "2"), ("MANCALA_LOG__FORMAT", "json")]);
    given.sources.flags = vec![("server.listen", "--listen", "127.0.0.1:3".to_owned())];
    let config = Config::load(&given.sources).expect("a configuration");

    assert_eq!(config.server.listen.port(), 3);
    assert_eq!(config.server.threads, 2);
    assert_eq!(config.server.worker_threads(), 2);
    assert_eq!(config.server.connections.max_streams, 7);
    assert_eq!(config.log.filter, "warn");
    assert_eq!(config.log.format, LogFormat::Json);
    assert_eq!(config.server.request_timeout, defaults().server.request_timeout);
}

#[test]
fn every_setting_is_read_from_the_environment_as_from_a_file() {
    let mut other = defaults();
    other.server.listen = "[::1]:4".parse().expect("an address");
    other.server.threads = 3;
    other.server.request_timeout = Duration::from_millis(1500);
    other.server.longest_timeout = Duration::from_secs(90);
    other.server.drain_delay = Duration::from_secs(5);
    other.server.drain_timeout = Duration::from_secs(60);
    other.server.connections = ConnectionSettings {
        max_connections: 7,
        max_connections_per_address: 0,
        max_streams: 9,
        header_timeout: Duration::from_secs(1),
        keepalive_interval: Duration::from_secs(2),
        keepalive_timeout: Duration::from_secs(3),
        connection_age: Duration::from_secs(24 * 3600),
        connection_grace: Duration::ZERO,
        stall_timeout: Duration::from_secs(4),
    };
    other.tls = TlsConfig {
        certificate: "/a.pem".into(),
        key: "/a.key".into(),
        client_ca: "/ca.pem".into(),
        client_optional: true,
        check_every: Duration::from_secs(1),
    };
    other.web = WebConfig {
        enabled: true,
        allow_origins: vec!["https://play.example".to_owned(), "http://[::1]:8080".to_owned()],
        max_age: Duration::from_secs(60),
    };
    other.server.allow_open = true;
    other.store = StoreConfig {
        path: PathBuf::from("/a \"b\"\\c\n\u{7f}é.db"),
        url: "postgres://me@host:1,other:2/games?target_session_attrs=read-write".to_owned(),
        password_file: "/password".into(),
        cached_sessions: 9,
        connections: 3,
        read_timeout: Duration::from_millis(100),
        write_timeout: Duration::from_secs(7),
        tls: true,
        tls_ca: "/authorities.pem".into(),
        allow_unsafe_database: true,
    };
    other.auth.mode = AuthMode::Token;
    other.auth.operators = [("ops", 1), ("night-2", 255)]
        .map(|(name, byte)| Operator { name: name.to_owned(), key: SecretHash::new([byte; 32]) })
        .to_vec();
    other.auth.certificates = vec!["ops.example".to_owned()];
    other.limits.operator = Rate { per_second: 1, burst: 2 };
    other.limits.seat = Rate { per_second: 3, burst: 4 };
    other.limits.anonymous = Rate { per_second: 0, burst: 5 };
    other.limits.open = Rate { per_second: 1_000_000, burst: 1_000_000 };
    other.limits.calls_in_flight = 7;
    other.limits.open_sessions = 1_000_000_000;
    other.limits.trusted_proxies = ["10.0.0.0/8", "fd00::/8"].map(|network| network.parse().expect("a network")).to_vec();
    other.streams = StreamsConfig {
        heartbeat: Duration::from_secs(3),
        longest: Duration::from_secs(24 * 3600),
        watches_per_session: 5,
        watches_per_caller: 1_000_000,
    };
    other.metrics.listen = Some("[::1]:9090".parse().expect("an address"));
    // Only builds that can send traces may be told where.
    other.telemetry.otlp_endpoint = cfg!(feature = "otel").then(|| "http://[::1]:4317".to_owned());
    other.telemetry.sample_ratio = 0.25;
    other.telemetry.service_name = "games".to_owned();
    other.retention.finished = Duration::from_secs(720 * 3600);
    other.retention.aborted = Duration::from_secs(90);
    other.retention.abandoned = Duration::from_secs(87_600 * 3600);
    other.retention.notice = Duration::ZERO;
    other.retention.sweep_every = Duration::from_millis(1);
    other.log.filter = "warn,mancala=debug".to_owned();
    other.log.format = LogFormat::Json;

    let written = other.to_string();
    assert_eq!(Config::load(&given(&written).sources), Ok(other.clone()), "{written}");

    let mut section = String::new();
    let mut environment = Vec::new();
    for line in written.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').to_uppercase();
        } else if let Some((key, value)) = line.split_once(" = ")
            && key != "path"
        {
            let name = format!("MANCALA_{section}__{}", key.to_uppercase());
            environment.push((name.into(), value.trim_matches('"').into()));
        }
    }
    environment.push(("MANCALA_STORE__PATH".into(), other.store.path.clone().into()));
    assert_eq!(environment.len(), 63);
    assert_eq!(Config::load(&Sources { environment, ..nothing() }), Ok(other));
}

#[test]
fn the_environment_can_name_the_file_and_a_flag_goes_over_it() {
    let named = given("[server]\nthreads = 5\n");
    let path = named.sources.file.clone().expect("a path");
    let environment = variables([("MANCALA_CONFIG", path.to_str().expect("text"))]);
    let config = Config::load(&Sources { environment: environment.clone(), ..nothing() }).expect("a configuration");
    assert_eq!(config.server.threads, 5);

    let other = named.folder.path().join("other.toml");
    fs::write(&other, "[server]\nthreads = 6\n").expect("a file");
    let config = Config::load(&Sources { file: Some(other), environment, ..nothing() }).expect("a configuration");
    assert_eq!(config.server.threads, 6);
}

#[test]
fn all_faults_are_reported_at_once_with_their_origins() {
    let mut given =
        given("colour = 1\n[server]\nlisten = 'here'\nthreads = -1\nmax_streams = 0\ndrain_delay = '2h'\n[log.filter]\na = 1\n");
    given.sources.environment = variables([
        ("MANCALA_SERVER__REQUEST_TIMEOUT", "0s"),
        ("MANCALA_SERVER__DRAIN_TIMEOUT", "8"),
        ("MANCALA_SERVER__ALLOW_OPEN", "perhaps"),
        ("MANCALA_SERVER__LISTENS", "127.0.0.1:1"),
    ]);
    given.sources.flags = vec![("log.format", "--log-format", "xml".to_owned()), ("log.filter", "--log", "a=b=c".to_owned())];
    let (keys, text) = faults(Config::load(&given.sources));

    assert_eq!(
        keys,
        [
            "colour",
            "log.filter",
            "log.filter.a",
            "log.format",
            "server.allow_open",
            "server.drain_delay",
            "server.drain_timeout",
            "server.listen",
            "server.listens",
            "server.max_streams",
            "server.request_timeout",
            "server.threads",
        ]
    );
    let file = given.sources.file.expect("a path");
    let line = |start: String| assert!(text.contains(&start), "{start:?} is not in:\n{text}");
    line(format!("\n  server.listen ({}): here given, expected an IP address and a port", file.display()));
    line("\n  server.drain_timeout (MANCALA_SERVER__DRAIN_TIMEOUT): 8 given, expected a time such as".to_owned());
    line("\n  log.format (--log-format): xml given, expected \"human\" or \"json\"".to_owned());
    line("\n  server.listens (MANCALA_SERVER__LISTENS): there is no such setting".to_owned());
}

#[test]
fn a_filter_of_logs_is_levels_by_target() {
    let with = |filter: &str| {
        let mut sources = nothing();
        sources.flags = vec![("log.filter", "--log", filter.to_owned())];
        Config::load(&sources)
    };
    for filter in ["off", "trace", "warn,mancala=debug", "mancala::cli=trace,info"] {
        assert_eq!(with(filter).expect("a filter").log.filter, filter);
    }
    for filter in ["a=b=c", "mancala=loud", "mancala[call]=debug", "[call{session_id=\"s\"}]=debug", "[{code}]=info"] {
        assert_eq!(faults(with(filter)).0, ["log.filter"], "{filter}");
    }
}

#[test]
fn a_file_that_is_missing_or_no_toml_is_a_fault_beside_the_others() {
    let environment = variables([("MANCALA_SERVER__THREADS", "many")]);
    let missing = Sources { file: Some("/nowhere/mancala.toml".into()), environment: environment.clone(), ..nothing() };
    let (keys, text) = faults(Config::load(&missing));
    assert_eq!(keys, ["-", "server.threads"]);
    assert!(text.contains("the file /nowhere/mancala.toml can't be read"), "{text}");

    let mut given = given("[server\n");
    given.sources.environment = environment;
    let (keys, text) = faults(Config::load(&given.sources));
    assert_eq!(keys, ["-", "server.threads"]);
    assert!(text.contains("is not TOML"), "{text}");
}

#[test]
fn an_address_beyond_the_machine_must_be_allowed_by_name() {
    let listen = |address: &str, allow: &str| {
        let environment = variables([("MANCALA_SERVER__LISTEN", address), ("MANCALA_SERVER__ALLOW_OPEN", allow)]);
        Config::load(&Sources { environment, ..nothing() })
    };
    for address in ["0.0.0.0:1", "[::]:1", "192.0.2.1:1", "[::ffff:192.0.2.1]:1"] {
        let (keys, text) = faults(listen(address, "false"));
        assert_eq!(keys, ["server.listen"]);
        assert!(text.contains("server.allow_open = true"), "{text}");
        assert!(listen(address, "true").is_ok(), "{address}");
    }
    for address in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
        assert!(listen(address, "false").is_ok(), "{address}");
    }
}

/// What is wrong with a file of these lines.
fn faults_of(file: &str) -> (Vec<String>, String) {
    faults(Config::load(&given(file).sources))
}

#[test]
fn certificates_come_with_keys_and_clients_with_authorities() {
    let (keys, text) = faults_of("[tls]\ncertificate = '/a.pem'\n");
    assert_eq!(keys, ["tls.key"]);
    assert!(text.contains("needs its private key"), "{text}");
    let (keys, text) = faults_of("[tls]\nkey = '/a.key'\nclient_ca = '/ca.pem'\n");
    assert_eq!(keys, ["tls.certificate", "tls.client_ca"]);
    assert!(text.contains("without its certificate") && text.contains("set tls.certificate and tls.key"), "{text}");

    let tls = "[tls]\ncertificate = '/a.pem'\nkey = '/a.key'\n";
    let (keys, text) = faults_of(&format!("{tls}[auth]\nmode = 'token'\ncertificates = ['ops.example']\n"));
    assert_eq!(keys, ["auth.certificates"]);
    assert!(text.contains("only if tls.client_ca names their authorities"), "{text}");
    let (keys, _) = faults_of(&format!("{tls}client_ca = '/ca.pem'\n[auth]\ncertificates = ['no name', 'ops.example']\n"));
    assert_eq!(keys, ["auth.certificates"]);

    let whole = given(&format!("{tls}client_ca = '/ca.pem'\n[auth]\nmode = 'token'\ncertificates = ['ops.example']\n"));
    let settings = Config::load(&whole.sources).expect("an operator by certificate is one").settings().tls.expect("TLS");
    assert_eq!(settings.operators, ["ops.example"]);
    assert!(Config::load(&nothing()).expect("defaults").settings().tls.is_none());
    // Encryption says nothing of who may do what.
    let (keys, _) = faults_of(&format!("{tls}[server]\nlisten = '0.0.0.0:1'\n"));
    assert_eq!(keys, ["server.listen"]);
}

#[test]
fn origins_are_as_browsers_name_them() {
    let origins = |list: &str| Config::load(&given(&format!("[web]\nallow_origins = {list}\n")).sources);
    for right in ["[]", "['*']", "['https://play.example']", "['http://localhost:8080', 'https://a.example']"] {
        assert!(origins(right).is_ok(), "{right}");
    }
    let wrong =
        ["'*'", "['play.example']", "['https://play.example/']", "['https://Play.example']", "['https://a@b.example']", "[1]"];
    for wrong in wrong {
        let (keys, text) = faults(origins(wrong));
        assert_eq!(keys, ["web.allow_origins"], "{wrong}");
        assert!(text.contains("expected a list of origins"), "{text}");
    }
    let (keys, text) = faults(origins("['*', 'https://a.example']"));
    assert_eq!(keys, ["web.allow_origins"]);
    assert!(text.contains("name it alone"), "{text}");
}

const KEY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789ABCDEF";

/// What a server is given as operators, in token mode on an address beyond the machine.
fn operators(operators: &str) -> Result<Config, ConfigErrors> {
    let environment = variables([
        ("MANCALA_SERVER__LISTEN", "0.0.0.0:1"),
        ("MANCALA_AUTH__MODE", "token"),
        ("MANCALA_AUTH__OPERATORS", operators),
    ]);
    Config::load(&Sources { environment, ..nothing() })
}

#[test]
fn token_mode_needs_operators_and_may_be_reached_from_anywhere() {
    let one = format!("{{ name = \"ops\", key_sha256 = \"{KEY}\" }}");
    let config = operators(&format!("[{one}]")).expect("a configuration");
    assert_eq!(config.auth.keys().keys().collect::<Vec<_>>(), ["ops"]);
    let (keys, text) = faults(operators(""));
    assert_eq!(keys, ["auth.operators"]);
    assert!(text.contains("token mode needs an operator"), "{text}");
    let two = |name: &str| operators(&format!("[{one}, {}]", one.replace("ops", name)));
    assert_eq!(two("night").expect("a configuration").auth.operators.len(), 2);
    let (keys, text) = faults(two("ops"));
    assert_eq!(keys, ["auth.operators"]);
    assert!(text.contains("the same name"), "{text}");
}

#[test]
fn operators_that_are_none_are_faults() {
    let good = format!("{{ name = \"ops\", key_sha256 = \"{KEY}\" }}");
    let bad = [
        "ops".to_owned(),
        good.clone(),
        format!("[{good}]\nother = 1"),
        format!("[\"{KEY}\"]"),
        "[{ name = \"ops\" }]".to_owned(),
        format!("[{}]", good.replace("ops", "Ops")),
        format!("[{}]", good.replace("ops", &"o".repeat(33))),
        format!("[{}]", good.replace(KEY, &KEY[1..])),
        format!("[{}]", good.replace(" }", ", more = 1 }")),
    ];
    for bad in bad {
        let (keys, text) = faults(operators(&bad));
        assert_eq!(keys, ["auth.operators"], "{bad}");
        assert!(text.contains("`mancala key NAME` makes an element"), "{text}");
    }
    let mut given = given("[auth]\nmode = 'token'\noperators = 7\n");
    assert_eq!(faults(Config::load(&given.sources)).0, ["auth.operators"]);
    given.sources.environment = variables([("MANCALA_AUTH__MODE", "closed"), ("MANCALA_AUTH__OPERATORS", "[]")]);
    assert_eq!(faults(Config::load(&given.sources)).0, ["auth.mode"]);
}

#[test]
fn no_limit_is_zero_and_an_address_is_a_network_of_its_own() {
    let lines =
        "operator_rate = 0\nanonymous_rate = 0\ncalls_in_flight = 0\nopen_sessions = 0\ntrusted_proxies = ['192.0.2.1']\n";
    let limits = Config::load(&given(&format!("[limits]\n{lines}")).sources).expect("a configuration").limits;
    assert_eq!((limits.operator.per_second, limits.anonymous.per_second), (0, 0));
    assert_eq!((limits.calls_in_flight, limits.open_sessions), (0, 0));
    assert_eq!(limits.trusted_proxies, ["192.0.2.1/32".parse().expect("a network")]);
}

#[test]
fn traces_go_where_they_can() {
    let with = |lines: &str| Config::load(&given(&format!("[telemetry]\n{lines}")).sources);
    let set = with("otlp_endpoint = 'http://collector:4317'\nsample_ratio = 1\n");
    if cfg!(feature = "otel") {
        assert_eq!(set.expect("a configuration").telemetry.otlp_endpoint.as_deref(), Some("http://collector:4317"));
    } else {
        let (keys, text) = faults(set);
        assert_eq!(keys, ["telemetry.otlp_endpoint"]);
        assert!(text.contains("--features otel"), "{text}");
    }
}

#[test]
fn a_time_that_callers_need_not_ask_for_is_within_the_longest() {
    let (keys, text) = faults(Config::load(&given("[server]\nrequest_timeout = '31s'\n").sources));
    assert_eq!(keys, ["server.longest_timeout"]);
    assert!(text.contains("shorter than server.request_timeout"), "{text}");
}

#[test]
fn variables_of_others_are_passed_over() {
    // Kubernetes sets such for a service that is named "mancala".
    let environment = variables([
        ("MANCALA_PORT", "tcp://10.0.0.1:50051"),
        ("MANCALA_SERVICE_HOST", "10.0.0.1"),
        ("SERVER__LISTEN", "0.0.0.0:1"),
        ("MANCALA_SERVER__LISTEN", ""),
    ]);
    assert_eq!(Config::load(&Sources { environment, ..nothing() }), Ok(defaults()));
}

#[test]
fn without_a_home_the_data_file_must_be_named() {
    let (keys, text) = faults(Config::load(&Sources::default()));
    assert_eq!(keys, ["store.path"]);
    assert!(text.contains("set store.path"), "{text}");

    let environment = variables([("MANCALA_STORE__PATH", "/srv/m.db")]);
    let config = Config::load(&Sources { environment, ..Sources::default() }).expect("a configuration");
    assert_eq!(config.store.path, Path::new("/srv/m.db"));
}

#[test]
fn a_database_needs_no_data_file_and_its_password_is_never_shown() {
    let environment = variables([("MANCALA_STORE__URL", "postgres://me:secret@host/games")]);
    let config = Config::load(&Sources { environment, ..Sources::default() }).expect("a configuration");
    assert_eq!(config.store.location().to_string(), "postgres://me@host/games");
    assert_eq!(config.store.options().expect("options").url, "postgres://me:secret@host/games");
    for shown in [config.to_string(), format!("{config:?}")] {
        assert!(shown.contains("postgres://me@host/games") && !shown.contains("secret"), "{shown}");
    }

    for (lines, key, problem) in [
        ("url = 'mysql://me:secret@host/games'", "store.url", "expected postgres://"),
        ("url = 'postgres://me:secret@host:port/games'", "store.url", "invalid connection string"),
        ("url = 'postgres://me:secret@host'", "store.url", "it names no database"),
        ("url = 'postgres://me:secret@host/games?sslmode=require'", "store.url", "takes store.tls = \"on\""),
        ("tls = 'on'", "store.tls_ca", "it must name a file"),
        ("tls_ca = '/ca.pem'", "store.tls_ca", "for nothing without store.tls"),
    ] {
        let (keys, text) = faults(Config::load(&given(&format!("[store]\n{lines}\n")).sources));
        assert_eq!(keys, [key], "{text}");
        assert!(text.contains(problem) && !text.contains("secret"), "{text}");
    }
}

#[test]
fn the_password_of_a_database_is_read_from_its_file() {
    let mut store = defaults().store;
    let folder = tempfile::TempDir::new().expect("a folder");
    store.password_file = folder.path().join("password");
    let missing = store.options().expect_err("there is no such file").to_string();
    assert!(missing.contains("store.password_file") && missing.contains("can't be read"), "{missing}");
    fs::write(&store.password_file, "secret\n").expect("a file");
    assert_eq!(store.options().expect("options").password.as_deref(), Some("secret"));
}
