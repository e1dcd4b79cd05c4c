//! Messages of any type, made of choices. What a field is called decides what is put in it, so that many requests make sense.

use super::contract::CONTRACT;
use super::known::Known;
use super::script::Script;
use mancala::game::{Game, OptionSpec, Rules, Seat};
use mancala::session::ProposalKind;
use prost::encoding::{WireType, encode_key, encode_varint};
use prost_types::FieldDescriptorProto;
use prost_types::field_descriptor_proto::{Label, Type};

/// No message of the contract is nested deeper.
const MAX_DEPTH: usize = 6;

/// Fields without which few requests are right.
const NEEDED: &[&str] = &[
    "game",
    "items",
    "key",
    "kind",
    "main",
    "move",
    "period",
    "periods",
    "position",
    "positions",
    "record",
    "requests",
    "seat",
    "seconds",
    "session_id",
    "session_ids",
    "value",
];

/// Values of a field: those that make sense, and the others.
type Values<T> = (&'static [T], &'static [T]);

const POSITIONS: Values<&str> = (
    &[
        "gore 5,5,5,3/5,5,5,3 6-6 S sow",
        "gore 0,0,0,1/0,0,0,1 23-23 N sow refused=N",
        "gore 5,0,0,0/0,0,0,5 19-19 S answer:7",
        "ayoayo 0,0,0,0,0,1/0,0,0,0,0,1 23-23 S sow last=N",
        "ayoayo 2,1,3,2,1,2/1,2,0,1,4,1 7-21 N sow last=N",
        "ali_guli_mane 0,0,0,5,x,3,1/0,1,x,x,0,x,0 25-35 S bonus",
        "kiothi 0,0,0,0,0,0,5,0,0,0/0,0,0,0,0,3,0,0,4*,0 44-4 N sow",
        "hoyito3 0,0,0,0,0,0/0,0,0,0,0,0 24-24 S sow",
        "hoyito3 1,0,0,0,0,0/0,0,0,0,0,1 23-23 S sow heir=N",
        "hoyito3 0,0,0,0,0,0/0,0,0,0,0,0 25-23 S over:no_move",
    ],
    &["", "gore", "ayoayo 9,9,9,9,9,9/9,9,9,9,9,9 0-0 S sow"],
);
const MOVES: Values<&str> =
    (&["0", "1", "4", "7", "9", "accept", "decline", "pass"], &["", "offer 0", "offer 4+5", "7x2", "4+5>0:10", "x", "99"]);
const NAMES: Values<&str> = (&["ana", "ben #1", "crème \"brûlée\"", ""], &["\u{202e}", "a\nb"]);
const KEYS: Values<&str> = (&["team", "a", "é"], &["", "\0"]);
const REQUESTS: Values<&str> = (&["r0", "r1", "r2", "r3", "r4", "r5"], &["", "not an id"]);
const FILTERS: Values<&str> = (
    &[
        "game = gore",
        "game = ayoayo AND state = active",
        "labels.team = \"ana\" AND player = ana",
        "south.player = \"ben #1\"",
        "create_time >= \"2020-09-13T12:26:40Z\" AND update_time < \"2030-01-01T00:00:00.5Z\"",
        "state = finished AND north.player = ana AND labels.a = b",
    ],
    &["", "game", "labels. = a"],
);
const COUNTS: Values<u64> = (&[1, 2, 3, 5, 7, 20, 60], &[0, 4, 10, 100, 101, 1_000, 1_001, 65_536, 0xFFFF_FFFF]);
const WIDE: Values<u64> =
    (&[1, 5, 60, 3_600], &[0, 86_400, 1 << 40, 999_999_999, 1_000_000_000, i64::MAX as u64, i64::MIN as u64, u64::MAX]);

pub struct Writer<'a, 'b> {
    pub script: &'b mut Script<'a>,
    pub known: &'b Known,
    /// The session that the message is about, once it is chosen.
    pub session: String,
    /// The game that it names.
    pub game: &'static str,
    /// The option whose value comes next.
    pub option: Option<OptionSpec>,
    /// Whether it is for a session that is not there yet.
    pub makes: bool,
    /// Whether to put in what makes no sense, too.
    pub wild: bool,
}

