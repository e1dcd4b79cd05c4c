//! How fields are written for people: as tracing-subscriber does it, only that plain text goes straight to its place.
//!
//! Every call has a span with the name of its method, which is written when the call begins, whether or not a line follows. By way of
//! styles and character by character that takes ten times as long.

use arrayvec::ArrayString;
use std::error::Error;
use std::fmt::{self, Debug};
use tracing::field::{Field, Visit};
use tracing_subscriber::field::{RecordFields, VisitOutput};
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultVisitor, Writer};

/// The longest field that is written so, in bytes.
const PIECE: usize = 128;

/// See the module.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainFields;

impl<'writer> FormatFields<'writer> for PlainFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut fields_to = Fields { writer, is_empty: true, result: Ok(()) };
        fields.record(&mut fields_to);
        fields_to.result
    }
}

struct Fields<'writer> {
    writer: Writer<'writer>,
    is_empty: bool,
    result: fmt::Result,
}

impl Fields<'_> {
    /// Leaves a field to tracing-subscriber.
    fn other(&mut self, field: &Field, record: impl FnOnce(&mut DefaultVisitor<'_>)) {
        // What comes by the crate `log` it leaves out.
        if self.result.is_err() || field.name().starts_with("log.") {
            return;
        }
        let mut theirs = DefaultVisitor::new(self.writer.by_ref(), self.is_empty);
        record(&mut theirs);
        self.result = theirs.finish();
        self.is_empty = false;
    }

    /// In one piece, since what is written to grows with each.
    fn write(&mut self, name: &str, text: &str) -> fmt::Result {
        let mut piece = ArrayString::<PIECE>::new();
        for part in [if self.is_empty { "" } else { " " }, name, "=\"", text, "\""] {
            piece.push_str(part);
        }
        self.is_empty = false;
        self.writer.write_str(&piece)
    }
}

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, text: &str) {
        let name = field.name();
        let is_special = name == "message" || name.starts_with("log.") || name.starts_with("r#");
        let is_long = name.len() + text.len() + 4 > PIECE;
        if is_special || is_long || self.writer.has_ansi_escapes() || !is_plain(text) {
            return self.other(field, |theirs| theirs.record_str(field, text));
        }
        self.result = self.result.and_then(|()| self.write(name, text));
    }

    fn record_error(&mut self, field: &Field, error: &(dyn Error + 'static)) {
        self.other(field, |theirs| theirs.record_error(field, error));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.other(field, |theirs| theirs.record_debug(field, value));
    }
}

/// Whether a text stands between quotation marks as it is.
fn is_plain(text: &str) -> bool {
    // All of them, without a jump for each.
    text.bytes().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~') & (byte != b'"') & (byte != b'\\'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::{Arc, Mutex};
    use tracing_subscriber::fmt::format::DefaultFields;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("it is whole").write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The lines of some spans and events with such fields.
    fn lines(fields: impl for<'writer> FormatFields<'writer> + Send + Sync + 'static, ansi: bool) -> String {
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().without_time().with_ansi(ansi).fmt_fields(fields);
        tracing::subscriber::with_default(subscriber.with_writer(move || writer.clone()).finish(), || {
            let cause = io::Error::other("a \"cause\"");
            for text in ["/a.B/C", "", &"x".repeat(PIECE), "a\"b", "a\\b", "a\nb", "é", "\u{1b}[31m", "a b~"] {
                let span = tracing::warn_span!("call", method = text, operator = tracing::field::Empty, number = 7);
                span.record("operator", text);
                let _entered = span.enter();
                tracing::warn!(text, r#type = text, flag = true, error = &cause as &dyn Error, "said: {text}");
                tracing::info!(message = text, none = Option::<&str>::None, last = text);
            }
        });
        let bytes = log.0.lock().expect("it is whole").clone();
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn lines_are_those_of_tracing_subscriber() {
        for ansi in [false, true] {
            let (ours, theirs) = (lines(PlainFields, ansi), lines(DefaultFields::new(), ansi));
            assert_eq!(ours, theirs);
            assert_eq!(ours.contains("method=\"/a.B/C\" number=7"), !ansi, "{ours}");
        }
    }
}
