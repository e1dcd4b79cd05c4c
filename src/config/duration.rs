//! Durations as people write them: a whole number and a unit, such as "500ms", "30s", "5m" or "1h".

use std::time::Duration;

/// Units, largest first, in milliseconds.
const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// Reads a duration; `None` if it isn't one.
pub fn parse(text: &str) -> Option<Duration> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(unit_at);
    let (_, millis) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(millis).map(Duration::from_millis)
}

/// Writes a duration of whole milliseconds in the largest unit that needs no fraction.
pub fn format(duration: Duration) -> String {
    let millis = duration.as_millis();
    let (name, unit) = UNITS
        .into_iter()
        .map(|(name, unit)| (name, u128::from(unit)))
        .find(|(_, unit)| millis >= *unit && millis.is_multiple_of(*unit))
        .unwrap_or(("s", 1000));
    format!("{}{name}", millis / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_both_ways() {
        for (text, millis) in [("0s", 0), ("1ms", 1), ("1500ms", 1500), ("30s", 30_000), ("5m", 300_000), ("36h", 129_600_000)] {
            assert_eq!(parse(text), Some(Duration::from_millis(millis)), "{text}");
            assert_eq!(format(Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in ["", "30", "s", "-1s", "1.5s", "1 s", "1S", "1d", "1s1ms", "99999999999999999999s", "18446744073709551615h"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
