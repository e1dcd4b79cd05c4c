//! Each setting for itself: values that it can't have are refused, in words that say which it can.

use crate::{defaults, faults, given};
use mancala::config::Config;

/// What each setting can't be, as TOML, and what is said of what it can be.
const FAULTY: &[(&str, &[&str], &str)] = &[
    ("server.listen", &["'here'", "'127.0.0.1'", "'127.0.0.1:65536'"], "an IP address and a port"),
    ("server.threads", &["-1", "1025", "'few'"], "from 0 (automatic) to 1024"),
    ("server.request_timeout", &["'0s'", "'61m'", "5"], "at most 1h, more than 0"),
    ("server.longest_timeout", &["'0s'", "'61m'", "30"], "at most 1h, more than 0"),
    ("server.drain_delay", &["'61m'", "'-1s'"], "at most 1h"),
    ("server.drain_timeout", &["'61m'", "8"], "at most 1h"),
    ("server.max_connections", &["0", "1000001", "'many'"], "from 1 to 1000000"),
    ("server.max_connections_per_address", &["-1", "1000001"], "from 0 to 1000000"),
    ("server.max_streams", &["0", "10001"], "from 1 to 10000"),
    ("server.header_timeout", &["'0s'", "'61m'"], "at most 1h, more than 0"),
    ("server.keepalive_interval", &["'0s'", "'61m'"], "at most 1h, more than 0"),
    ("server.keepalive_timeout", &["'0s'", "'61m'"], "at most 1h, more than 0"),
    ("server.connection_age", &["'1441m'", "'old'"], "at most 24h; 0s: no end"),
    ("server.connection_grace", &["'61m'", "30"], "at most 1h"),
    ("server.stall_timeout", &["'0s'", "'61m'"], "at most 1h, more than 0"),
    ("server.allow_open", &["'perhaps'", "1"], "true or false"),
    ("tls.certificate", &["['/a.pem']"], "the path of a PEM file"),
    ("tls.key", &["['/a.key']"], "the path of a PEM file"),
    ("tls.client_ca", &["['/ca.pem']"], "the path of a PEM file"),
    ("tls.client_optional", &["'perhaps'"], "true or false"),
    ("tls.check_every", &["'0s'", "'61m'"], "at most 1h, more than 0"),
    ("web.enabled", &["'on'"], "true or false"),
    ("web.allow_origins", &["'*'", "['play.example']"], "a list of origins"),
    ("web.max_age", &["'61m'", "3600"], "at most 1h"),
    ("store.path", &["''", "['/games.db']"], "the path of a file"),
    ("store.url", &["'mysql://host/games'", "7"], "expected postgres://"),
    ("store.password_file", &["['/password']"], "the path of a file"),
    ("store.cached_sessions", &["0", "10000001"], "from 1 to 10000000"),
    ("store.connections", &["0", "1001"], "from 1 to 1000"),
    ("store.read_timeout", &["'99ms'", "'61m'"], "from 100ms to 1h"),
    ("store.write_timeout", &["'99ms'", "'61m'"], "from 100ms to 1h"),
    ("store.tls", &["'perhaps'", "true"], "\"on\" or \"off\""),
    ("store.tls_ca", &["['/ca.pem']"], "the path of a file"),
    ("store.allow_unsafe_database", &["'perhaps'"], "true or false"),
    ("auth.mode", &["'closed'"], "\"open\" or \"token\""),
    ("auth.operators", &["7", "['ops']"], "`mancala key NAME` makes an element"),
    ("auth.certificates", &["7", "['no name']"], "a list of DNS names"),
    ("limits.operator_rate", &["-1", "1000001", "1.5"], "up to 1000000; 0: no limit"),
    ("limits.operator_burst", &["0", "1000001"], "from 1 to 1000000"),
    ("limits.seat_rate", &["-1", "1000001", "'1/s'"], "up to 1000000; 0: no limit"),
    ("limits.seat_burst", &["0", "1000001"], "from 1 to 1000000"),
    ("limits.anonymous_rate", &["-1", "1000001", "'many'"], "up to 1000000; 0: no limit"),
    ("limits.anonymous_burst", &["0", "1000001"], "from 1 to 1000000"),
    ("limits.open_rate", &["-1", "1000001"], "up to 1000000; 0: no limit"),
    ("limits.open_burst", &["0", "1000001"], "from 1 to 1000000"),
    ("limits.calls_in_flight", &["-1", "1000001"], "up to 1000000; 0: no limit"),
    ("limits.open_sessions", &["-1", "1000000001"], "up to 1000000000; 0: no limit"),
    ("limits.trusted_proxies", &["7", "['10.0.0.0/33']"], "a list of addresses or networks"),
    ("streams.heartbeat", &["'0s'", "'61m'"], "at most 1h, more than 0"),
    ("streams.longest", &["'0s'", "'25h'"], "at most 24h, more than 0"),
    ("streams.watches_per_session", &["0", "1000001"], "from 1 to 1000000"),
    ("streams.watches_per_caller", &["0", "1000001"], "from 1 to 1000000"),
    ("retention.finished", &["'87601h'", "'-1s'"], "at most 87600h; 0s: for ever"),
    ("retention.aborted", &["'87601h'", "'never'"], "at most 87600h; 0s: for ever"),
    ("retention.abandoned", &["'87601h'", "720"], "at most 87600h; 0s: for ever"),
    ("retention.notice", &["'87601h'", "24"], "at most 87600h; 0s: none"),
    ("retention.sweep_every", &["'0s'", "'61m'"], "at most 1h, more than 0"),
    ("metrics.listen", &["9090", "'localhost:9090'"], "an IP address and a port"),
    ("telemetry.otlp_endpoint", &["'127.0.0.1:4317'", "'ftp://host'", "'http://'", "'collector'"], "the address of a collector"),
    ("telemetry.sample_ratio", &["1.5", "-0.1", "'nan'"], "a number from 0 to 1"),
    (
        "telemetry.service_name",
        &["''", "'eighty bytes, eighty bytes, eighty bytes, eighty bytes, eighty bytes, eighty bytes.'"],
        "up to 64 bytes",
    ),
    ("log.filter", &["'mancala=loud'", "'a=b=c'"], "levels"),
    ("log.format", &["'xml'"], "\"human\" or \"json\""),
];

#[test]
fn each_setting_refuses_what_it_can_not_be_and_says_what_it_can() {
    for (setting, values, expected) in FAULTY {
        let (section, name) = setting.split_once('.').expect("a section");
        for value in *values {
            let loaded = Config::load(&given(&format!("[{section}]\n{name} = {value}\n")).sources);
            assert!(loaded.is_err(), "{setting} = {value} is taken");
            let (keys, text) = faults(loaded);
            assert_eq!(keys, [*setting], "{value}: {text}");
            assert!(text.contains(expected), "{setting} = {value}: {text}");
        }
    }
}

#[test]
fn of_each_setting_there_is_something_that_it_can_not_be() {
    let written = defaults().to_string();
    let (mut section, mut settings) = ("", Vec::new());
    for line in written.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if let Some((name, _)) = line.split_once(" = ") {
            settings.push(format!("{section}.{name}"));
        }
    }
    let missing: Vec<_> = settings.iter().filter(|setting| !FAULTY.iter().any(|(faulty, ..)| faulty == setting)).collect();
    assert_eq!(missing, Vec::<&String>::new());
    assert_eq!(settings.len(), FAULTY.len());
}
