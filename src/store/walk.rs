//! Walks: the orders in which sessions can be read along an index, whatever database it is in.

use super::{Filter, Place, Span};

/// What a page is read along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Walk<'a> {
    /// An index of the sessions, by age within game and state.
    Sessions,
    /// The sessions that have a label of this name and value, by age.
    Label(&'a str, &'a str),
    /// The sessions of this player, by age. One who holds both seats may be met twice.
    Player(&'a str),
    /// The sessions that last changed in the minutes of the filter's time. Not by age: all of them must be read and sorted.
    Updates,
}

/// The walks that would do for a filter.
pub(super) fn walks(filter: &Filter) -> Vec<Walk<'_>> {
    let labels = filter.labels.iter().map(|(name, value)| Walk::Label(name, value));
    let players = filter.players.iter().chain(filter.seats.iter().flatten()).map(|player| Walk::Player(player));
    let updates = (filter.updated != Span::default()).then_some(Walk::Updates);
    let mut walks: Vec<_> = labels.chain(players).collect();
    // Without game or state this walks along all sessions, longer than any other.
    if filter.game.is_some() || filter.state.is_some() || walks.is_empty() {
        walks.insert(0, Walk::Sessions);
    }
    walks.extend(updates);
    walks
}

/// Where the entries begin that come after a place and can be like the filter.
pub(super) fn beginning(filter: &Filter, after: Option<Place>) -> Option<Place> {
    // What was changed before a time was also made before it.
    let before = [filter.created.before, filter.updated.before].into_iter().flatten().map(|time| (time, String::new()));
    after.into_iter().chain(before).min()
}
