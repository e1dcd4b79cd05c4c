//! A session as somebody would keep it on paper: after every event a copy of everything, none of them ever changed. Written from the
//! pages of the rules and the comments of the contract, not from the code that it judges; the only thing that it shares with that is
//! what a single move does.

use super::pages;
use mancala::game::{Game, Guards, IllegalMove, Move, Position, Rules, Seat};
use mancala::session::{Cause, ClockSetting, Command, Event, MatchResult, Micros, Proposal, ProposalKind, Rejection};

/// A move that still stands.
#[derive(Debug, Clone)]
pub struct Played {
    pub version: u32,
    pub mv: Move,
    pub captured: u8,
    pub position: Position,
}

/// A decision that a seat's clock ran for, in the round being played.
#[derive(Debug, Clone, Copy)]
pub struct Thought {
    pub used: Micros,
    /// It came to a move: with an increment the seat gets one.
    pub moved: bool,
}

/// Everything there is to know after an event.
#[derive(Debug, Clone)]
pub struct Copy {
    pub time: Micros,
    pub round: u32,
    pub round_version: u32,
    pub start: Position,
    pub position: Position,
    pub played: Vec<Played>,
    pub round_results: Vec<MatchResult>,
    pub points: [u32; 2],
    pub result: Option<MatchResult>,
    pub has_moved: [bool; 2],
    pub thoughts: [Vec<Thought>; 2],
    pub due_since: Micros,
    pub open: Vec<Proposal>,
    /// What each seat has proposed since the game last moved on.
    pub proposed: Vec<(Seat, ProposalKind)>,
    pub next_session_id: Option<String>,
}

/// What a request comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Done { events: Vec<Event>, version: u32, replayed: bool },
    Refused(Rejection),
    Stale { expected: u32, current: u32 },
    Reused,
}

/// A request as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    pub id: Option<String>,
    pub expected_version: Option<u32>,
    pub command: Command,
}

pub struct Reference {
    pub rules: Rules,
    guards: Guards,
    pub rounds: u32,
    clock: Option<ClockSetting>,
    first: Seat,
    rematch_id: String,
    /// The copy after event n is the n-th.
    copies: Vec<Copy>,
    answered: Vec<(Sent, Vec<Event>, u32)>,
}

impl Reference {
    pub fn new(
        rules: Rules,
        guards: Guards,
        rounds: u32,
        clock: Option<ClockSetting>,
        start: Position,
        now: Micros,
        rematch_id: String,
    ) -> Reference {
        let copy = Copy {
            time: now,
            round: 1,
            round_version: 1,
            start,
            position: start,
            played: Vec::new(),
            round_results: Vec::new(),
            points: [0, 0],
            result: None,
            has_moved: [false; 2],
            thoughts: Default::default(),
            due_since: now,
            open: Vec::new(),
            proposed: Vec::new(),
            next_session_id: None,
        };
        let first = start.to_act();
        let mut it = Reference { rules, guards, rounds, clock, first, rematch_id, copies: vec![copy], answered: Vec::new() };
        if let Some(outcome) = start.outcome() {
            it.end_round(&start, MatchResult::played(&outcome), now);
        }
        it
    }

    pub fn version(&self) -> u32 {
        self.copies.len() as u32
    }

    pub fn now(&self) -> &Copy {
        self.copies.last().expect("the first")
    }

    fn write(&mut self, time: Micros, change: impl FnOnce(&mut Copy, u32)) {
        let mut copy = self.now().clone();
        copy.time = time;
        change(&mut copy, self.version() + 1);
        self.copies.push(copy);
    }

    /// Main time and periods that a seat has left of the round.
    pub fn left(&self, seat: Seat) -> (Micros, u32) {
        let Some(setting) = self.clock else { return (0, 0) };
        let thoughts = &self.now().thoughts[seat as usize];
        match setting {
            ClockSetting::PerMove { limit } => (limit, 0),
            ClockSetting::Total { main, increment } => {
                let used: Micros = thoughts.iter().map(|thought| thought.used).sum();
                let moves = thoughts.iter().filter(|thought| thought.moved).count() as Micros;
                (main - used + increment * moves, 0)
            }
            ClockSetting::ByoYomi { main, period, periods } => {
                let (mut main, mut periods) = (main, periods);
                for Thought { mut used, .. } in thoughts.iter().copied() {
                    let of_main = used.min(main);
                    main -= of_main;
                    used -= of_main;
                    while used >= period {
                        used -= period;
                        periods -= 1;
                    }
                }
                (main, periods)
            }
        }
    }

