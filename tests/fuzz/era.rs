//! No server hears the first words of both eras, unless it said that it does not know the first.
//!
//! Each byte is a step: what the host asks, how the server answers, what becomes of it.

use std::time::Duration;

use tokio::time::Instant;

use super::super::era::{DISCOVER, Discover, Era, INITIALIZE, Road, Session};
use super::driver::signature;

const KNOWN: [Option<Discover>; 5] = [
    None,
    Some(Discover::Answers),
    Some(Discover::Refuses),
    Some(Discover::Silent),
    Some(Discover::Exits),
];

/// What the process that sits there heard.
#[derive(Default)]
struct Heard {
    era: Option<Era>,
    declined: bool,
    stands: bool,
}

pub fn target(input: &[u8]) -> u64 {
    let mut now = Instant::now();
    let known = KNOWN[usize::from(input.first().copied().unwrap_or_default()) % KNOWN.len()];
    let mut session = Session::new(known, now);
    let (mut heard, mut ways, mut learnt) = (Heard::default(), Vec::new(), known);
    for step in input.iter().skip(1) {
        let (kind, more) = (step % 8, step / 8);
        match kind {
            0..=4 => {
                let method =
                    [INITIALIZE, DISCOVER, "tools/list", "tools/call", "ping"][usize::from(kind)];
                ways.push(ask(
                    &mut session,
                    &mut heard,
                    learnt,
                    (method, more % 2 == 1),
                    now,
                ));
            }
            5 => {
                let method = [INITIALIZE, DISCOVER, "tools/list"][usize::from(more % 3)];
                let error =
                    [None, Some(-32_601), Some(-32_022), Some(-32_603)][usize::from(more % 4)];
                let took = session.era();
                learnt = session.answered(method, error, now).or(learnt);
                heard.declined |= took.is_some() && session.declined();
                ways.push(u8::from(session.declined()));
            }
            6 => {
                session.initialized();
                heard.stands |= session.era() == Some(Era::Legacy);
            }
            _ => {
                let (turns, news) = session.ended(more % 2 == 1);
                learnt = news.or(learnt);
                ways.push(u8::from(turns));
                session.forget();
                session.started(now);
                heard = Heard::default();
            }
        }
        now += Duration::from_millis(u64::from(more) * 100);
    }
    signature(&ways)
}

fn ask(
    session: &mut Session,
    heard: &mut Heard,
    known: Option<Discover>,
    (method, modern): (&str, bool),
    now: Instant,
) -> u8 {
    let era = match method {
        INITIALIZE => Some(Era::Legacy),
        DISCOVER => Some(Era::Modern),
        _ if modern => Some(Era::Modern),
        _ => None,
    };
    match session.request(method, modern, now) {
        Road::NotFound => {
            assert_eq!(method, DISCOVER);
            assert!(
                matches!(known, Some(Discover::Silent | Discover::Exits)),
                "{known:?}"
            );
            1
        }
        Road::NewServer => {
            assert!(heard.era.is_some(), "a server that heard nothing is kept");
            *heard = Heard {
                era: era.or(Some(Era::Legacy)),
                ..Heard::default()
            };
            session.started(now);
            2
        }
        Road::Server => {
            let clash = heard
                .era
                .zip(era)
                .is_some_and(|(before, era)| before != era);
            assert!(!clash || heard.declined || heard.stands);
            if !heard.stands {
                heard.era = era
                    .or(heard.era.filter(|_| !heard.declined))
                    .or(Some(Era::Legacy));
                heard.declined = false;
            }
            3
        }
    }
}
