//! How fast whole stores are gone through. In the long form, with a program that is built for speed, the figures are worth reading:
//! `MANCALA_TEST_LONG=1 cargo test --release --test archives rates`.

use super::filled::{folder_with_store, mancala};
use super::form::by_form;
use super::support::sandbox::text;

#[tokio::test(flavor = "multi_thread")]
async fn each_command_says_how_fast_it_was() {
    let (folder, path) = folder_with_store(by_form(50, 20_000)).await;
    let at = |name: &str| folder.path().join(name);
    report!("{} bytes", path.metadata().expect("the store").len());
    for (arguments, unit) in [
        (vec!["verify", "--store", text(&path)], "events/s"),
        (vec!["backup", "--store", text(&path), "--to", text(&at("backup.db"))], "MB/s"),
        (vec!["copy", "--from", text(&path), "--to", text(&at("copy.db"))], "events/s"),
        (vec!["copy", "--from", text(&path), "--to", text(&at("copy.db"))], "events/s"),
    ] {
        let output = mancala(&arguments);
        assert!(output.status.success(), "{output:?}");
        let (said, rate) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(said.starts_with("ok: ") && rate.trim().ends_with(unit), "{said}{rate}");
        report!("{}: {}; {}", arguments[0], said.trim(), rate.trim());
    }
}
