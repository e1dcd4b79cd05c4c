//! Requests that are malformed: all faulty fields are named at once.

use super::reason::Reason;
use super::refuse::Refused;
use crate::session::{check_request_id, check_session_id};
use std::fmt::Display;
use tonic::Status;
use tonic_types::FieldViolation;

/// So much is said about faults, in bytes. An error travels in HTTP headers, in which all of this comes four times and of which
/// many clients take only 8 KiB.
const MAX_FAULT_BYTES: usize = 1_400;

/// Gathers what is wrong with the fields of a request.
#[derive(Debug, Default)]
pub struct Fields {
    faults: Vec<(String, String)>,
    /// What the names of faulty fields begin with: where in the request the fields are that are looked at.
    prefix: String,
}

impl Fields {
    /// No faults yet.
    pub fn new() -> Fields {
        Fields::default()
    }

    /// Looks at fields of a part of the request, such as `requests[3]`.
    pub fn within<T>(&mut self, part: impl Display, look: impl FnOnce(&mut Fields) -> T) -> T {
        let outer = std::mem::take(&mut self.prefix);
        self.prefix = format!("{outer}{part}.");
        let seen = look(self);
        self.prefix = outer;
        seen
    }

    /// Adds a fault.
    pub fn fault(&mut self, field: impl Display, description: impl Display) {
        self.faults.push((format!("{}{field}", self.prefix), description.to_string()));
    }

    /// The value, or a fault of the field.
    pub fn take<T, E: Display>(&mut self, field: impl Display, value: Result<T, E>) -> Option<T> {
        value.map_err(|fault| self.fault(field, fault)).ok()
    }

    /// A session id that must be given.
    pub fn session_id(&mut self, id: String) -> String {
        if let Err(fault) = check_session_id(&id) {
            self.fault("session_id", fault);
        }
        id
    }

    /// A request id, if one is given.
    pub fn request_id(&mut self, id: String) -> Option<String> {
        if id.is_empty() {
            return None;
        }
        self.take("request_id", check_request_id(&id)).map(|()| id)
    }

    /// An id that the caller gave a command, perhaps none.
    pub fn command_id(&mut self, id: String) -> Option<String> {
        if id.is_empty() {
            return Some(id);
        }
        self.take("command_id", check_request_id(&id)).map(|()| id)
    }

    /// A number from 1 to `most`, or `default` if it is 0.
    pub fn count(&mut self, field: &str, count: u32, most: u32, default: u32) -> u32 {
        if count > most {
            self.fault(field, format_args!("at most {most}"));
        }
        if count == 0 { default } else { count }
    }

    /// What was read of the request, if nothing was wrong with it. It is missing only if something was.
    pub fn done<T>(self, read: Option<T>) -> Result<T, Status> {
        match read {
            Some(read) if self.faults.is_empty() => Ok(read),
            _ => Err(self.into_status()),
        }
    }

    fn into_status(mut self) -> Status {
        let left_out = self.shorten();
        let mut text: Vec<_> = self.faults.iter().map(|(field, description)| format!("{field}: {description}")).collect();
        if left_out > 0 {
            text.push(format!("and {left_out} more faults"));
        }
        let fields: Vec<_> = self.faults.iter().map(|(field, _)| field.as_str()).collect();
        let refused = Refused::new(Reason::InvalidRequest, text.join("; "), vec![("fields", fields.join(","))]);
        let violations = self.faults.into_iter().map(|(field, text)| FieldViolation::new(field, text));
        refused.into_status_with(violations.collect())
    }

    /// Leaves out faults beyond [`MAX_FAULT_BYTES`], and says how many.
    fn shorten(&mut self) -> usize {
        let all = self.faults.len();
        let mut bytes = 0;
        self.faults.retain_mut(|(field, description)| {
            let room = MAX_FAULT_BYTES.saturating_sub(bytes + field.len());
            bytes += field.len() + description.len();
            if room > 0 && description.len() > room {
                description.truncate(description.floor_char_boundary(room));
                description.push('…');
            }
            room > 0
        });
        all - self.faults.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tonic_types::StatusExt;

    #[test]
    fn many_faults_fit_in_the_headers_of_an_error() {
        let mut fields = Fields::new();
        (0..1_000).for_each(|n| fields.fault(format!("positions[{n}]"), "at character 1: expected é"));
        let status = fields.done(Some(())).expect_err("faults");
        assert!(status.message().contains("more faults"), "{}", status.message());
        let named = status.get_details_bad_request().expect("faults").field_violations;
        assert!(named.len() > 10 && named[10].field == "positions[10]", "{named:?}");
        let answer = status.into_http::<()>();
        let bytes: usize = answer.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 32).sum();
        assert!(bytes < 8 << 10, "{bytes}");
    }

    #[test]
    fn a_long_fault_is_cut_between_characters() {
        let mut fields = Fields::new();
        fields.fault("position", "é".repeat(MAX_FAULT_BYTES));
        let status = fields.done(Some(())).expect_err("a fault");
        let named = status.get_details_bad_request().expect("a fault").field_violations;
        assert!(named[0].description.ends_with("é…"), "{named:?}");
        assert!(named[0].description.len() <= MAX_FAULT_BYTES + '…'.len_utf8());
    }

    #[test]
    fn nothing_wrong_gives_what_was_read() {
        assert_eq!(Fields::new().done(Some(7)).expect("no faults"), 7);
    }
}
