//! Texts as Postgres takes them: it has no place for the character NUL.
//!
//! NUL and the character that stands for it are written as two characters, which keeps the order of texts.

use std::borrow::Cow;

/// Written before `0` for NUL and before `1` for itself.
const MARK: char = '\u{1}';

/// A text to be stored or compared with what is stored.
pub(super) fn stored(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', MARK]) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(MARK, "\u{1}1").replace('\0', "\u{1}0"))
}

/// The text that was stored.
pub(super) fn read(stored: String) -> String {
    if stored.contains(MARK) { stored.replace("\u{1}0", "\0").replace("\u{1}1", "\u{1}") } else { stored }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_and_keep_their_order() {
        let mut texts: Vec<String> = vec![String::new()];
        for _ in 0..3 {
            let longer =
                texts.iter().flat_map(|text| ["\0", "\u{1}", "\u{2}", "0", "1", "é"].map(|more| format!("{text}{more}")));
            texts.extend(longer.collect::<Vec<_>>());
        }
        texts.sort();
        texts.dedup();
        let stored: Vec<String> = texts.iter().map(|text| stored(text).into_owned()).collect();
        assert!(stored.is_sorted() && stored.iter().all(|text| !text.contains('\0')));
        assert_eq!(stored.into_iter().map(read).collect::<Vec<_>>(), texts);
    }
}