impl Writer<'_, '_> {
    /// An encoded message; `context` is the name of the field that it is in.
    pub fn message(&mut self, type_name: &str, context: &str, depth: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        if depth > MAX_DEPTH {
            return bytes;
        }
        let fields = CONTRACT.fields(type_name);
        // One of those that exclude each other; of a move mostly its text.
        let choice = self.script.byte();
        let exclusive: Vec<_> = fields.iter().filter(|field| is_exclusive(field)).map(FieldDescriptorProto::number).collect();
        let as_text = type_name == ".mancala.v1.Move" && choice >= 64;
        let one = exclusive.get(usize::from(choice) % exclusive.len().max(1)).filter(|_| !as_text);
        let is_one = |field: &FieldDescriptorProto| one == Some(&field.number());
        let left_out = |field: &FieldDescriptorProto| {
            if field.name() == "text" { !as_text } else { is_exclusive(field) && !is_one(field) }
        };
        for field in fields {
            let choice = self.script.byte();
            let times = match (field.label(), choice) {
                (_, 0) => 0,
                _ if !self.wild && left_out(field) => 0,
                _ if !self.wild && field.name() == "options" && self.option_specs().is_empty() => 0,
                _ if !self.wild && (is_one(field) || field.name() == "text") => 1,
                _ if NEEDED.contains(&field.name()) => {
                    1 + usize::from(choice % 4) * usize::from(field.label() == Label::Repeated)
                }
                (Label::Repeated, _) => usize::from(choice % 4).saturating_sub(usize::from(!self.wild)),
                _ => usize::from(choice > if self.wild { 96 } else { 192 }),
            };
            for _ in 0..times {
                self.field(&mut bytes, field, choice, context, depth);
            }
        }
        bytes
    }

