//! Random sessions with everything that can happen to one.

#![allow(dead_code, reason = "each test binary uses its own part")]

use mancala::game::{Dice, Game, Guards, Rules, Seat};
use mancala::random::SeededDice;
use mancala::session::record::{Record, RecordedEvent};
use mancala::session::{
    Claimant, ClockSetting, Command, Created, Event, EventHash, Micros, Player, ProposalKind, SeatCommand, SeatStart, SecretHash,
    Session, SpectatorPolicy, Spectators,
};

/// 2026-01-01, in microseconds.
pub const MADE: Micros = 1_767_225_600_000_000;
const SECOND: Micros = 1_000_000;

/// A session, and all that happened to it.
pub struct History {
    pub session: Session,
    pub events: Vec<RecordedEvent>,
    now: Micros,
    head: EventHash,
}

impl History {
    pub fn begin(created: Created, request_id: Option<&str>) -> History {
        let session = Session::new("played-1".to_owned(), &created, MADE).expect("it can be played");
        let mut history = History { session, events: Vec::new(), now: MADE, head: EventHash::START };
        history.note(Event::Created(created), request_id);
        for event in history.session.end_at_start() {
            history.session.evolve(&event, MADE, &mut ()).expect("it follows");
            history.note(event, request_id);
        }
        history
    }

    /// Carries a command out, if it is not refused. Whose time is out comes first, as in the service.
    pub fn apply(&mut self, command: &Command, request_id: Option<&str>) -> bool {
        if *command != Command::ClaimTimeout
            && let Some(events) = self.session.timed_out(self.now)
        {
            self.take_in(events, None);
        }
        match self.session.decide(command, self.now, &mut ()) {
            Ok(events) => {
                self.take_in(events, request_id);
                true
            }
            Err(_) => false,
        }
    }

    /// Announces that it is to be deleted, as the service does.
    pub fn expire(&mut self) {
        if self.session.timed_out(self.now).is_none() {
            self.take_in(vec![Event::Expiring { at: self.now + 86_400 * SECOND }], None);
        }
    }

    pub fn wait(&mut self, micros: Micros) {
        self.now += micros;
    }

    fn take_in(&mut self, events: Vec<Event>, request_id: Option<&str>) {
        for event in events {
            self.session.evolve(&event, self.now, &mut ()).expect("what was decided follows");
            self.note(event, request_id);
        }
    }

    fn note(&mut self, event: Event, request_id: Option<&str>) {
        let version = self.events.len() as u32 + 1;
        self.head = self.head.then(version, self.now, request_id, &event.to_json());
        let (request_id, short_hash) = (request_id.map(str::to_owned), Some(self.head.short()));
        self.events.push(RecordedEvent { version, time: self.now, request_id, event, short_hash });
    }

    pub fn record(&self) -> Record {
        Record { session_id: "played-1".to_owned(), events: self.events.clone(), head_hash: Some(self.head) }
    }
}

fn any_clock(dice: &mut SeededDice) -> Option<ClockSetting> {
    match dice.below(4) {
        0 => None,
        1 => Some(ClockSetting::PerMove { limit: 40 * SECOND }),
        2 => Some(ClockSetting::Total { main: 900 * SECOND, increment: 2 * SECOND }),
        _ => Some(ClockSetting::ByoYomi { main: 60 * SECOND, period: 30 * SECOND, periods: 3 }),
    }
}

fn any_secret(dice: &mut SeededDice) -> SecretHash {
    SecretHash::new(std::array::from_fn(|_| dice.below(256) as u8))
}

fn any_player(dice: &mut SeededDice) -> Player {
    let names = ["", "ana #1", "Ben \"the\" {}, token 00", "crème: #0123456789abcdef"];
    let mut name = || names[dice.below(4) as usize].to_owned();
    Player { reference: name(), display_name: name() }
}

fn any_seats(dice: &mut SeededDice) -> Vec<SeatStart> {
    let seats = Seat::BOTH.into_iter().take(dice.below(3) as usize);
    let start = |seat| match dice.below(3) {
        0 => SeatStart { seat, player: Some(any_player(dice)), token: Some(any_secret(dice)), join_code: None },
        1 => SeatStart { seat, player: None, token: None, join_code: Some(any_secret(dice)) },
        _ => SeatStart { seat, player: None, token: None, join_code: None },
    };
    seats.map(start).collect()
}

