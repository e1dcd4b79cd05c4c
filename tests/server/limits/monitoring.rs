//! The port for those who watch over the server.

use super::running::{Given, PATIENCE, Running, start};
use mancala::server::{self, Metrics};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tonic::Code;

/// Sends bytes as they are, and gives what comes back until the peer closes.
async fn exchange(address: SocketAddr, bytes: &[u8]) -> std::io::Result<String> {
    let mut socket = TcpStream::connect(address).await?;
    socket.write_all(bytes).await?;
    let mut text = String::new();
    tokio::time::timeout(PATIENCE, socket.read_to_string(&mut text)).await.expect("it is closed in time")?;
    Ok(text)
}

/// The status line and the body of an answer.
pub async fn request(address: SocketAddr, method: &str, path: &str) -> (String, String) {
    let answer = exchange(address, format!("{method} {path} HTTP/1.1\r\nhost: h\r\n\r\n").as_bytes()).await.expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    (head.lines().next().expect("a status").to_owned(), body.to_owned())
}

/// The port, with the counters of a server's calls.
async fn monitored(server: &Running) -> (SocketAddr, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let mut metrics = Metrics::default();
    server.calls.register(metrics.registry());
    server::process::register(&mut metrics);
    metrics.gauge("one", "A number", || 1.5);
    metrics.counter("two", "Another", || 2.0);
    let ready = Arc::new(AtomicBool::new(true));
    let is_ready = ready.clone();
    tokio::spawn(server::monitor(listener, Arc::new(metrics), move || is_ready.load(Ordering::SeqCst)));
    (address, ready)
}

/// Reads Prometheus' text format strictly, and gives the samples by their names and labels.
pub fn samples(text: &str) -> BTreeMap<String, f64> {
    let (mut samples, mut kinds, mut helped) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    assert!(text.ends_with('\n'));
    let mut current = String::new();
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, help) = help.split_once(' ').expect("a name and words");
            assert!(is_name(name) && !help.is_empty() && helped.insert(name.to_owned()), "{line}");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("a name and a type");
            assert!(helped.contains(name) && ["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            assert!(name.starts_with("mancala_") && kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "{line}");
            current = name.to_owned();
        } else {
            let (series, value) = line.rsplit_once(' ').expect("a series and a value");
            let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
            let base = if kinds[&current] == "histogram" {
                ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).expect("a part of a histogram")
            } else {
                name
            };
            assert_eq!(base, current, "samples follow their type: {line}");
            let labels = labels.strip_suffix('}').expect("a brace");
            for label in labels.split("\",").filter(|label| !label.is_empty()) {
                let (name, value) = label.split_once("=\"").expect("a label");
                assert!(is_name(name) && !value.trim_end_matches('"').contains(['"', '\\']), "{line}");
            }
            let value: f64 = value.parse().expect("a number");
            assert!(samples.insert(series.to_owned(), value).is_none(), "twice: {line}");
        }
    }
    for (name, _) in kinds.iter().filter(|(_, kind)| *kind == "histogram") {
        for (series, count) in samples.iter().filter(|(series, _)| series.starts_with(&format!("{name}_count"))) {
            let labels = series.trim_start_matches(&format!("{name}_count")).trim_matches(['{', '}']);
            let of_this =
                samples.iter().filter(|(series, _)| series.starts_with(&format!("{name}_bucket")) && series.contains(labels));
            let mut buckets: Vec<_> = of_this.map(|(_, count)| *count).collect();
            buckets.sort_by(f64::total_cmp);
            assert_eq!(buckets.last(), Some(count), "the last bucket has all: {series}");
        }
    }
    samples
}

