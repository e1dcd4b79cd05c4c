//! All that is sent is in the portable subset of docs/portable-sql.md, except for what is named there: taken from the log of a server
//! that everything is done on.

use crate::postgres::Cluster;
use crate::support::store_conformance as suite;
use mancala::store::Store;
use mancala::store::postgres::{Options, PostgresStore};
use sqlparser::ast::{Expr, Statement, Visit, Visitor};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Functions of the subset.
const PORTABLE: &[&str] = &["coalesce", "count", "gen_random_uuid", "max", "unnest"];

/// Functions of Postgres alone, and the statements in which they may stand, by what those begin with.
const EXCEPTIONS: &[(&str, &[&str])] = &[
    ("pg_current_xact_id", &["WITH gone AS", "CREATE TABLE events"]),
    ("pg_current_snapshot", &["SELECT m.store_id,", "SELECT (SELECT max(tx) FROM events),"]),
    ("pg_snapshot_xmin", &["SELECT m.store_id,"]),
    ("pg_snapshot_xmax", &["SELECT (SELECT max(tx) FROM events),"]),
    ("pg_notify", &["SELECT pg_notify('mancala', $1)"]),
    ("pg_is_in_recovery", &["SELECT pg_is_in_recovery()"]),
    ("current_setting", &["SELECT pg_is_in_recovery()"]),
    ("to_regclass", &["SELECT to_regclass("]),
];

/// The functions that a statement calls.
#[derive(Default)]
struct Functions(BTreeSet<String>);

impl Visitor for Functions {
    type Break = ();

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expression {
            self.0.insert(function.name.to_string().to_lowercase());
        }
        ControlFlow::Continue(())
    }
}

/// What is wrong with a statement.
fn faults(sql: &str) -> Vec<String> {
    // What the library for migrations and the driver send around their statements, and the one statement that no parser need know.
    let around = ["BEGIN", "START TRANSACTION", "COMMIT", "ROLLBACK", "SET statement_timeout", "RESET statement_timeout"];
    if around.iter().chain(&["LISTEN mancala"]).any(|start| sql.starts_with(*start)) {
        return Vec::new();
    }
    let statements = match Parser::parse_sql(&PostgreSqlDialect {}, sql) {
        Ok(statements) => statements,
        Err(error) => return vec![format!("it can't be parsed: {error}")],
    };
    let mut faults = Vec::new();
    for statement in &statements {
        let kind_fits = match statement {
            Statement::Query(_) | Statement::Insert(_) | Statement::Update { .. } | Statement::Delete(_) => true,
            Statement::CreateTable(table) => !table.temporary && !table.unlogged,
            Statement::CreateIndex(index) => !index.concurrently && index.using.is_none(),
            _ => false,
        };
        if !kind_fits {
            faults.push(format!("no statement of this kind: {statement}"));
        }
        let mut functions = Functions::default();
        let _ = statement.visit(&mut functions);
        let text = statement.to_string();
        for name in functions.0.iter().filter(|name| !PORTABLE.contains(&name.as_str())) {
            let allowed = EXCEPTIONS.iter().find(|(function, _)| function == name);
            if !allowed.is_some_and(|(_, starts)| starts.iter().any(|start| text.starts_with(start))) {
                faults.push(format!("{name} is not portable here"));
            }
        }
    }
    let words: BTreeSet<String> = sql.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_uppercase).collect();
    for word in [
        "SERIAL",
        "BIGSERIAL",
        "SEQUENCE",
        "NEXTVAL",
        "TRIGGER",
        "LOCK",
        "SKIP",
        "NOWAIT",
        "CURSOR",
        "CTID",
        "XMIN",
        "TABLESAMPLE",
    ] {
        if words.contains(word) {
            faults.push(format!("{word} is not portable"));
        }
    }
    faults
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_that_is_sent_is_portable_but_for_what_is_named() {
    let settings = "logging_collector = on\nlog_destination = 'jsonlog'\nlog_statement = 'all'\nlog_directory = 'said'\nlog_rotation_age = 0";
    let cluster = Cluster::start(settings);
    let open = async || {
        let url = cluster.url(&cluster.database());
        Arc::new(PostgresStore::connect(Options::new(url)).await.expect("the store opens"))
    };
    // Together they use every method.
    suite::a_deleted_session_is_gone_for_good(open().await).await;
    suite::a_batch_request_makes_its_sessions_once(open().await).await;
    suite::a_batch_is_made_whole_or_not_at_all(open().await).await;
    suite::what_is_imported_is_read_back(open().await).await;
    suite::heads_come_in_the_order_asked_for(open().await).await;
    suite::changed_players_are_found_by_their_names(open().await).await;
    suite::deletions_are_changes_too(open().await).await;
    suite::idle_sessions_come_longest_first(open().await).await;
    suite::due_sessions_come_first_due_first(open().await).await;
    suite::overdue_sessions_come_longest_overdue_first(open().await).await;
    suite::many_sessions_are_written_at_once(open().await).await;
    let store = open().await;
    store.census().await.expect("a census");
    store.tell("s", 1);

    let said = || -> BTreeSet<String> {
        let files = std::fs::read_dir(cluster.folder().join("data/said")).expect("the folder of logs");
        let logs = files.map(|file| std::fs::read_to_string(file.expect("a file").path()).expect("a log"));
        let messages = logs.flat_map(|log| log.lines().map(str::to_owned).collect::<Vec<_>>()).filter_map(|line| {
            let entry: serde_json::Value = serde_json::from_str(&line).ok()?;
            // The tests' own statements are those of psql.
            let ours = entry["application_name"] == "mancala";
            entry["message"].as_str().filter(|_| ours).map(str::to_owned)
        });
        messages
            .filter_map(|message| {
                let (how, sql) = message.split_once(": ")?;
                (how == "statement" || how.starts_with("execute ")).then(|| sql.trim().to_owned())
            })
            .collect()
    };
    crate::postgres::wait_for("the hint is told", || said().iter().any(|sql| sql.contains("pg_notify")));
    let said = said();
    assert!(said.len() > 30, "{said:#?}");
    for start in [
        "WITH made AS",
        "WITH changed AS",
        "WITH wanted AS",
        "WITH gone AS",
        "CREATE TABLE meta",
        "LISTEN mancala",
        "SELECT m.store_id,",
    ] {
        assert!(said.iter().any(|sql| sql.contains(start)), "{start} is not among them");
    }
    for sql in &said {
        assert_eq!(faults(sql), [""; 0], "{sql}");
    }
}

#[test]
fn what_is_not_portable_is_found() {
    for (sql, expected) in [
        ("CREATE TEMP TABLE t (n INT)", "no statement of this kind"),
        ("CREATE TABLE t (n BIGSERIAL)", "BIGSERIAL is not portable"),
        ("SELECT pg_advisory_lock(1)", "pg_advisory_lock is not portable here"),
        ("SELECT pg_current_xact_id()", "pg_current_xact_id is not portable here"),
        ("SELECT 1 FROM t FOR UPDATE SKIP LOCKED", "SKIP is not portable"),
        ("CREATE INDEX i ON t USING gin (n)", "no statement of this kind"),
        ("TRUNCATE t", "no statement of this kind"),
        ("SELEC 1", "it can't be parsed"),
    ] {
        let faults = faults(sql);
        assert!(faults.iter().any(|fault| fault.contains(expected)), "{sql}: {faults:?}");
    }
}