    pub fn deadline(&self) -> Option<Micros> {
        let (setting, now) = (self.clock?, self.now());
        let seat = now.position.to_act();
        let (main, periods) = self.left(seat);
        let period = if let ClockSetting::ByoYomi { period, .. } = setting { period } else { 0 };
        let runs = now.result.is_none() && now.has_moved[seat as usize];
        runs.then(|| now.due_since + main + period * Micros::from(periods))
    }

    /// What anyone who looks brings about: a seat whose time is out loses the round.
    pub fn look(&mut self, clock: Micros) -> Vec<Event> {
        let now = clock.max(self.now().time);
        let Some(deadline) = self.deadline().filter(|&deadline| now > deadline) else { return Vec::new() };
        let position = self.now().position;
        let seat = position.to_act();
        self.write(now, |_, _| {});
        let mut events = vec![Event::TimedOut { seat, deadline }];
        events.extend(self.end_round(&position, lost(&position, seat, Cause::Timeout), now));
        events
    }

    pub fn request(&mut self, sent: &Sent, clock: Micros) -> Outcome {
        if let Some((first, events, version)) = self.answered.iter().find(|(first, ..)| sent.id.is_some() && first.id == sent.id)
        {
            let done = Outcome::Done { events: events.clone(), version: *version, replayed: true };
            return if first == sent { done } else { Outcome::Reused };
        }
        let version = self.version();
        if sent.command != Command::ClaimTimeout && !self.look(clock).is_empty() && self.now().result.is_none() {
            return Outcome::Stale { expected: sent.expected_version.unwrap_or(version), current: self.version() };
        }
        let current = self.version();
        if let Some(expected) = sent.expected_version.filter(|&expected| expected != current) {
            return Outcome::Stale { expected, current };
        }
        let now = clock.max(self.now().time);
        match self.carry_out(sent.command.clone(), now) {
            Err(rejection) => Outcome::Refused(rejection),
            Ok(events) => {
                self.answered.push((sent.clone(), events.clone(), self.version()));
                Outcome::Done { events, version: self.version(), replayed: false }
            }
        }
    }

    fn carry_out(&mut self, command: Command, now: Micros) -> Result<Vec<Event>, Rejection> {
        let copy = self.now().clone();
        let to_act = copy.position.to_act();
        let over = copy.result.map(|result| Rejection::SessionOver { cause: result.cause.name() });
        match command {
            Command::Play { seat, mv } => {
                over.map_or(Ok(()), Err)?;
                match seat {
                    Some(seat) if seat != to_act => Err(Rejection::NotYourTurn { seat, to_act }),
                    _ => self.play(mv, now).map_err(Rejection::Illegal),
                }
            }
            Command::Resign { seat, whole_match } => {
                over.map_or(Ok(()), Err)?;
                let seat = seat.unwrap_or(to_act);
                let result = lost(&copy.position, seat, Cause::Resignation);
                self.write(now, |_, _| {});
                let mut events = vec![Event::Resigned { seat, whole_match }];
                if whole_match {
                    events.push(self.count_round(result, now));
                    let counted = self.counted(&copy.position, Cause::Resignation);
                    let whole = MatchResult { winner: Some(seat.other()), ..counted };
                    events.push(self.end_match(if self.rounds == 1 { result } else { whole }, now));
                } else {
                    events.extend(self.end_round(&copy.position, result, now));
                }
                Ok(events)
            }
            Command::Seat(_) => panic!("nobody changes seats here"),
            Command::ClaimTimeout => {
                over.map_or(Ok(()), Err)?;
                let deadline = self.deadline();
                let events = self.look(now);
                if events.is_empty() { Err(Rejection::TimeNotOut { to_act, deadline }) } else { Ok(events) }
            }
            Command::Propose { seat, kind, to_version } => {
                if kind != ProposalKind::Rematch {
                    over.map_or(Ok(()), Err)?;
                }
                self.propose(seat.unwrap_or(to_act), kind, to_version, now)
            }
            Command::Answer { seat, kind, accept } => {
                let proposal = find(&copy, kind)?;
                let seat = seat.unwrap_or(proposal.by.other());
                if seat == proposal.by {
                    return Err(Rejection::ProposalOfOther { kind, by: seat });
                }
                self.write(now, |copy, _| copy.open.retain(|open| open.kind != kind));
                let mut events = vec![Event::Answered { seat, kind, accept }];
                if accept {
                    events.extend(self.agree(proposal, now));
                }
                Ok(events)
            }
            Command::Withdraw { seat, kind } => {
                let proposal = find(&copy, kind)?;
                let seat = seat.unwrap_or(proposal.by);
                if seat != proposal.by {
                    return Err(Rejection::ProposalOfOther { kind, by: proposal.by });
                }
                self.write(now, |copy, _| copy.open.retain(|open| open.kind != kind));
                Ok(vec![Event::Withdrawn { seat, kind }])
            }
        }
    }

