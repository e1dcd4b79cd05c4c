//! Text that comes from outside and is shown to others: labels, names, references.

use unicode_normalization::is_nfc;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// What [`is_plain`] asks for, to be put behind "text".
pub const PLAIN: &str = "in NFC, without control, format or private-use characters or separators of lines";

/// Whether text can be shown beside other text without harm: it is in NFC, so that what looks the same is the same, and has no
/// control or format characters, which could hide, turn round or break up the text around it, nor any that mean something
/// only to its author.
#[must_use]
pub fn is_plain(text: &str) -> bool {
    is_nfc(text) && text.chars().all(is_harmless)
}

fn is_harmless(c: char) -> bool {
    !matches!(
        c.general_category(),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::PrivateUse
            | GeneralCategory::Surrogate
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
    )
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn text_of_any_script_is_plain() {
        for good in ["", "a b", "Ana María", "林さん", "Ọ̀yọ́", "محمد", "ಅಳಗುಳಿ", "🎲", "x\u{A0}y"] {
            assert!(is_plain(good), "{good:?}");
        }
    }

    #[test]
    fn what_could_deceive_is_not() {
        let bad = [
            "\0",
            "\n",
            "\t",
            "\u{7F}",
            "\u{85}", // controls
            "\u{AD}",
            "\u{61C}",
            "\u{200B}",
            "\u{200D}",
            "\u{202E}",
            "\u{2066}",
            "\u{FEFF}",
            "\u{E0041}",
            "\u{13430}", // format
            "\u{E000}",
            "\u{F0000}",
            "\u{10FFFD}", // private use
            "\u{2028}",
            "\u{2029}", // separators
            "e\u{301}",
            "\u{212B}", // not in NFC
        ];
        for bad in bad {
            assert!(!is_plain(&format!("a{bad}b")), "{bad:?}");
        }
    }
}
