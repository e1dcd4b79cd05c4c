//! Clocks and proposals.

use super::seat_out;
use super::session::timestamp;
use crate::session::{ClockSetting, ClockView, Micros, Proposal, ProposalKind};
use crate::wire::proto::{self, clock_setting::Kind};
use prost_types::Duration;

const MICROS: Micros = 1_000_000;
const DAY: Micros = 86_400 * MICROS;

fn duration_out(time: Micros) -> Duration {
    Duration { seconds: time.div_euclid(MICROS), nanos: (time.rem_euclid(MICROS) * 1_000) as i32 }
}

/// A duration in microseconds; one that is not given is zero, and one that is too long for us stays too long.
fn duration_in(duration: Option<Duration>) -> Result<Micros, &'static str> {
    let Duration { seconds, nanos } = duration.unwrap_or_default();
    let agree = seconds == 0 || nanos == 0 || (seconds < 0) == (nanos < 0);
    if !agree || nanos.unsigned_abs() > 999_999_999 {
        return Err("a duration has at most 999,999,999 nanos, of the sign of its seconds");
    }
    Ok(seconds.saturating_mul(MICROS).saturating_add(Micros::from(nanos) / 1_000))
}

/// How time is limited; `Ok(None)`: not at all.
pub fn clock_in(setting: Option<proto::ClockSetting>) -> Result<Option<ClockSetting>, String> {
    let Some(proto::ClockSetting { kind }) = setting else { return Ok(None) };
    let setting = match kind.ok_or("one of per_move, days_per_move, total and byo_yomi")? {
        Kind::PerMove(limit) => ClockSetting::PerMove { limit: duration_in(Some(limit))? },
        Kind::DaysPerMove(days) => ClockSetting::PerMove { limit: DAY.saturating_mul(Micros::from(days)) },
        Kind::Total(proto::TotalTime { main, increment }) => {
            ClockSetting::Total { main: duration_in(main)?, increment: duration_in(increment)? }
        }
        Kind::ByoYomi(proto::ByoYomi { main, period, periods }) => {
            ClockSetting::ByoYomi { main: duration_in(main)?, period: duration_in(period)?, periods }
        }
    };
    setting.check().map_err(|fault| fault.to_string())?;
    Ok(Some(setting))
}

fn setting_out(setting: ClockSetting) -> proto::ClockSetting {
    let kind = match setting {
        ClockSetting::PerMove { limit } if limit % DAY == 0 => Kind::DaysPerMove((limit / DAY) as u32),
        ClockSetting::PerMove { limit } => Kind::PerMove(duration_out(limit)),
        ClockSetting::Total { main, increment } => {
            Kind::Total(proto::TotalTime { main: Some(duration_out(main)), increment: Some(duration_out(increment)) })
        }
        ClockSetting::ByoYomi { main, period, periods } => {
            Kind::ByoYomi(proto::ByoYomi { main: Some(duration_out(main)), period: Some(duration_out(period)), periods })
        }
    };
    proto::ClockSetting { kind: Some(kind) }
}

/// The clocks.
pub fn clock_out(clock: &ClockView) -> proto::Clock {
    let ClockView { setting, south, north, deadline } = *clock;
    proto::Clock {
        setting: Some(setting_out(setting)),
        south_remaining: Some(duration_out(south.main)),
        north_remaining: Some(duration_out(north.main)),
        south_periods: south.periods,
        north_periods: north.periods,
        deadline: deadline.map(timestamp),
    }
}

/// What can be agreed on, outwards.
pub fn kind_out(kind: ProposalKind) -> i32 {
    match kind {
        ProposalKind::Draw => proto::ProposalKind::Draw.into(),
        ProposalKind::Takeback => proto::ProposalKind::Takeback.into(),
        ProposalKind::Abort => proto::ProposalKind::Abort.into(),
        ProposalKind::EndMatch => proto::ProposalKind::EndMatch.into(),
        ProposalKind::Rematch => proto::ProposalKind::Rematch.into(),
    }
}

/// What can be agreed on, inwards.
pub fn kind_in(kind: i32) -> Result<ProposalKind, &'static str> {
    match proto::ProposalKind::try_from(kind) {
        Ok(proto::ProposalKind::Draw) => Ok(ProposalKind::Draw),
        Ok(proto::ProposalKind::Takeback) => Ok(ProposalKind::Takeback),
        Ok(proto::ProposalKind::Abort) => Ok(ProposalKind::Abort),
        Ok(proto::ProposalKind::EndMatch) => Ok(ProposalKind::EndMatch),
        Ok(proto::ProposalKind::Rematch) => Ok(ProposalKind::Rematch),
        Ok(proto::ProposalKind::Unspecified) | Err(_) => {
            Err("what is proposed: PROPOSAL_KIND_DRAW, _TAKEBACK, _ABORT, _END_MATCH or _REMATCH")
        }
    }
}

/// A proposal.
pub fn proposal_out(proposal: &Proposal) -> proto::Proposal {
    let Proposal { kind, by, version, to_version } = *proposal;
    proto::Proposal { kind: kind_out(kind), by: seat_out(by), version, to_version }
}
