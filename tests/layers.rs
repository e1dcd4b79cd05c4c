//! Layers only look down: a file names nothing of the layers above its own, and no crate that its layer must not know.

use std::fs;
use std::path::{Path, PathBuf};

/// From the bottom up. The last are the program, which may use everything.
const LAYERS: [&[&str]; 7] =
    [&["game"], &["session"], &["store"], &["service"], &["wire"], &["server"], &["config", "telemetry", "cli", "main", "lib"]];

/// Beside the rules, which have no chance of their own; and who may use it.
const RANDOM: &str = "random";
const USERS_OF_RANDOM: [&str; 3] = ["service", "wire", "cli"];

/// What the rules may be built with.
const CRATES_OF_GAME: [&str; 5] = ["std", "core", "alloc", "arrayvec", "thiserror"];

/// What a layer must not know, by the beginning of its crates' names.
fn forbidden_crates(layer: &str) -> &'static [&'static str] {
    match layer {
        "session" | "random" => &["tokio", "tonic", "prost"],
        "store" | "service" => &["tonic", "prost"],
        _ => &[],
    }
}

/// All that is wrong with a file, given by its path inside `src`.
fn violations(file: &str, source: &str, crates: &[String]) -> Vec<String> {
    let modules = modules_of(file);
    let layer = modules.first().map_or("lib", String::as_str);
    let source = without_comments(source);
    let mut found = Vec::new();
    for (path, indent) in paths(&source) {
        let names: Vec<_> = path.iter().map(String::as_str).collect();
        let verdict = match names[0] {
            "crate" if names.len() > 1 => judge_inner(layer, &names[1..]),
            "super" => {
                let ups = names.iter().take_while(|name| **name == "super").count();
                // Inside a block, which may be a module, one more is needed.
                let root = modules.len() + usize::from(indent > 0);
                (ups >= root && layer != "lib").then(|| "name it by crate::, so that its layer can be seen".to_owned())
            }
            outer if crates.iter().any(|known| known == outer) || outer == "std" => judge_outer(layer, outer),
            _ => None,
        };
        // The load generator is a client like any other, and speaks the contract as clients do.
        let verdict = verdict.filter(|why| why != ONLY_WIRE || !file.starts_with("cli/bench/"));
        found.extend(verdict.map(|why| format!("src/{file}: {}: {why}", names.join("::"))));
    }
    found
}

const ONLY_WIRE: &str = "only wire names generated types";

fn height(layer: &str) -> Option<usize> {
    LAYERS.iter().position(|names| names.contains(&layer))
}

fn judge_inner(layer: &str, names: &[&str]) -> Option<String> {
    let used = names[0];
    if used == RANDOM {
        let may = layer == RANDOM || USERS_OF_RANDOM.contains(&layer);
        return (!may).then(|| format!("{layer} has no chance"));
    }
    let (Some(above), Some(own)) = (height(used), height(if layer == RANDOM { "game" } else { layer })) else {
        return Some("unknown layer; give it its place in tests/layers.rs".to_owned());
    };
    if above > own {
        return Some(format!("{layer} looks up to {used}"));
    }
    let generated = names.len() > 2 && names[..2] == ["wire", "proto"] && names[2] != "FILE_DESCRIPTOR_SET";
    (generated && layer != "wire").then(|| ONLY_WIRE.to_owned())
}

fn judge_outer(layer: &str, outer: &str) -> Option<String> {
    let forbidden = match layer {
        "game" => !CRATES_OF_GAME.contains(&outer),
        _ => forbidden_crates(layer).iter().any(|name| outer.starts_with(name)),
    };
    forbidden.then(|| format!("{layer} must not know {outer}"))
}

/// The modules that lead to a file: `wire/convert/moves.rs` is `wire`, `convert`, `moves`.
fn modules_of(file: &str) -> Vec<String> {
    let modules = file.trim_end_matches(".rs").split('/').filter(|name| !["mod", "lib"].contains(name));
    modules.map(str::to_owned).collect()
}

/// The code, with comments taken out. A `//` in a text takes the rest of its line with it, which does no harm here.
fn without_comments(source: &str) -> String {
    source.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// All paths of more than one name, groups in braces written out, with the indentation of their line.
fn paths(source: &str) -> Vec<(Vec<String>, usize)> {
    let mut found = Vec::new();
    let mut rest = source;
    let mut indent = 0;
    while let Some(first) = rest.chars().next() {
        if let Some(line) = rest.strip_prefix('\n') {
            indent = line.len() - line.trim_start_matches(' ').len();
        }
        if is_name(first) {
            let mut whole = Vec::new();
            rest = read_path(rest, Vec::new(), &mut whole);
            found.extend(whole.into_iter().filter(|path| path.len() > 1).map(|path| (path, indent)));
        } else {
            rest = &rest[first.len_utf8()..];
        }
    }
    found
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Reads a path that begins here, adds all that it stands for to `found`, and gives what follows it.
fn read_path<'a>(text: &'a str, mut names: Vec<String>, found: &mut Vec<Vec<String>>) -> &'a str {
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    names.push(text[..end].to_owned());
    let after = &text[end..];
    let Some(next) = after.trim_start().strip_prefix("::").map(str::trim_start) else {
        found.push(names);
        return after;
    };
    if next.starts_with(is_name) {
        return read_path(next, names, found);
    }
    let Some(mut group) = next.strip_prefix('{') else {
        found.push(names);
        return next;
    };
    loop {
        group = group.trim_start_matches(|c: char| c.is_whitespace() || c == ',' || c == '*');
        if group.starts_with(is_name) {
            group = read_path(group, names.clone(), found);
            // What it is called here.
            if let Some(renamed) = group.trim_start().strip_prefix("as ") {
                group = renamed.trim_start_matches(is_name);
            }
        } else {
            return group.strip_prefix('}').unwrap_or(group);
        }
    }
}