    fn field(&mut self, bytes: &mut Vec<u8>, field: &FieldDescriptorProto, choice: u8, context: &str, depth: usize) {
        let number = field.number() as u32;
        let nested = match field.r#type() {
            Type::Message => {
                let context = if context.is_empty() || field.label() == Label::Repeated { field.name() } else { context };
                self.message(field.type_name(), context, depth + 1)
            }
            Type::String => self.text(field.name(), context),
            Type::Bool => return varint(bytes, number, (choice & 1).into()),
            Type::Enum => {
                let values = CONTRACT.values(field.type_name()) as u64;
                let value = u64::from(self.script.byte());
                if let Some(likely) = self.likely(field.name()).filter(|_| !self.wild && value % 4 > 0) {
                    return varint(bytes, number, likely);
                }
                // None, or one more than there are, only at times.
                return varint(bytes, number, if self.wild { value % (values + 1) } else { 1 + value % (values - 1) });
            }
            Type::Uint32 => {
                let value = self.number(field.name());
                return varint(bytes, number, value);
            }
            Type::Int64 | Type::Int32 | Type::Uint64 => {
                let choice = self.script.byte();
                return varint(bytes, number, self.of(WIDE, choice));
            }
            other => panic!("no request has had a field of the type {other:?} yet: {}", field.name()),
        };
        encode_key(number, WireType::LengthDelimited, bytes);
        encode_varint(nested.len() as u64, bytes);
        bytes.extend(nested);
    }

    /// What makes sense in the session as it is.
    fn likely(&self, field: &str) -> Option<u64> {
        let session = self.known.sessions.get(&self.session)?;
        let open = session.proposals().open().first();
        match field {
            "kind" => {
                open.map(|open| 1 + ProposalKind::ALL.iter().position(|&kind| kind == open.kind).unwrap_or_default() as u64)
            }
            "seat" => {
                let seat = open.map_or(session.position().to_act(), |open| open.by.other());
                Some(if seat == Seat::South { 1 } else { 2 })
            }
            _ => None,
        }
    }

    fn number(&mut self, name: &str) -> u64 {
        let choice = u64::from(self.script.byte());
        let version = self.known.sessions.get(&self.session).map_or(1, |session| u64::from(session.version()));
        match name {
            "expected_version" if self.wild => choice % (version + 2),
            "expected_version" => version,
            "version" | "after_version" | "to_version" => choice % (version + if self.wild { 2 } else { 1 }),
            "pit" | "pits" | "emptied" => choice % 22,
            "seeds" => choice % 13,
            "rounds" => choice % 6,
            // Long ones are for benchmarks.
            "playouts" => choice % 4,
            _ => self.of(COUNTS, choice as u8),
        }
    }

    fn text(&mut self, name: &str, context: &str) -> Vec<u8> {
        let choice = self.script.byte();
        if choice >= 248 || (self.wild && choice >= 192) {
            let most = usize::from(self.script.byte());
            return String::from_utf8_lossy(self.script.take(most)).into_owned().into_bytes();
        }
        let learnt = |list: &[String]| list.get(usize::from(choice) % list.len().max(1)).cloned();
        let text = match (name, context) {
            ("session_id" | "session_ids", _) => {
                let known = self.known.id(choice).filter(|_| if self.wild { choice >= 64 } else { !self.makes }).cloned();
                self.session = known.unwrap_or_else(|| format!("game-{}", choice % 16));
                self.session.clone()
            }
            ("game", _) => {
                self.game = Game::ALL[usize::from(choice) % Game::ALL.len()].id();
                self.game.to_owned()
            }
            ("request_id", _) => self.of(REQUESTS, choice).to_owned(),
            ("position" | "positions", _) => self.position(choice),
            ("text" | "moves", _) => match self.known.legal_move(&self.session, choice) {
                Some(mv) if choice >= 32 => mv.to_string(),
                _ => self.of(MOVES, choice).to_owned(),
            },
            ("record", _) => self.record(choice),
            ("filter", _) => self.of(FILTERS, choice).to_owned(),
            ("page_token", _) => learnt(&self.known.page_tokens).unwrap_or_default(),
            ("join_code", _) => learnt(&self.known.join_codes).unwrap_or_default(),
            ("key", "options") => {
                let specs = self.option_specs();
                self.option = specs.get(usize::from(choice) % specs.len().max(1)).copied();
                self.option.map_or("none", |spec| spec.name).to_owned()
            }
            ("value", "options") => {
                let values = self.option.map_or(&["none"][..], |spec| spec.values);
                values[usize::from(choice) % values.len()].to_owned()
            }
            ("key", _) => self.of(KEYS, choice).to_owned(),
            _ => self.of(NAMES, choice).to_owned(),
        };
        text.into_bytes()
    }

    fn of<T: Copy>(&self, (sensible, others): Values<T>, choice: u8) -> T {
        let all = if self.wild { sensible.len() + others.len() } else { sensible.len() };
        let place = usize::from(choice) % all;
        sensible.get(place).copied().unwrap_or_else(|| others[place - sensible.len()])
    }

    /// Of the game that is named.
    fn option_specs(&self) -> &'static [OptionSpec] {
        Game::from_id(self.game).map_or(&[], |game| Rules::new(game).option_specs())
    }

    /// Mostly one of the game that is named, or none, which is the game's first.
    fn position(&self, choice: u8) -> String {
        if let Some(session) = self.known.sessions.get(&self.session).filter(|_| choice >= 160) {
            return session.position().to_string();
        }
        let position = self.of(POSITIONS, choice);
        let fits = self.wild || position.split(' ').next() == Some(self.game) || self.game.is_empty();
        if fits { position.to_owned() } else { String::new() }
    }

    /// A record that was exported, at times with a byte changed.
    fn record(&mut self, choice: u8) -> String {
        let records = &self.known.records;
        let record = records.get(usize::from(choice) % records.len().max(1)).cloned().unwrap_or_default();
        if !self.wild || record.is_empty() {
            return record;
        }
        let mut bytes = record.into_bytes();
        let place = usize::from(self.script.byte()) << 8 | usize::from(self.script.byte());
        let place = place % bytes.len();
        bytes[place] = self.script.byte();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Whether it excludes others. Those that may be left out are described in the same way, each alone.
fn is_exclusive(field: &FieldDescriptorProto) -> bool {
    field.oneof_index.is_some() && !field.proto3_optional()
}

fn varint(bytes: &mut Vec<u8>, number: u32, value: u64) {
    encode_key(number, WireType::Varint, bytes);
    encode_varint(value, bytes);
}
