//! The messages that a server reads and writes most, filled as they usually are.

use mancala::wire::proto;
use prost_types::Timestamp;

const SESSION: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
const POSITION: &str = "ayoayo 6,6,2,7,0,6/1,0,6,6,0,1 7-0 N sow last=S";
const PITS: [u32; 12] = [6, 6, 2, 7, 0, 6, 1, 0, 6, 6, 0, 1];

fn time() -> Option<Timestamp> {
    Some(Timestamp { seconds: 1_600_000_000, nanos: 123_456_000 })
}

fn sowing(pit: u32) -> proto::Move {
    proto::Move { kind: Some(proto::r#move::Kind::Sow(proto::Sow { pit, seeds: None })), text: pit.to_string() }
}

fn hash() -> String {
    "3f".repeat(32)
}

pub fn apply_request() -> proto::ApplyMoveRequest {
    proto::ApplyMoveRequest {
        session_id: SESSION.to_owned(),
        r#move: Some(proto::Move { kind: None, text: "2".to_owned() }),
        expected_version: Some(17),
        request_id: "6f9619ff-8b86-4d01-b42d-00c04fc964ff".to_owned(),
        ..Default::default()
    }
}

pub fn apply_response() -> proto::ApplyMoveResponse {
    proto::ApplyMoveResponse {
        version: 18,
        position: POSITION.to_owned(),
        to_act: proto::Seat::North.into(),
        captured: 7,
        server_time: time(),
        ..Default::default()
    }
}

pub fn get_request() -> proto::GetSessionRequest {
    proto::GetSessionRequest { session_id: SESSION.to_owned(), version: None }
}

pub fn get_response() -> proto::GetSessionResponse {
    proto::GetSessionResponse { session: Some(session()), server_time: time() }
}

pub fn moves_request() -> proto::ListLegalMovesRequest {
    proto::ListLegalMovesRequest { session_id: SESSION.to_owned() }
}

pub fn moves_response() -> proto::ListLegalMovesResponse {
    proto::ListLegalMovesResponse {
        version: 18,
        to_act: proto::Seat::North.into(),
        phase: proto::Phase::Sow.into(),
        moves: [6, 8, 9, 11].map(sowing).into(),
        redistributions: None,
        server_time: time(),
    }
}

/// What a watcher is sent of one move.
pub fn watch_response() -> proto::WatchSessionResponse {
    let played = proto::MovePlayed { r#move: Some(sowing(2)), position: POSITION.to_owned(), captured: 7, ..Default::default() };
    let event = proto::Event {
        version: 18,
        time: time(),
        seat: proto::Seat::South.into(),
        request_id: String::new(),
        hash: hash(),
        body: Some(proto::event::Body::MovePlayed(played)),
    };
    proto::WatchSessionResponse { session: None, events: vec![event], version: 18, current_version: 18, server_time: time() }
}

fn session() -> proto::Session {
    let seat = |seat: proto::Seat| proto::SeatInfo { seat: seat.into(), ..Default::default() };
    proto::Session {
        session_id: SESSION.to_owned(),
        game: "ayoayo".to_owned(),
        options: [("leftovers".to_owned(), "last_mover".to_owned())].into(),
        guards: Some(proto::Guards { repetition: Some(3), quiet: Some(200), max_plies: Some(2_000) }),
        state: proto::SessionState::Active.into(),
        version: 18,
        position: Some(position()),
        ply: 17,
        round: 1,
        rounds: 1,
        create_time: time(),
        update_time: time(),
        seats: vec![seat(proto::Seat::South), seat(proto::Seat::North)],
        head_hash: hash(),
        ..Default::default()
    }
}

fn position() -> proto::Position {
    let pit = |(index, seeds): (u32, u32)| {
        let controller = if index < 6 { proto::Seat::South } else { proto::Seat::North };
        proto::Pit { index, seeds, controller: controller.into(), ..Default::default() }
    };
    proto::Position {
        game: "ayoayo".to_owned(),
        pits: (0..).zip(PITS).map(pit).collect(),
        south_bank: 7,
        to_act: proto::Seat::North.into(),
        phase: proto::Phase::Sow.into(),
        last_sower: proto::Seat::South.into(),
        text: POSITION.to_owned(),
        ..Default::default()
    }
}
