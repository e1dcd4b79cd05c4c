//! Requests that are malformed: all faulty fields are named at once.

use super::reason::Reason;
use super::refuse::Refused;
use crate::session::{check_request_id, check_session_id};
use std::fmt::Display;
use tonic::Status;
use tonic_types::FieldViolation;

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
        let outer = std::mem::replace(&mut self.prefix, String::new());
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

    /// A number from 1 to `most`, or `default` if it is 0.
    pub fn count(&mut self, field: &str, count: u32, most: u32, default: u32) -> u32 {
        if count > most {
            self.fault(field, format_args!("at most {most}"));
        }
        if count == 0 { default } else { count }
    }

    /// Whether nothing is wrong so far.
    pub fn check(&mut self) -> Result<(), Status> {
        if self.faults.is_empty() {
            return Ok(());
        }
        let faults = std::mem::take(&mut self.faults);
        let text: Vec<_> = faults.iter().map(|(field, description)| format!("{field}: {description}")).collect();
        let fields: Vec<_> = faults.iter().map(|(field, _)| field.as_str()).collect();
        let refused = Refused::new(Reason::InvalidRequest, text.join("; "), vec![("fields", fields.join(","))]);
        Err(refused.into_status_with(faults.into_iter().map(|(field, text)| FieldViolation::new(field, text)).collect()))
    }
}
