//! The key by which a server in token mode takes the load for an operator's.

use crate::cli::Failure;
use crate::service::Token;
use std::fmt;
use std::path::{Path, PathBuf};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::{Request, Status};

/// Holds a key where there is no file of one. The key is no argument: others can read those.
const VARIABLE: &str = "MANCALA_OPERATOR_KEY";

#[derive(Debug, clap::Args)]
pub struct OperatorArgs {
    /// File with an operator's key, for a server in token mode: the key, or all that `mancala key` has printed [environment:
    /// MANCALA_OPERATOR_KEY, the key itself]
    #[arg(long, value_name = "FILE")]
    operator_key_file: Option<PathBuf>,
}

/// What calls bear: the key, or nothing. Never shown.
#[derive(Clone, Default)]
pub struct Bearer(Option<MetadataValue<Ascii>>);

impl OperatorArgs {
    pub fn bearer(&self) -> Result<Bearer, Failure> {
        if let Some(path) = &self.operator_key_file {
            let text = std::fs::read_to_string(path).map_err(|error| unusable(path, &format!("can't be read: {error}")))?;
            return Bearer::of_key(&text)
                .ok_or_else(|| unusable(path, "holds no operator's key, or several: one begins with mop_"));
        }
        match std::env::var_os(VARIABLE).filter(|key| !key.is_empty()) {
            None => Ok(Bearer::default()),
            Some(key) => key.to_str().and_then(Bearer::of_key).ok_or_else(|| {
                Failure::usage(format!("{VARIABLE} is no operator's key, as `mancala key NAME` makes one: it begins with mop_"))
            }),
        }
    }
}

/// What is wrong with a file of a key, of which nothing is repeated.
fn unusable(path: &Path, problem: &str) -> Failure {
    Failure::usage(format!("--operator-key-file {} {problem}", path.display()))
}

impl Bearer {
    /// Of the one key in a text, on a line of its own.
    fn of_key(text: &str) -> Option<Bearer> {
        let mut keys = text.lines().map(str::trim).filter(|line| matches!(Token::parse(line), Some(Token::Operator { .. })));
        let key = keys.next().filter(|_| keys.next().is_none())?;
        format!("Bearer {key}").parse().ok().map(|value| Bearer(Some(value)))
    }
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(value) = &self.0 {
            request.metadata_mut().insert("authorization", value.clone());
        }
        Ok(request)
    }
}

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Bearer(...)" } else { "Bearer(none)" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Seat;
    use crate::service::Secret;

    #[test]
    fn one_key_is_found_in_a_text_and_never_shown() {
        let secret = Secret::new_token();
        let key = secret.operator_key("ops");
        for text in [key.clone(), format!("{key}\r\n"), format!("The key:\n\n  {key}\n\nFor the server:\noperators = []\n")] {
            let mut bearer = Bearer::of_key(&text).expect("a key");
            let request = bearer.call(Request::new(())).expect("a request");
            let shown = request.metadata().get("authorization").expect("it bears the key");
            assert_eq!(shown.to_str().expect("text"), format!("Bearer {key}"));
            assert!(!format!("{bearer:?}").contains(&key));
        }
        let seat = secret.seat_token("game-1", Seat::South);
        for text in ["", "mop_ops_short", &format!("{key}\n{key}\n"), &format!("key = {key}"), &seat] {
            assert!(Bearer::of_key(text).is_none(), "{text}");
        }
        let request = Bearer::default().call(Request::new(())).expect("a request");
        assert!(request.metadata().is_empty());
    }
}
