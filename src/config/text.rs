//! Texts and lists of them, in TOML.

use config::{File, FileFormat, Source, Value, ValueKind};

/// A text as a TOML string.
pub fn quoted(text: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

/// Texts as a TOML list.
pub fn list(texts: &[String]) -> String {
    let texts: Vec<_> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// The elements of a value that is a list, or text that is one in TOML, as the environment gives it.
pub fn elements(value: Value) -> Option<Vec<Value>> {
    match value.kind {
        ValueKind::String(text) => list_of_text(&text)?,
        kind => Value::new(None, kind),
    }
    .into_array()
    .ok()
}

fn list_of_text(text: &str) -> Option<Value> {
    let table = File::from_str(&format!("list = {text}"), FileFormat::Toml).collect().ok()?;
    if table.len() == 1 { table.into_values().next() } else { None }
}
