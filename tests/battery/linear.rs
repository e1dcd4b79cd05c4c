//! Linearizability: is there an order of all calls, in which each has its effect at one moment between its sending and its answer,
//! that explains all answers?
//!
//! The search of Wing and Gong with Lowe's memory: calls that could be next are tried one after the other, and a state that was
//! reached with the same calls done is not searched again. A call without an answer may have its effect at any time after its
//! sending, or never.

use std::collections::HashSet;

/// What the calls are made on, one after the other.
pub trait Machine: Clone {
    type Op;

    /// The machine after a call, if the call can have been answered as it was. For a call without an answer: after its effect, if it
    /// can have one.
    fn after(&self, op: &Self::Op) -> Option<Self>;

    /// Tells states apart.
    fn key(&self) -> u64;
}

/// A call and when it was made.
#[derive(Debug, Clone)]
pub struct Timed<Op> {
    pub invoked: u64,
    /// None: no answer has come.
    pub returned: Option<u64>,
    pub op: Op,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Linear,
    /// There is none. The order with the most answered calls that there is has these, by number, and can't go on.
    Not {
        longest: Vec<usize>,
    },
    /// Not found out after so many states.
    TooHard(usize),
}

/// So many states are looked at before giving up.
const MOST: usize = 400_000;

/// Looks for an order of the calls, which come in order of their sending.
pub fn check<M: Machine>(start: M, calls: &[Timed<M::Op>]) -> Verdict {
    assert!(calls.is_sorted_by_key(|call| call.invoked), "calls come in the order of their sending");
    let answered = |order: &[usize]| order.iter().filter(|&&number| calls[number].returned.is_some()).count();
    let mut seen = HashSet::new();
    let mut longest = Vec::new();
    let mut stack = vec![Node::new(start, Done::new(calls.len()), calls)];
    let mut order: Vec<usize> = Vec::new();
    while let Some(node) = stack.last_mut() {
        if node.complete {
            return Verdict::Linear;
        }
        let Some(next) = node.candidates.pop() else {
            stack.pop();
            order.pop();
            continue;
        };
        let Some(machine) = node.machine.after(&calls[next].op) else { continue };
        let done = node.done.with(next);
        if !seen.insert((done.clone(), machine.key())) {
            continue;
        }
        if seen.len() > MOST {
            return Verdict::TooHard(seen.len());
        }
        order.push(next);
        if answered(&order) > answered(&longest) {
            longest.clone_from(&order);
        }
        stack.push(Node::new(machine, done, calls));
    }
    Verdict::Not { longest }
}

/// A state of the search.
struct Node<M> {
    machine: M,
    done: Done,
    /// Calls that can be next, the likeliest last.
    candidates: Vec<usize>,
    /// All that were answered are done.
    complete: bool,
}

impl<M: Machine> Node<M> {
    fn new(machine: M, done: Done, calls: &[Timed<M::Op>]) -> Node<M> {
        let left = || calls.iter().enumerate().filter(|(number, _)| !done.has(*number));
        let first_return = left().filter_map(|(_, call)| call.returned).min();
        let Some(first_return) = first_return else {
            return Node { machine, done, candidates: Vec::new(), complete: true };
        };
        let can_be_next = left().take_while(|(_, call)| call.invoked < first_return);
        let (mut answered, pending): (Vec<_>, Vec<_>) =
            can_be_next.map(|(number, _)| number).partition(|&number| calls[number].returned.is_some());
        // Those without an answer are tried only when it doesn't go without them, and those that were answered first are tried first.
        answered.sort_by_key(|&number| std::cmp::Reverse(calls[number].returned));
        let candidates = pending.into_iter().chain(answered).collect();
        Node { machine, done, candidates, complete: false }
    }
}

/// Which calls are done.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Done(Box<[u64]>);

impl Done {
    fn new(calls: usize) -> Done {
        Done(vec![0; calls.div_ceil(64)].into())
    }

    fn has(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 == 1
    }

    fn with(&self, number: usize) -> Done {
        let mut done = self.clone();
        done.0[number / 64] |= 1 << (number % 64);
        done
    }
}
