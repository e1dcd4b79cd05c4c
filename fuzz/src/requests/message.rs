//! Messages of any type, made of choices. What a field is called decides what is mostly put in it, so that many requests make sense.

use super::contract::CONTRACT;
use super::known::Known;
use super::script::Script;
use mancala::game::{Game, Rules};
use prost::encoding::{WireType, encode_key, encode_varint};
use prost_types::FieldDescriptorProto;
use prost_types::field_descriptor_proto::{Label, Type};

/// No message of the contract is nested deeper.
const MAX_DEPTH: usize = 6;

const POSITIONS: &[&str] = &[
    "",
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
];
const MOVES: &[&str] = &["0", "1", "4", "7", "9", "12", "offer 0", "offer 4+5", "accept", "decline", "pass", "7x2", "4+5>0:10"];
const NAMES: &[&str] = &["", "ana", "ben #1", "crème \"brûlée\"", "\u{202e}", "a\nb"];
const FILTERS: &[&str] = &[
    "",
    "game = gore",
    "game = ayoayo AND state = active",
    "labels.team = \"red\" AND player = ana",
    "south.player = \"ben #1\"",
    "create_time >= \"2020-09-13T12:26:40Z\" AND update_time < \"2030-01-01T00:00:00.5Z\"",
    "state = finished AND north.player = ana AND labels.a = b",
];
const COUNTS: &[u64] = &[0, 1, 2, 3, 4, 5, 7, 10, 20, 60, 100, 101, 1_000, 1_001, 65_536, 0xFFFF_FFFF];
const WIDE: &[u64] = &[0, 1, 5, 60, 3_600, 86_400, 1 << 40, 999_999_999, 1_000_000_000, i64::MAX as u64, i64::MIN as u64, u64::MAX];

pub struct Writer<'a, 'b> {
    pub script: &'b mut Script<'a>,
    pub known: &'b Known,
    /// The session that the message is about, once it is chosen.
    pub session: String,
    /// The game that it names.
    pub game: &'static str,
}

impl Writer<'_, '_> {
    /// An encoded message; `context` is the name of the field that it is in.
    pub fn message(&mut self, type_name: &str, context: &str, depth: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        if depth > MAX_DEPTH {
            return bytes;
        }
        for field in CONTRACT.fields(type_name) {
            let choice = self.script.byte();
            let times = match (field.label(), choice) {
                (_, 0) => 0,
                (Label::Repeated, _) => usize::from(choice % 4),
                // Few requests can do without these.
                _ if ["session_id", "game", "move", "kind", "key", "items", "record"].contains(&field.name()) => 1,
                _ => usize::from(choice > 96),
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
                // One more than there are, at times.
                let values = CONTRACT.values(field.type_name()) as u64 + u64::from(choice % 16 == 15);
                return varint(bytes, number, u64::from(self.script.byte()) % values);
            }
            Type::Uint32 => {
                let value = self.number(field.name());
                return varint(bytes, number, value);
            }
            Type::Int64 | Type::Int32 | Type::Uint64 => {
                let value = self.script.pick(WIDE).copied().unwrap_or_default();
                return varint(bytes, number, value);
            }
            other => panic!("no request has had a field of the type {other:?} yet: {}", field.name()),
        };
        encode_key(number, WireType::LengthDelimited, bytes);
        encode_varint(nested.len() as u64, bytes);
        bytes.extend(nested);
    }

    fn number(&mut self, name: &str) -> u64 {
        let choice = u64::from(self.script.byte());
        let version = self.known.sessions.get(&self.session).map_or(1, |session| u64::from(session.version()));
        match name {
            "expected_version" => (version + [0, 0, 0, 1][choice as usize % 4]).saturating_sub(choice / 252),
            "version" | "after_version" | "to_version" => choice % (version + 2),
            "pit" | "pits" | "emptied" => choice % 22,
            "seeds" => choice % 13,
            "rounds" => choice % 6,
            // Long ones are for benchmarks.
            "playouts" => choice % 4,
            _ => COUNTS[choice as usize % COUNTS.len()],
        }
    }

    fn text(&mut self, name: &str, context: &str) -> Vec<u8> {
        let choice = self.script.byte();
        if choice >= 248 {
            let most = usize::from(self.script.byte());
            return String::from_utf8_lossy(self.script.take(most)).into_owned().into_bytes();
        }
        let of = |list: &[&str]| list[usize::from(choice) % list.len()].to_owned();
        let text = match (name, context) {
            ("session_id" | "session_ids", _) => {
                let fixed = format!("game-{}", choice % 4);
                let known = self.known.id(choice / 4).filter(|_| choice >= 32).cloned();
                self.session = known.unwrap_or(fixed);
                self.session.clone()
            }
            ("game", _) => {
                self.game = Game::ALL[usize::from(choice) % Game::ALL.len()].id();
                self.game.to_owned()
            }
            ("request_id", _) => ["", "r0", "r1", "r2", "r3", "not an id"][usize::from(choice) % 6].to_owned(),
            ("position" | "positions", _) => match self.known.sessions.get(&self.session) {
                Some(session) if choice % 3 == 0 => session.position().to_string(),
                _ => of(POSITIONS),
            },
            ("text" | "moves", _) => match self.known.legal_move(&self.session, choice) {
                Some(mv) if choice % 8 > 0 => mv.to_string(),
                _ => of(MOVES),
            },
            ("record", _) => self.record(choice),
            ("filter", _) => of(FILTERS),
            ("page_token", _) => self.known.page_tokens.last().filter(|_| choice % 8 > 0).cloned().unwrap_or_else(|| of(NAMES)),
            ("join_code", _) => pick(&self.known.join_codes, choice).filter(|_| choice % 8 > 0).unwrap_or_else(|| of(NAMES)),
            ("key", "options") => {
                let specs = Game::from_id(self.game).map_or(&[][..], |game| Rules::new(game).option_specs());
                let spec = specs.get(usize::from(choice) % specs.len().max(1));
                spec.map_or_else(|| of(NAMES), |spec| spec.name.to_owned())
            }
            ("value", "options") => {
                let all = Game::ALL.iter().flat_map(|&game| Rules::new(game).option_specs()).flat_map(|spec| spec.values);
                of(&all.copied().collect::<Vec<_>>())
            }
            ("key", _) => of(&["team", "a", "", "é"]),
            ("value", _) => of(&["red", "b", "", "\u{7}"]),
            _ => of(NAMES),
        };
        text.into_bytes()
    }

    /// A record that was exported, at times with a byte changed.
    fn record(&mut self, choice: u8) -> String {
        let record = pick(&self.known.records, choice).unwrap_or_default();
        if choice % 4 > 0 || record.is_empty() {
            return record;
        }
        let mut bytes = record.into_bytes();
        let place = usize::from(self.script.byte()) << 8 | usize::from(self.script.byte());
        let place = place % bytes.len();
        bytes[place] = self.script.byte();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

fn pick(list: &[String], choice: u8) -> Option<String> {
    list.get(usize::from(choice) % list.len().max(1)).cloned()
}

fn varint(bytes: &mut Vec<u8>, number: u32, value: u64) {
    encode_key(number, WireType::Varint, bytes);
    encode_varint(value, bytes);
}