fn any_spectators(dice: &mut SeededDice) -> Spectators {
    let policy = [SpectatorPolicy::None, SpectatorPolicy::Unlisted, SpectatorPolicy::Public][dice.below(3) as usize];
    Spectators { policy, delay_plies: dice.below(3) as u32 }
}

/// How a random session begins.
pub fn any_created(game: Game, dice: &mut SeededDice) -> Created {
    let specs = Rules::new(game).option_specs();
    let chosen: Vec<_> =
        specs.iter().map(|spec| (spec.name, spec.values[dice.below(spec.values.len() as u64) as usize])).collect();
    let rules = Rules::with_options(game, chosen).expect("listed values");
    let labels = [("team", "crème \"brûlée\""), ("a = b", "\\"), ("#", "")].into_iter().take(dice.below(4) as usize);
    Created {
        game: game.id().to_owned(),
        options: rules.options().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        guards: Guards { max_plies: 60, ..Guards::of(game) }.into(),
        position: rules.start_with(Seat::BOTH[dice.below(2) as usize]).to_string(),
        labels: labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
        rounds: 1 + dice.below(4) as u32,
        clock: any_clock(dice),
        previous_session_id: (dice.below(3) == 0).then(|| "before-1".to_owned()),
        seats: any_seats(dice),
        spectators: any_spectators(dice),
    }
}

/// A random session of at most so many commands.
pub fn any_history(game: Game, seed: u64, commands: u32) -> History {
    let mut dice = SeededDice::new(seed);
    let created = any_created(game, &mut dice);
    let mut history = History::begin(created, (dice.below(2) == 0).then_some("make-1"));
    for number in 0..commands {
        let wait = match dice.below(30) {
            0 => 100 * SECOND,
            1..=5 => 0,
            _ => dice.below(6_000_000) as Micros,
        };
        history.wait(wait);
        let command = any_command(&history.session, &mut dice);
        let request_id = (dice.below(2) == 0).then(|| format!("request_{number}"));
        history.apply(&command, request_id.as_deref());
        if dice.below(60) == 0 {
            history.expire();
        }
    }
    history
}

fn any_command(session: &Session, dice: &mut SeededDice) -> Command {
    let seat = Some(Seat::BOTH[dice.below(2) as usize]);
    let kind = ProposalKind::ALL[dice.below(5) as usize];
    let open = session.proposals().open().first().copied();
    match dice.below(100) {
        0 => Command::Resign { seat, whole_match: dice.below(6) == 0 },
        1..=2 => Command::ClaimTimeout,
        97..=99 => {
            let seat = Seat::BOTH[dice.below(2) as usize];
            let (player, token) = (any_player(dice), any_secret(dice));
            Command::Seat(match dice.below(3) {
                0 => SeatCommand::Claim { by: Claimant::Trusted(seat), player, token },
                1 => SeatCommand::Rotate { seat, token },
                _ => SeatCommand::Revoke { seat },
            })
        }
        3..=12 => {
            let versions = u64::from(session.version());
            let to_version = (kind == ProposalKind::Takeback).then(|| 1 + dice.below(versions) as u32);
            // An abort ends it all, so that it is proposed less often.
            let kind = if kind == ProposalKind::Abort && dice.below(4) > 0 { ProposalKind::Rematch } else { kind };
            Command::Propose { seat, kind, to_version }
        }
        13..=40 if open.is_some() => {
            let kind = open.map_or(kind, |open| open.kind);
            match dice.below(4) {
                0 => Command::Withdraw { seat: None, kind },
                answer => Command::Answer { seat: None, kind, accept: answer > 1 },
            }
        }
        _ => match session.rules().sample(session.position(), dice) {
            Some(mv) => Command::Play { seat: None, mv },
            None => Command::Propose { seat, kind: ProposalKind::Rematch, to_version: None },
        },
    }
}