#[tokio::test]
async fn known_calls_are_counted_to_the_last() {
    let server = start(Given::default()).await;
    let (address, _) = monitored(&server).await;
    let rules = "/mancala.v1.RulesService";
    for _ in 0..3 {
        assert_eq!(server.raw.call(&format!("{rules}/ListGames"), &[], &()).await.status().code(), Code::Ok);
    }
    for _ in 0..2 {
        assert_eq!(server.raw.call(&format!("{rules}/GetGame"), &[], &()).await.refused().reason, "GAME_NOT_FOUND");
    }
    for made_up in ["/a/b", "/mancala.v1.RulesService/Nothing"] {
        assert_eq!(server.raw.call(made_up, &[], &()).await.refused().reason, "METHOD_UNKNOWN");
    }
    let (status, text) = request(address, "GET", "/metrics").await;
    assert_eq!(status, "HTTP/1.1 200 OK");
    let samples = samples(&text);
    for (series, expected) in [
        ("calls_total{method=\"mancala.v1.RulesService/ListGames\",code=\"OK\"}", 3.0),
        ("calls_total{method=\"mancala.v1.RulesService/GetGame\",code=\"NOT_FOUND\"}", 2.0),
        ("calls_total{method=\"unknown\",code=\"UNIMPLEMENTED\"}", 2.0),
        ("calls_rejected_total{reason=\"GAME_NOT_FOUND\"}", 2.0),
        ("calls_rejected_total{reason=\"METHOD_UNKNOWN\"}", 2.0),
        ("call_duration_seconds_count{method=\"mancala.v1.RulesService/ListGames\"}", 3.0),
        ("call_duration_seconds_bucket{method=\"mancala.v1.RulesService/ListGames\",le=\"+Inf\"}", 3.0),
        ("calls_in_flight", 0.0),
        ("panics_total", 0.0),
        ("one", 1.5),
        ("two_total", 2.0),
    ] {
        assert_eq!(samples.get(&format!("mancala_{series}")), Some(&expected), "{series} in:\n{text}");
    }
    let calls: f64 = samples.iter().filter(|(series, _)| series.starts_with("mancala_calls_total")).map(|(_, count)| count).sum();
    assert_eq!(calls, 7.0, "and no other");
    if cfg!(target_os = "linux") {
        for (name, least) in
            [("cpu_seconds_total", 0.0), ("resident_memory_bytes", 1e6), ("threads", 1.0), ("open_fds", 4.0), ("max_fds", 16.0)]
        {
            let value = samples[&format!("mancala_process_{name}")];
            assert!(value >= least && value.is_finite() || value == f64::INFINITY && name == "max_fds", "{name}: {value}");
        }
    }
}

#[tokio::test]
async fn only_short_requests_to_read_are_answered() {
    let server = start(Given::default()).await;
    let (address, ready) = monitored(&server).await;
    assert_eq!(request(address, "GET", "/livez").await, ("HTTP/1.1 200 OK".to_owned(), "ok\n".to_owned()));
    assert_eq!(request(address, "GET", "/readyz").await.0, "HTTP/1.1 200 OK");
    ready.store(false, Ordering::SeqCst);
    assert_eq!(request(address, "GET", "/readyz").await.0, "HTTP/1.1 503 Service Unavailable");
    assert_eq!(request(address, "GET", "/livez").await.0, "HTTP/1.1 200 OK");
    assert_eq!(request(address, "HEAD", "/metrics").await, ("HTTP/1.1 200 OK".to_owned(), String::new()));
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        assert_eq!(request(address, method, "/metrics").await.0, "HTTP/1.1 405 Method Not Allowed");
    }
    assert_eq!(request(address, "GET", "/").await.0, "HTTP/1.1 404 Not Found");
    let long = format!("GET /metrics HTTP/1.1\r\nhost: h\r\nx-long: {}\r\n\r\n", "a".repeat(20_000));
    let answer = exchange(address, long.as_bytes()).await;
    assert!(answer.is_err() || answer.as_ref().is_ok_and(|answer| answer.starts_with("HTTP/1.1 431")), "{answer:?}");
    let answer = exchange(address, b"\x16\x03\x01 no HTTP\r\n\r\n").await;
    assert!(answer.is_err() || answer.as_ref().is_ok_and(|answer| !answer.contains("200 OK")), "{answer:?}");
}

#[tokio::test]
async fn many_connections_cost_the_service_nothing() {
    let server = start(Given::default()).await;
    let (address, _) = monitored(&server).await;
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(TcpStream::connect(address).await.expect("a connection"));
    }
    assert_eq!(server.raw.call("/mancala.v1.RulesService/ListGames", &[], &()).await.status().code(), Code::Ok);
    // Those that there was no room for are closed at once, the others when their time is up.
    for mut socket in silent.drain(100..) {
        let closed = tokio::time::timeout(PATIENCE, socket.read(&mut [0; 1])).await.expect("in time");
        assert!(matches!(closed, Ok(0) | Err(_)), "{closed:?}");
    }
    let answers = async {
        while !exchange(address, b"GET /livez HTTP/1.1\r\nhost: h\r\n\r\n").await.is_ok_and(|text| text.contains("200 OK")) {}
    };
    tokio::time::timeout(PATIENCE, answers).await.expect("it answers again");
    drop(silent);
}
