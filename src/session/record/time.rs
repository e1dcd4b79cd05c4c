//! Times as text: the first as a date, the others as seconds since then.

use crate::session::Micros;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
/// Days of 400 years, after which the calendar repeats.
const ERA_DAYS: i64 = 146_097;

/// Such as `2026-01-31T23:59:59.000001Z`: in UTC, to the microsecond.
pub(super) fn write_date(time: Micros) -> String {
    let (days, within) = (time.div_euclid(DAY), time.rem_euclid(DAY));
    let (year, month, day) = civil(days);
    let (seconds, micros) = (within / SECOND, within % SECOND);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// Reads what [`write_date`] writes, from 1970 to 9999.
pub(super) fn read_date(text: &str) -> Option<Micros> {
    let bytes = text.as_bytes();
    if bytes.len() != 27 || !text.is_ascii() {
        return None;
    }
    let number = |from: usize, to: usize| {
        let digits = &text[from..to];
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<i64>().ok()).flatten()
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second, micros) = (number(11, 13)?, number(14, 16)?, number(17, 19)?, number(20, 26)?);
    let in_range = year >= 1970 && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !in_range || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = (days(year, month, day) * 24 + hour) * 3_600 + minute * 60 + second;
    let time = seconds * SECOND + micros;
    // Days that a month does not have come out as days of the next one, and marks that are others come out as ours.
    (write_date(time) == text).then_some(time)
}

/// Year, month and day of a day since 1970-01-01. Years begin with March here, so that leap days come last.
const fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(ERA_DAYS), shifted.rem_euclid(ERA_DAYS));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + (month <= 2) as i64;
    (year, month, day)
}

const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - (month <= 2) as i64;
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * ERA_DAYS + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year - 719_468
}

/// Seconds from one time to another, such as `+3.000250`.
pub(super) fn write_offset(from: Micros, to: Micros) -> String {
    // Wide, since a document may name any two times.
    let offset = i128::from(to) - i128::from(from);
    let sign = if offset < 0 { '-' } else { '+' };
    format!("{sign}{}", write_seconds(offset.unsigned_abs()))
}

/// Reads what [`write_offset`] writes.
pub(super) fn read_offset(from: Micros, text: &str) -> Option<Micros> {
    let (sign, digits) = text.split_at_checked(1)?;
    let sign = match sign {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let offset = sign * i128::try_from(read_seconds(digits)?).ok()?;
    (i128::from(from) + offset).try_into().ok()
}

/// A length of time in seconds, such as `30.000000`.
pub(super) fn write_length(micros: Micros) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    format!("{sign}{}", write_seconds(u128::from(micros.unsigned_abs())))
}

/// Reads what [`write_length`] writes, if it is not negative.
pub(super) fn read_length(text: &str) -> Option<Micros> {
    read_seconds(text)?.try_into().ok()
}

fn write_seconds(micros: u128) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

fn read_seconds(text: &str) -> Option<u128> {
    let (seconds, micros) = text.split_once('.')?;
    let digits = |text: &str| (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let canonical = seconds == "0" || !seconds.starts_with('0');
    if !digits(seconds) || !digits(micros) || micros.len() != 6 || !canonical {
        return None;
    }
    Some(seconds.parse::<u128>().ok()? * 1_000_000 + micros.parse::<u128>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00.000000Z", 0),
            ("1999-12-31T23:59:59.000000Z", 946_684_799),
            ("2000-02-29T12:00:00.000000Z", 951_825_600),
            ("2024-02-29T00:00:00.000000Z", 1_709_164_800),
            ("2100-03-01T00:00:00.000000Z", 4_107_542_400),
            ("9999-12-31T23:59:59.000000Z", 253_402_300_799),
        ] {
            assert_eq!(write_date(seconds * SECOND), text);
            assert_eq!(read_date(text), Some(seconds * SECOND), "{text}");
        }
        for day in 0..200_000 {
            let time = day * DAY + 12_345_678_901;
            assert_eq!(read_date(&write_date(time)), Some(time));
        }
    }

    #[test]
    fn what_is_no_date_is_not_read() {
        for bad in [
            "",
            "1969-12-31T23:59:59.000000Z",
            "2023-02-29T00:00:00.000000Z",
            "2026-04-31T00:00:00.000000Z",
            "2026-13-01T00:00:00.000000Z",
            "2026-01-01T24:00:00.000000Z",
            "2026-01-01 00:00:00.000000Z",
            "2026-01-01T00:00:00.000000z",
            "2026-01-01T00:00:00.0000000",
            "+026-01-01T00:00:00.000000Z",
            "2026-01-01T00:00:00.00000éZ",
        ] {
            assert_eq!(read_date(bad), None, "{bad}");
        }
    }

    #[test]
    fn offsets_there_and_back() {
        for (from, to) in [(0, 0), (5, 7), (7, 5), (0, i64::MAX), (i64::MIN, i64::MAX), (i64::MAX, i64::MIN)] {
            assert_eq!(read_offset(from, &write_offset(from, to)), Some(to));
        }
        assert_eq!(write_offset(1_000_000, 4_000_250), "+3.000250");
        for bad in ["", "3.000000", "+3", "+3.0", "+03.000000", "+.000000", "+1.00000x", "+9999999999999.000000", "é"] {
            assert_eq!(read_offset(i64::MAX, bad), None, "{bad}");
        }
        assert_eq!(read_length("-1.000000"), None);
        assert_eq!(read_length(&write_length(MAX)), Some(MAX));
    }

    const MAX: Micros = i64::MAX;
}