    fn play(&mut self, mv: Move, now: Micros) -> Result<Vec<Event>, IllegalMove> {
        let before = self.now().clone();
        let legal = self.rules.check(&before.position, mv)?;
        let (after, ply) = legal.play(&mut ());
        let seat = before.position.to_act();
        let mut played = before.played.clone();
        played.push(Played { version: self.version() + 1, mv: legal.mv(), captured: ply.captured, position: after });
        let position = pages::guarded(&self.rules, self.guards, &before.start, &played, after);
        played.last_mut().expect("this one").position = position;
        self.write(now, |copy, _| {
            copy.position = position;
            copy.played = played;
            stop_clock(copy, seat, true, now);
            copy.has_moved[seat as usize] = true;
            move_on(copy);
        });
        let (captured, endless, position_text) = (ply.captured, ply.endless, position.to_string());
        let mut events = vec![Event::MovePlayed { seat, mv: legal.mv(), position: position_text, captured, endless }];
        if let Some(outcome) = position.outcome() {
            events.extend(self.end_round(&position, MatchResult::played(&outcome), now));
        }
        Ok(events)
    }

    fn propose(&mut self, seat: Seat, kind: ProposalKind, to_version: Option<u32>, now: Micros) -> Result<Vec<Event>, Rejection> {
        let copy = self.now().clone();
        if let Ok(open) = find(&copy, kind) {
            return Err(Rejection::ProposalOpen { kind, by: open.by });
        }
        if copy.proposed.contains(&(seat, kind)) {
            return Err(Rejection::ProposalTooSoon { kind, seat });
        }
        let earlier = |version: u32| {
            let last = copy.played.last().is_none_or(|last| last.version == version);
            let stands = version == copy.round_version || copy.played.iter().any(|played| played.version == version);
            stands && !last
        };
        let possible = match kind {
            ProposalKind::Takeback => to_version.is_some_and(earlier),
            ProposalKind::Draw | ProposalKind::Abort => to_version.is_none(),
            ProposalKind::EndMatch => to_version.is_none() && self.rounds > 1,
            ProposalKind::Rematch => to_version.is_none() && copy.result.is_some() && copy.next_session_id.is_none(),
        };
        if !possible {
            // Why is text for people: the judge does not compare it.
            return Err(Rejection::ProposalImpossible { kind, why: "" });
        }
        self.write(now, |copy, version| {
            copy.open.push(Proposal { kind, by: seat, version, to_version });
            copy.proposed.push((seat, kind));
        });
        Ok(vec![Event::Proposed { seat, kind, to_version }])
    }

