//! How long a call may take: as long as its caller says, within what the server allows.

use super::proto::FILE_DESCRIPTOR_SET;
use super::reason::Reason;
use super::refuse::Refused;
use http::HeaderMap;
use prost::Message;
use prost_types::{DescriptorProto, FileDescriptorSet};
use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;
use tokio::time::Instant;
use tonic::Request;

/// How long a call may take until its answer begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimits {
    /// If the caller doesn't say.
    pub unless_given: Duration,
    /// Whatever the caller says.
    pub longest: Duration,
}

/// When a call is over. Handlers find it in the extensions of their request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    /// The answer must have begun by then.
    pub answer_by: Instant,
    /// The caller waits no longer than this, not for the rest of a stream either; `None` if it did not say.
    pub given: Option<Instant>,
    limit: Duration,
}

impl Deadline {
    /// Of a call that has begun at a time, by its metadata.
    ///
    /// # Errors
    /// TIMEOUT_MALFORMED.
    pub fn read(metadata: &HeaderMap, begun: Instant, limits: TimeLimits) -> Result<Deadline, Refused> {
        let given = timeout(metadata).map_err(|Malformed| Refused::plain(Reason::TimeoutMalformed))?;
        let limit = given.map_or(limits.unless_given, |given| given.min(limits.longest));
        // What is beyond the end of time is no limit.
        Ok(Deadline { answer_by: begun + limit, given: given.and_then(|given| begun.checked_add(given)), limit })
    }

    /// Of this call, if it has one.
    pub fn of<T>(request: &Request<T>) -> Option<Deadline> {
        request.extensions().get().copied()
    }

    /// What a call is told that has not been answered in time; `method` is the path of its method, if there is such a method.
    pub fn exceeded(&self, method: Option<&str>, limits: TimeLimits) -> Refused {
        let limit = self.limit.as_millis().to_string();
        let whose = match self.given {
            Some(given) if given <= self.answer_by => "the call's own",
            _ => "the server's",
        };
        let longest = limits.longest.as_millis();
        let advice = if method.is_some_and(|method| CHANGING.contains(method)) {
            "a change may have happened: repeat it with the same request_id".to_owned()
        } else if self.limit < limits.longest {
            format!("give the call a longer deadline, which may be up to {longest} ms, or ask for less")
        } else {
            "no call may have more: ask for less".to_owned()
        };
        let text = format!("no answer within {limit} ms, {whose} limit; {advice}");
        Refused::new(Reason::DeadlineExceeded, text, vec![("limit_ms", limit)])
    }
}

/// The paths of the methods that change something: by the contract those whose requests have a request_id.
static CHANGING: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let files = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).expect("the descriptors of this program").file;
    let has_id = |message: &&DescriptorProto| message.field.iter().any(|field| field.name() == "request_id");
    let mut requests = BTreeSet::new();
    for file in &files {
        let messages = file.message_type.iter().filter(has_id);
        // As methods name them.
        requests.extend(messages.map(|message| format!(".{}.{}", file.package(), message.name())));
    }
    let mut paths = BTreeSet::new();
    for file in &files {
        for service in &file.service {
            let methods = service.method.iter().filter(|method| requests.contains(method.input_type()));
            paths.extend(methods.map(|method| format!("/{}.{}/{}", file.package(), service.name(), method.name())));
        }
    }
    paths
});

/// It is not as the protocol wants it.
#[derive(Debug, PartialEq, Eq)]
struct Malformed;

/// The time that metadata give a call (`grpc-timeout`): one to eight digits and a unit.
fn timeout(metadata: &HeaderMap) -> Result<Option<Duration>, Malformed> {
    let mut values = metadata.get_all("grpc-timeout").iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Malformed);
    }
    let (&unit, digits) = value.as_bytes().split_last().ok_or(Malformed)?;
    if !(1..=8).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Malformed);
    }
    let number = digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
    let given = match unit {
        b'H' => Duration::from_secs(number * 3_600),
        b'M' => Duration::from_secs(number * 60),
        b'S' => Duration::from_secs(number),
        b'm' => Duration::from_millis(number),
        b'u' => Duration::from_micros(number),
        b'n' => Duration::from_nanos(number),
        _ => return Err(Malformed),
    };
    Ok(Some(given))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(values: &[&str]) -> HeaderMap {
        values.iter().map(|value| (http::HeaderName::from_static("grpc-timeout"), value.parse().expect("a value"))).collect()
    }

    #[test]
    fn a_timeout_is_up_to_eight_digits_and_a_unit() {
        let read = |value: &str| timeout(&metadata(&[value]));
        for (text, expected) in [
            ("0n", Duration::ZERO),
            ("99999999n", Duration::from_nanos(99_999_999)),
            ("250u", Duration::from_micros(250)),
            ("1m", Duration::from_millis(1)),
            ("00000007S", Duration::from_secs(7)),
            ("2M", Duration::from_secs(120)),
            ("99999999H", Duration::from_secs(99_999_999 * 3_600)),
        ] {
            assert_eq!(read(text), Ok(Some(expected)), "{text}");
        }
        for text in ["", "m", "5", "123456789m", "1.5S", "-1S", "+1S", "1 S", "1s", "1h", "1mS", "S1"] {
            assert_eq!(read(text), Err(Malformed), "{text:?}");
        }
        assert_eq!(timeout(&metadata(&[])), Ok(None));
        assert_eq!(timeout(&metadata(&["1S", "1S"])), Err(Malformed), "one or the other?");
    }

    #[test]
    fn methods_that_change_something_are_known() {
        let names: Vec<_> = CHANGING.iter().map(|path| path.strip_prefix("/mancala.v1.SessionService/").expect(path)).collect();
        let expected = [
            "AnswerProposal",
            "ApplyMove",
            "BatchCreateSessions",
            "ClaimSeat",
            "ClaimTimeout",
            "CreateSession",
            "DeleteSession",
            "ImportRecord",
            "Propose",
            "Resign",
            "RevokeSeatToken",
            "RotateSeatToken",
            "WithdrawProposal",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn the_callers_limit_holds_within_the_servers() {
        let limits = TimeLimits { unless_given: Duration::from_secs(5), longest: Duration::from_secs(30) };
        let begun = Instant::now();
        let read = |values: &[&str]| Deadline::read(&metadata(values), begun, limits).expect("a deadline");
        let seconds = |seconds| begun + Duration::from_secs(seconds);
        for (values, answer_by, given) in [
            (&[][..], seconds(5), None),
            (&["7S"], seconds(7), Some(seconds(7))),
            (&["30S"], seconds(30), Some(seconds(30))),
            (&["31S"], seconds(30), Some(seconds(31))),
            (&["1H"], seconds(30), Some(seconds(3_600))),
        ] {
            let deadline = read(values);
            assert_eq!((deadline.answer_by, deadline.given), (answer_by, given), "{values:?}");
        }
    }
}
