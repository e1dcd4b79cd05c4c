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
}

impl Fields {
    /// No faults yet.
    pub fn new() -> Fields {
        Fields::default()
    }

    /// Adds a fault.
    pub fn fault(&mut self, field: impl Into<String>, description: impl Display) {
        self.faults.push((field.into(), description.to_string()));
    }

    /// The value, or a fault of the field.
    pub fn take<T, E: Display>(&mut self, field: impl Into<String>, value: Result<T, E>) -> Option<T> {
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