    fn agree(&mut self, proposal: Proposal, now: Micros) -> Vec<Event> {
        let copy = self.now().clone();
        match proposal.kind {
            ProposalKind::Draw => self.end_round(&copy.position, drawn(&copy.position, Cause::Agreement), now),
            ProposalKind::Takeback => {
                let to_version = proposal.to_version.expect("checked when it was proposed");
                let then = self.copies[to_version as usize - 1].clone();
                let acting = copy.position.to_act();
                self.write(now, |copy, _| {
                    copy.position = then.position;
                    copy.played = then.played;
                    stop_clock(copy, acting, false, now);
                    move_on(copy);
                });
                vec![Event::TakenBack { to_version, position: then.position.to_string() }]
            }
            ProposalKind::Abort => {
                let counted = self.counted(&copy.start, Cause::Abort);
                let result = if self.rounds == 1 { drawn(&copy.position, Cause::Abort) } else { counted };
                vec![self.end_match(MatchResult { winner: None, ..result }, now)]
            }
            ProposalKind::EndMatch => vec![self.end_match(self.counted(&copy.start, Cause::Agreement), now)],
            ProposalKind::Rematch => {
                let session_id = self.rematch_id.clone();
                self.write(now, |copy, _| copy.next_session_id = Some(session_id.clone()));
                vec![Event::RematchMade { session_id }]
            }
        }
    }

    fn count_round(&mut self, result: MatchResult, now: Micros) -> Event {
        let worth = pages::points(&self.rules, &result);
        let round = self.now().round;
        self.write(now, |copy, _| {
            copy.round_results.push(result);
            if let Some(winner) = result.winner {
                copy.points[winner as usize] += worth;
            }
        });
        Event::RoundEnded { round, result }
    }

    /// The end of a round, and what follows.
    fn end_round(&mut self, end: &Position, result: MatchResult, now: Micros) -> Vec<Event> {
        let ended = self.count_round(result, now);
        let round = self.now().round;
        if round == self.rounds {
            let counted = self.counted(end, Cause::RoundsPlayed);
            return vec![ended, self.end_match(if self.rounds == 1 { result } else { counted }, now)];
        }
        let starter = if round.is_multiple_of(2) { self.first } else { self.first.other() };
        match pages::next_start(&self.rules, round + 1, starter, end, result.winner) {
            Err(poor) => {
                let counted = self.counted(end, Cause::CannotFill);
                vec![ended, self.end_match(MatchResult { winner: Some(poor.other()), ..counted }, now)]
            }
            Ok(start) => {
                self.write(now, |copy, version| {
                    copy.round += 1;
                    copy.round_version = version;
                    copy.start = start;
                    copy.position = start;
                    copy.played.clear();
                    copy.thoughts = Default::default();
                    copy.due_since = now;
                    move_on(copy);
                });
                vec![ended, Event::RoundStarted { round: round + 1, position: start.to_string() }]
            }
        }
    }

    fn end_match(&mut self, result: MatchResult, now: Micros) -> Event {
        self.write(now, |copy, _| {
            copy.result = Some(result);
            move_on(copy);
        });
        Event::Ended { result }
    }

    /// A match is won by more points, in Ali Guli Mane by the larger holding.
    fn counted(&self, position: &Position, cause: Cause) -> MatchResult {
        let [south, north] = if self.rules.game() == Game::AliGuliMane { pages::holdings(position) } else { self.now().points };
        let winner = (south != north).then_some(if south > north { Seat::South } else { Seat::North });
        MatchResult { winner, cause, south, north, without_glory: false }
    }
}

fn find(copy: &Copy, kind: ProposalKind) -> Result<Proposal, Rejection> {
    copy.open.iter().find(|open| open.kind == kind).copied().ok_or(Rejection::ProposalNotFound { kind })
}

/// What is proposed is void once the game moves on, and may be proposed again.
fn move_on(copy: &mut Copy) {
    copy.open.clear();
    copy.proposed.clear();
}

fn stop_clock(copy: &mut Copy, seat: Seat, moved: bool, now: Micros) {
    if copy.has_moved[seat as usize] {
        copy.thoughts[seat as usize].push(Thought { used: now - copy.due_since, moved });
    }
    copy.due_since = now;
}

fn drawn(position: &Position, cause: Cause) -> MatchResult {
    let [south, north] = Seat::BOTH.map(|seat| u32::from(position.banks()[seat]));
    MatchResult { winner: None, cause, south, north, without_glory: false }
}

fn lost(position: &Position, loser: Seat, cause: Cause) -> MatchResult {
    let winner = loser.other();
    MatchResult { winner: Some(winner), without_glory: position.refused()[winner], ..drawn(position, cause) }
}
