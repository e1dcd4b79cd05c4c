//! Moves on end over Play streams, against the built program that is killed under them: many of a session are on their way, and the server
//! stores some of them together. What was acknowledged is there, once and in order; what was not is asked for again, and then all is there.

use crate::form::{by_form, first_seed};
use crate::program::Program;
use mancala::game::{Dice, Game, Guards, Record, Rules};
use mancala::random::SeededDice;
use mancala::wire::proto::play_request::Command;
use mancala::wire::proto::play_response::Reply;
use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::{self, PlayRequest, event::Body};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::time::{sleep, timeout};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Streaming;
use tonic::transport::Channel;

const PATIENCE: Duration = Duration::from_secs(60);
const SESSIONS: usize = 8;
/// Moves of a session that are on their way, at most.
const AHEAD: usize = 24;

/// A session: the moves that were asked for, with the positions that they lead to, and how many of them were acknowledged.
struct Line {
    session_id: String,
    record: Record,
    asked: Vec<(String, String)>,
    acknowledged: usize,
}

struct Stream {
    commands: UnboundedSender<PlayRequest>,
    replies: Streaming<proto::PlayResponse>,
}

impl Stream {
    async fn open(program: &Program) -> Stream {
        let (commands, sent) = mpsc::unbounded_channel();
        let replies = SessionServiceClient::new(program.channel().await).play(UnboundedReceiverStream::new(sent)).await;
        Stream { commands, replies: replies.expect("a stream").into_inner() }
    }

    /// Asks for a move of a line, by its number from 0. Nobody may be there any more.
    fn ask(&self, lines: &[Line], line: usize, number: usize) {
        let Line { session_id, asked, .. } = &lines[line];
        let request = proto::ApplyMoveRequest {
            session_id: session_id.clone(),
            r#move: Some(proto::Move { kind: None, text: asked[number].0.clone() }),
            expected_version: Some(number as u32 + 1),
            request_id: request_id(number),
            ..Default::default()
        };
        let command = Some(Command::ApplyMove(request));
        let _ = self.commands.send(PlayRequest { command_id: line.to_string(), command });
    }

    /// Takes an answer, which is to the first move of its line that had none; false: the stream has ended.
    async fn take(&mut self, lines: &mut [Line]) -> bool {
        let Ok(Some(message)) = timeout(PATIENCE, self.replies.message()).await.expect("an answer or an end") else {
            return false;
        };
        let line = &mut lines[message.command_id.parse::<usize>().expect("a line")];
        match message.reply {
            Some(Reply::ApplyMove(answer)) => {
                let expected = (line.acknowledged as u32 + 2, &line.asked[line.acknowledged].1);
                assert_eq!((answer.version, &answer.position), expected);
                line.acknowledged += 1;
            }
            other => panic!("a legal move in its turn was answered by {other:?}"),
        }
        true
    }
}

impl Line {
    async fn new(channel: &Channel) -> Line {
        let rules = Rules::new(Game::Gore);
        let request = proto::CreateSessionRequest { game: "gore".to_owned(), ..Default::default() };
        let made = SessionServiceClient::new(channel.clone()).create_session(request).await.expect("a session").into_inner();
        Line {
            session_id: made.session.expect("a session").session_id,
            record: Record::new(rules, Guards::of(Game::Gore), rules.start()),
            asked: Vec::new(),
            acknowledged: 0,
        }
    }

    /// Draws one more move, unless it would end the game, whose end is more than a move.
    fn draw(&mut self, dice: &mut SeededDice) -> bool {
        let Some(mv) = self.record.rules().sample(self.record.position(), dice) else { return false };
        let mut after = self.record.clone();
        after.play(mv, &mut ()).expect("a drawn move is legal");
        if after.position().is_over() {
            return false;
        }
        self.asked.push((mv.to_string(), after.position().to_string()));
        self.record = after;
        true
    }

    /// What is stored: moves of these requests, to these positions.
    async fn stored(&self, channel: &Channel) -> Vec<(String, String)> {
        let mut stored = Vec::new();
        loop {
            let after_version = stored.len() as u32 + 1;
            let request = proto::ListEventsRequest {
                session_id: self.session_id.clone(),
                after_version,
                page_size: 1_000,
                ..Default::default()
            };
            let page = SessionServiceClient::new(channel.clone()).list_events(request).await.expect("events").into_inner().events;
            if page.is_empty() {
                return stored;
            }
            stored.extend(page.into_iter().map(|event| match event.body {
                Some(Body::MovePlayed(played)) => (event.request_id, played.position),
                other => panic!("{other:?}"),
            }));
        }
    }

    fn expected(&self, moves: usize) -> Vec<(String, String)> {
        let asked = self.asked[..moves].iter().enumerate();
        asked.map(|(number, (_, position))| (request_id(number), position.clone())).collect()
    }
}

fn request_id(number: usize) -> String {
    format!("move-{number}")
}

/// Plays all lines on end until the program has gone.
async fn play(mut stream: Stream, lines: &mut [Line], dice: &mut SeededDice) {
    loop {
        for line in 0..lines.len() {
            while lines[line].asked.len() - lines[line].acknowledged < AHEAD && lines[line].draw(dice) {
                stream.ask(lines, line, lines[line].asked.len() - 1);
            }
        }
        if lines.iter().all(|line| line.acknowledged == line.asked.len()) || !stream.take(lines).await {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moves_on_end_that_are_cut_by_a_kill_are_stored_once_and_in_order() {
    let mut dice = SeededDice::new(first_seed());
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("store.db");
    let (mut kept, mut unheard, mut repeated) = (0, 0, 0);
    for _ in 0..by_form(10, 300) {
        let program = Program::serve(&path);
        let channel = program.channel().await;
        let mut lines = Vec::new();
        for _ in 0..SESSIONS {
            lines.push(Line::new(&channel).await);
        }
        let stream = Stream::open(&program).await;
        let (mut moves, life) = (SeededDice::new(dice.below(u64::MAX)), Duration::from_millis(20 + dice.below(150)));
        let killed = async {
            sleep(life).await;
            // SIGKILL.
            drop(program);
        };
        tokio::join!(play(stream, &mut lines, &mut moves), killed);

        let program = Program::serve(&path);
        let channel = program.channel().await;
        for line in &lines {
            let stored = line.stored(&channel).await;
            assert!(
                stored.len() >= line.acknowledged,
                "{}: {} of {} acknowledged",
                line.session_id,
                stored.len(),
                line.acknowledged
            );
            assert_eq!(stored, line.expected(stored.len()));
            kept += line.acknowledged;
            unheard += stored.len() - line.acknowledged;
        }
        let mut stream = Stream::open(&program).await;
        for (number, line) in lines.iter().enumerate() {
            (line.acknowledged..line.asked.len()).for_each(|asked| stream.ask(&lines, number, asked));
            repeated += line.asked.len() - line.acknowledged;
        }
        while lines.iter().any(|line| line.acknowledged < line.asked.len()) {
            assert!(stream.take(&mut lines).await, "the stream goes on");
        }
        for line in &lines {
            assert_eq!(line.stored(&channel).await, line.expected(line.asked.len()));
        }
    }
    report!("{kept} moves were acknowledged before a kill, {unheard} stored but not acknowledged, {repeated} asked for again");
    assert!(kept > 0 && repeated > 0, "no kill has cut anything");
}
