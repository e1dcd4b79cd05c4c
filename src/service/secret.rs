//! Secrets: how they are made, and how those that callers show are read.
//!
//! A token is `mop_NAME_SECRET` for an operator and `mst_SESSION.SEAT_SECRET` for a seat: what it is looked up by, and 256 random
//! bits. A join code is 100 random bits in letters and digits that are hard to mix up. Only their SHA-256 is kept.

use crate::game::Seat;
use crate::session::{SecretHash, check_session_id};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// What operators' keys and seats' tokens begin with. They are easy to find for programs that look for leaked secrets.
const OPERATOR: &str = "mop_";
const SEAT: &str = "mst_";
const SECRET_BYTES: usize = 32;
/// Characters of a secret in base64.
const SECRET_CHARS: usize = 43;

/// Crockford's alphabet: without I, L, O and U.
const CODE_ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const CODE_CHARS: usize = 20;
const CODE_GROUP: usize = 5;

/// A secret that was just made. It can be shown once, and has no `Debug` so that it is not shown by accident.
pub struct Secret(String);

impl Secret {
    /// A new secret.
    ///
    /// # Panics
    /// If the system has no random numbers, which leaves nothing to be done.
    #[must_use]
    pub fn new_token() -> Secret {
        Secret(URL_SAFE_NO_PAD.encode(random::<SECRET_BYTES>()))
    }

    /// A new join code.
    ///
    /// # Panics
    /// If the system has no random numbers.
    #[must_use]
    pub fn new_join_code() -> Secret {
        let chars = random::<CODE_CHARS>().map(|byte| char::from(CODE_ALPHABET[usize::from(byte % 32)]));
        Secret(chars.into_iter().collect())
    }

    /// What to keep of it.
    #[must_use]
    pub fn hash(&self) -> SecretHash {
        hash(&self.0)
    }

    /// As the key of an operator.
    #[must_use]
    pub fn operator_key(&self, name: &str) -> String {
        format!("{OPERATOR}{name}_{}", self.0)
    }

    /// As the token of a seat.
    #[must_use]
    pub fn seat_token(&self, session_id: &str, seat: Seat) -> String {
        format!("{SEAT}{session_id}.{}_{}", seat.letter(), self.0)
    }

    /// As a join code, in groups.
    #[must_use]
    pub fn join_code(&self) -> String {
        let groups: Vec<_> = self.0.as_bytes().chunks(CODE_GROUP).map(String::from_utf8_lossy).collect();
        groups.join("-")
    }
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system has random numbers");
    bytes
}

fn hash(secret: &str) -> SecretHash {
    SecretHash::new(Sha256::digest(secret).into())
}

/// A token that a caller shows, read but not checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// An operator's key.
    Operator {
        /// The operator's name.
        name: String,
        /// Of the secret.
        hash: SecretHash,
    },
    /// A seat's token.
    Seat {
        /// The session.
        session_id: String,
        /// The seat.
        seat: Seat,
        /// Of the secret.
        hash: SecretHash,
    },
}

impl Token {
    /// Reads a token; `None` if it is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Token> {
        let split = text.len().checked_sub(SECRET_CHARS).filter(|&at| text.is_char_boundary(at))?;
        let (front, secret) = text.split_at(split);
        let front = front.strip_suffix('_')?;
        URL_SAFE_NO_PAD.decode(secret).ok().filter(|bytes| bytes.len() == SECRET_BYTES)?;
        let hash = hash(secret);
        if let Some(name) = front.strip_prefix(OPERATOR) {
            return is_operator_name(name).then(|| Token::Operator { name: name.to_owned(), hash });
        }
        let (session_id, seat) = front.strip_prefix(SEAT)?.rsplit_once('.')?;
        check_session_id(session_id).ok()?;
        let mut letters = seat.chars();
        let seat = Seat::from_letter(letters.next()?).filter(|_| letters.next().is_none())?;
        Some(Token::Seat { session_id: session_id.to_owned(), seat, hash })
    }
}

/// Whether an operator may be called so: 1 to 32 lower-case letters, digits and hyphens.
#[must_use]
pub fn is_operator_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=32).contains(&name.len()) && name.bytes().all(plain)
}

/// The hash of a join code, however it is written: in capitals or not, with or without hyphens and blanks; `None` if it is none.
#[must_use]
pub fn read_join_code(text: &str) -> Option<SecretHash> {
    let code: String = text.chars().filter(|c| !matches!(c, '-' | ' ')).map(|c| c.to_ascii_uppercase()).collect();
    let fits = code.len() == CODE_CHARS && code.bytes().all(|byte| CODE_ALPHABET.contains(&byte));
    fits.then(|| hash(&code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_as_they_were_made() {
        for _ in 0..100 {
            let secret = Secret::new_token();
            let (key, token) = (secret.operator_key("ops-1"), secret.seat_token("game-1", Seat::North));
            assert_eq!(Token::parse(&key), Some(Token::Operator { name: "ops-1".to_owned(), hash: secret.hash() }));
            let seat = Token::Seat { session_id: "game-1".to_owned(), seat: Seat::North, hash: secret.hash() };
            assert_eq!(Token::parse(&token), Some(seat));
        }
    }

    #[test]
    fn what_is_no_token_is_not_read() {
        let secret = "A".repeat(SECRET_CHARS);
        assert!(Token::parse(&format!("mop_ops_{secret}")).is_some());
        assert!(Token::parse(&format!("mst_game.S_{secret}")).is_some());
        let bad = [
            String::new(),
            secret.clone(),
            format!("mop_{secret}"),
            format!("mop__{secret}"),
            format!("mop_Ops_{secret}"),
            format!("mop_{}_{secret}", "a".repeat(33)),
            format!("mop_ops_{}", &secret[1..]),
            format!("mop_ops_{}!", &secret[1..]),
            format!("mop_ops-{secret}"),
            format!("mop_opsé{secret}"),
            format!("mst_game_{secret}"),
            format!("mst_game.X_{secret}"),
            format!("mst_game.SN_{secret}"),
            format!("mst_abc.S_{secret}"),
            format!("mxx_ops_{secret}"),
        ];
        for bad in bad {
            assert_eq!(Token::parse(&bad), None, "{bad}");
        }
    }

    #[test]
    fn join_codes_are_read_however_they_are_written() {
        let secret = Secret::new_join_code();
        let code = secret.join_code();
        assert_eq!(code.len(), CODE_CHARS + 3);
        for written in [code.clone(), code.to_lowercase(), code.replace('-', ""), code.replace('-', " ")] {
            assert_eq!(read_join_code(&written), Some(secret.hash()), "{written}");
        }
        for bad in ["", &code[1..], &format!("{code}0"), &code.replace('-', "_"), &format!("U{}", &code[1..])] {
            assert_eq!(read_join_code(bad), None, "{bad}");
        }
    }

    #[test]
    fn no_two_secrets_are_the_same() {
        assert_ne!(Secret::new_token().hash(), Secret::new_token().hash());
        assert_ne!(Secret::new_join_code().hash(), Secret::new_join_code().hash());
    }
}
