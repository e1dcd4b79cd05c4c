//! What spectators see: by policy, in lists, and how late.

use super::running::{Client, Running, gore, play, refused, start, with_token};
use mancala::wire::proto::{self, Seat, SpectatorPolicy};
use std::collections::BTreeSet;

async fn get(client: &mut Client, session_id: &str, version: Option<u32>) -> Result<proto::Session, tonic::Status> {
    let request = proto::GetSessionRequest { session_id: session_id.to_owned(), version };
    Ok(client.get_session(request).await?.into_inner().session.expect("a session"))
}

async fn events(client: &mut Client, session_id: &str, after_version: u32) -> Result<proto::ListEventsResponse, tonic::Status> {
    let request = proto::ListEventsRequest { session_id: session_id.to_owned(), after_version, ..Default::default() };
    Ok(client.list_events(request).await?.into_inner())
}

async fn list(client: &mut Client, request: proto::ListSessionsRequest) -> Vec<proto::Session> {
    client.list_sessions(request).await.expect("a list").into_inner().sessions
}

async fn played(server: &Running, policy: SpectatorPolicy, delay: u32, moves: &[&str]) -> String {
    let made = server.make(gore([with_token(Seat::South), with_token(Seat::North)], policy, delay)).await;
    for text in moves {
        server.operator().apply_move(play(&made.id, text)).await.expect("a move");
    }
    made.id
}

