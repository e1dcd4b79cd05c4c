//! What is not as it should be.

use super::form::by_form;
use super::frames::{PREFACE, hello};
use super::target::{BOUND, Target, attack};
use bytes::Bytes;
use futures_util::future::join_all;
use http::{HeaderMap, Request};
use mancala::game::Dice;
use mancala::random::SeededDice;
use tokio::time::timeout;

fn garbage(dice: &mut SeededDice, length: usize) -> Vec<u8> {
    (0..length).map(|_| dice.below(256) as u8).collect()
}

#[test]
fn garbage_is_closed() {
    attack("garbage", async |target| {
        let mut dice = SeededDice::new(1);
        // Side by side, since some are held for a while before they are closed.
        for _ in 0..by_form(1, 20) {
            let all: Vec<_> = (0..50)
                .flat_map(|_| {
                    let garbage = garbage(&mut dice, 4_096);
                    [[PREFACE, &garbage].concat(), [hello(), garbage.clone()].concat(), garbage]
                })
                .collect();
            join_all(all.iter().map(|said| target.say(said))).await;
        }
    });
}

/// What a call is answered whose body is this, by a peer that says no more.
async fn answer(target: &Target, headers: &[(&str, String)], body: Vec<u8>) -> HeaderMap {
    let (send, connection) = h2::client::handshake(target.connect().await.expect("a place")).await.expect("a connection");
    tokio::spawn(connection);
    let request = Request::post("http://a/mancala.v1.RulesService/GetGame").header("content-type", "application/grpc");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
    let mut send = send.ready().await.expect("a connection");
    let (answer, mut stream) = send.send_request(request.body(()).expect("a request"), false).expect("a stream");
    // It may be answered before all is said.
    let _ = stream.send_data(Bytes::from(body), true);
    let answer = timeout(BOUND, answer).await.expect("an answer in time").expect("an answer");
    let mut said = answer.headers().clone();
    said.insert("status", answer.status().as_u16().into());
    said
}

#[test]
fn messages_that_are_too_large_or_cut_off_and_too_many_headers_are_refused() {
    attack("messages and headers", async |target| {
        let announced = |length: u32, body: &[u8]| [&[0][..], &length.to_be_bytes(), body].concat();
        for _ in 0..by_form(20, 1_000) {
            let huge = answer(target, &[], announced(1 << 30, &[0; 1_000])).await;
            assert_eq!(huge["grpc-status"], "8", "{huge:?}");
            let cut = answer(target, &[], announced(100, &[0; 10])).await;
            assert!(["3", "13"].contains(&cut["grpc-status"].to_str().expect("text")), "{cut:?}");
            let headers: Vec<_> = (0..20).map(|_| ("x-long", "a".repeat(1_000))).collect();
            let many = answer(target, &headers, announced(0, &[])).await;
            assert_eq!(many["status"], "431", "{many:?}");
        }
    });
}