/// The crates that this one depends on, as they are named in code.
fn dependencies() -> Vec<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("the manifest");
    let tables = manifest.split("\n[").filter(|table| table.starts_with("dependencies]"));
    let names = tables.flat_map(str::lines).filter_map(|line| line.split_once(" = "));
    names.map(|(name, _)| name.replace('-', "_")).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

#[test]
fn layers_only_look_down() {
    let (source, crates) = (root().join("src"), dependencies());
    assert!(crates.len() > 10 && crates.iter().any(|name| name == "tonic_types"), "{crates:?}");
    let mut seen = Vec::new();
    let mut found = Vec::new();
    for path in rust_files(&source) {
        let file = path.strip_prefix(&source).expect("inside src").to_str().expect("UTF-8").to_owned();
        let text = fs::read_to_string(&path).expect("a file");
        found.extend(violations(&file, &text, &crates));
        seen.push(modules_of(&file).first().cloned().unwrap_or_else(|| "lib".to_owned()));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    for layer in LAYERS.iter().flat_map(|names| names.iter()).chain([&RANDOM]) {
        assert!(seen.iter().any(|name| name == layer), "{layer} has no files");
    }
}

#[test]
fn what_looks_up_is_found() {
    let crates = ["arrayvec", "thiserror", "tokio", "tonic", "tonic_types", "prost", "serde", "rusqlite"].map(str::to_owned);
    let planted = [
        ("game/rules.rs", "use crate::session::Event;"),
        ("game/rules.rs", "use crate::{game::Move, session::Event};"),
        ("game/rules.rs", "use crate::{\n    game::{Move, Seat},\n    random::SeededDice,\n};"),
        ("game/rules.rs", "use serde::Serialize;"),
        ("game/rules.rs", "fn f() { serde::to_string(1) }"),
        ("game/gore/trade.rs", "use super::super::super::session::Event;"),
        ("session/fold.rs", "fn f(it: crate::store::Head) {}"),
        ("session/fold.rs", "fn f() { tokio::spawn(g()); }"),
        ("session/fold.rs", "use crate::random::SeededDice;"),
        ("store/mod.rs", "use crate::service::Sessions as S;"),
        ("store/mod.rs", "use super::service::Sessions;"),
        ("store/sqlite/queue.rs", "use tonic_types::StatusExt;"),
        ("service/mod.rs", "use {std::sync::Arc, crate::wire::reason::Reason};"),
        ("service/mod.rs", "use prost::Message;"),
        ("wire/mod.rs", "use crate::server::Settings;"),
        ("random.rs", "use crate::session::Event;"),
        ("server/mod.rs", "use crate::cli::Failure;"),
        ("server/mod.rs", "use crate::wire::proto::Position;"),
        ("cli/serve.rs", "use crate::wire::proto::{FILE_DESCRIPTOR_SET, Position};"),
        ("cli/serve.rs", "use crate::forgotten::Thing;"),
    ];
    for (file, source) in planted {
        assert_eq!(violations(file, source, &crates).len(), 1, "{file}: {source}");
    }
    let innocent = [
        ("game/rules.rs", "use super::Move; // not crate::session\nuse std::fmt; use arrayvec::ArrayVec;"),
        ("game/rules.rs", "mod tests {\n    use super::super::Move;\n}"),
        ("session/fold.rs", "use crate::game::{Move, Seat as S};\nuse serde::Serialize;"),
        ("store/sqlite/mod.rs", "use crate::session::State;\nuse tokio::sync::watch;"),
        ("service/mod.rs", "use crate::{random::SeededDice, store::Store};"),
        ("wire/batch.rs", "use super::proto::Position;\nuse crate::wire::proto::Seat;"),
        ("server/guard.rs", "use crate::wire::{complete, reason::Reason};"),
        ("cli/serve.rs", "use crate::wire::proto::FILE_DESCRIPTOR_SET;"),
    ];
    for (file, source) in innocent {
        assert_eq!(violations(file, source, &crates), [""; 0], "{file}: {source}");
    }
}