#[tokio::test]
async fn spectators_see_the_session_as_it_was_some_plies_ago() {
    let server = start(true).await;
    let id = played(&server, SpectatorPolicy::Public, 2, &["0", "4", "1"]).await;
    let (mut operator, mut spectator) = (server.operator(), server.client(None));
    let then = get(&mut operator, &id, Some(2)).await.expect("a session");

    assert_eq!(get(&mut operator, &id, None).await.expect("a session").version, 4);
    assert_eq!(get(&mut spectator, &id, None).await.expect("a session"), then);
    assert_eq!(get(&mut spectator, &id, Some(1)).await.expect("a session").version, 1);
    let status = get(&mut spectator, &id, Some(3)).await.expect_err("ahead");
    assert_eq!(status.message(), "VERSION_AHEAD: the session is at version 2 and has no version 3 yet");

    let seen = events(&mut spectator, &id, 0).await.expect("events");
    assert_eq!((seen.events.len(), seen.version), (2, 2));
    let seen = events(&mut spectator, &id, 2).await.expect("no events");
    assert_eq!((seen.events.len(), seen.version), (0, 2));
    let status = events(&mut spectator, &id, 3).await.expect_err("ahead");
    assert_eq!(status.message(), "VERSION_AHEAD: the session is at version 2 and has no version 3 yet");

    let ask = proto::ListLegalMovesRequest { session_id: id.clone() };
    let moves = spectator.list_legal_moves(ask).await.expect("moves").into_inner();
    assert_eq!((moves.version, moves.to_act()), (2, Seat::North));
    let ask = proto::SampleMovesRequest { session_id: id.clone(), ..Default::default() };
    assert_eq!(spectator.sample_moves(ask).await.expect("moves").into_inner().version, 2);
    let r#move = Some(proto::Move { text: "4".to_owned(), kind: None });
    let ask = proto::CheckMoveRequest { session_id: id.clone(), r#move, ..Default::default() };
    let check = spectator.check_move(ask).await.expect("a check").into_inner();
    assert!(check.legal && check.version == 2, "{check:?}");

    assert_eq!(list(&mut spectator, proto::ListSessionsRequest::default()).await, [then]);
}

#[tokio::test]
async fn the_delay_begins_with_the_first_ply_and_ends_with_the_session() {
    let server = start(true).await;
    let mut spectator = server.client(None);
    let id = played(&server, SpectatorPolicy::Unlisted, 2, &[]).await;
    // What is no ply is seen at once as long as there are none.
    let rotate = proto::RotateSeatTokenRequest { session_id: id.clone(), seat: Seat::South.into(), ..Default::default() };
    server.operator().rotate_seat_token(rotate).await.expect("a token");
    let mut versions = vec![get(&mut spectator, &id, None).await.expect("a session").version];
    for text in ["0", "4", "1", "5"] {
        server.operator().apply_move(play(&id, text)).await.expect("a move");
        versions.push(get(&mut spectator, &id, None).await.expect("a session").version);
    }
    assert_eq!(versions, [2, 2, 2, 3, 4]);

    let resign = proto::ResignRequest { session_id: id.clone(), ..Default::default() };
    let end = server.operator().resign(resign).await.expect("the end").into_inner().version;
    let seen = get(&mut spectator, &id, None).await.expect("a session");
    assert_eq!((seen.version, seen.state()), (end, proto::SessionState::Finished));
    assert_eq!(events(&mut spectator, &id, 0).await.expect("events").events.len(), end as usize);
}

#[tokio::test]
async fn the_seats_are_not_kept_behind_but_other_sessions_seats_are() {
    let server = start(true).await;
    let made = server.make(gore([with_token(Seat::South), with_token(Seat::North)], SpectatorPolicy::Unlisted, 1)).await;
    let other = server.make(gore([with_token(Seat::South)], SpectatorPolicy::None, 0)).await;
    server.operator().apply_move(play(&made.id, "0")).await.expect("a move");
    for (token, version) in [(made.token(Seat::North), 2), (made.token(Seat::South), 2), (other.token(Seat::South), 1)] {
        let seen = get(&mut server.client(Some(&token)), &made.id, None).await.expect("a session");
        assert_eq!(seen.version, version);
    }
}

#[tokio::test]
async fn everybody_finds_public_sessions_in_lists_and_no_others() {
    let server = start(true).await;
    let mut public = BTreeSet::new();
    for policy in [SpectatorPolicy::Public, SpectatorPolicy::Unlisted, SpectatorPolicy::None, SpectatorPolicy::Public] {
        let mut request = gore([with_token(Seat::South)], policy, 0);
        request.labels.insert("table".to_owned(), "7".to_owned());
        let made = server.make(request).await;
        if policy == SpectatorPolicy::Public {
            public.insert(made.id);
        }
    }
    let player = server.make(gore([with_token(Seat::South)], SpectatorPolicy::None, 0)).await;
    let token = player.token(Seat::South);
    let ids = |sessions: &[proto::Session]| sessions.iter().map(|session| session.session_id.clone()).collect::<BTreeSet<_>>();

    for mut client in [server.client(None), server.client(Some(&token))] {
        let all = list(&mut client, proto::ListSessionsRequest::default()).await;
        assert_eq!(ids(&all), public);
        // The label by which they are found is nobody's to see or to use.
        assert!(all.iter().all(|session| session.labels.len() == 1), "{all:?}");
        let labels = [("table".to_owned(), "7".to_owned())].into();
        assert_eq!(ids(&list(&mut client, proto::ListSessionsRequest { labels, ..Default::default() }).await), public);
        let first = proto::ListSessionsRequest { page_size: 1, ..Default::default() };
        let page = client.list_sessions(first.clone()).await.expect("a page").into_inner();
        let next = proto::ListSessionsRequest { page_token: page.next_page_token.clone(), ..first.clone() };
        let rest = client.list_sessions(next.clone()).await.expect("a page").into_inner();
        assert_eq!(&ids(&page.sessions) | &ids(&rest.sessions), public);
        assert_eq!(rest.next_page_token, "");
        assert_eq!(refused(server.operator().list_sessions(next).await), "INVALID_REQUEST", "a token of another list");
    }
    let all = list(&mut server.operator(), proto::ListSessionsRequest::default()).await;
    assert_eq!(all.len(), 5);
    let labels = [(String::new(), String::new())].into();
    let forged = proto::ListSessionsRequest { labels, ..Default::default() };
    assert_eq!(refused(server.operator().list_sessions(forged).await), "INVALID_REQUEST");
}

type Watch = tonic::Streaming<proto::WatchSessionResponse>;

async fn watch(client: &mut Client, session_id: &str) -> Result<Watch, tonic::Status> {
    let request = proto::WatchSessionRequest { session_id: session_id.to_owned(), ..Default::default() };
    Ok(client.watch_session(request).await?.into_inner())
}

async fn news(watch: &mut Watch) -> Result<proto::WatchSessionResponse, tonic::Status> {
    let message = tokio::time::timeout(std::time::Duration::from_secs(30), watch.message()).await.expect("in time");
    Ok(message?.expect("a message"))
}

#[tokio::test]
async fn spectators_watch_as_late_as_they_may_see() {
    let server = start(true).await;
    let id = played(&server, SpectatorPolicy::Public, 2, &["0", "4", "1"]).await;
    let mut spectator = server.client(None);
    let mut watched = watch(&mut spectator, &id).await.expect("a watch");
    let first = news(&mut watched).await.expect("news");
    assert_eq!((first.events.len(), first.version, first.current_version), (2, 2, 2));
    for (text, version) in [("5", 3), ("2", 4)] {
        server.operator().apply_move(play(&id, text)).await.expect("a move");
        let message = news(&mut watched).await.expect("news");
        assert_eq!((message.events.len(), message.version, message.current_version), (1, version, version));
    }
    // With the end everything is told.
    let resign = proto::ResignRequest { session_id: id.clone(), ..Default::default() };
    let end = server.operator().resign(resign).await.expect("the end").into_inner().version;
    let message = news(&mut watched).await.expect("news");
    assert_eq!((message.version, message.events.len() as u32), (end, end - 4));
}

#[tokio::test]
async fn a_watch_ends_when_its_token_does() {
    let server = start(true).await;
    let made = server.make(gore([with_token(Seat::South), with_token(Seat::North)], SpectatorPolicy::None, 0)).await;
    let mut watches = Vec::new();
    for seat in [Seat::South, Seat::North] {
        let mut client = server.client(Some(&made.token(seat)));
        let mut watched = watch(&mut client, &made.id).await.expect("a watch");
        news(&mut watched).await.expect("news");
        watches.push(watched);
    }
    let rotate = proto::RotateSeatTokenRequest { session_id: made.id.clone(), seat: Seat::South.into(), ..Default::default() };
    server.operator().rotate_seat_token(rotate).await.expect("a token");
    assert_eq!(refused(news(&mut watches[0]).await), "TOKEN_INVALID");
    // The other seat sees that, and goes on until its own is revoked.
    assert_eq!(news(&mut watches[1]).await.expect("news").version, 2);
    let revoke = proto::RevokeSeatTokenRequest { session_id: made.id.clone(), seat: Seat::North.into(), ..Default::default() };
    server.operator().revoke_seat_token(revoke).await.expect("none");
    assert_eq!(refused(news(&mut watches[1]).await), "TOKEN_INVALID");
}
