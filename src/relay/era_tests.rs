use proptest::prelude::*;

use super::*;

fn now() -> Instant {
    Instant::now()
}

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

#[test]
fn each_host_meets_each_server() {
    let start = now();
    // A legacy host, any server.
    let mut session = Session::new(None, start);
    assert_eq!(session.request(INITIALIZE, false, start), Road::Server);
    assert_eq!(session.answered(INITIALIZE, None, start), None);
    assert_eq!(session.request("tools/list", false, start), Road::Server);
    // A modern host, any server.
    let mut session = Session::new(None, start);
    assert_eq!(session.request(DISCOVER, false, start), Road::Server);
    assert_eq!(
        session.answered(DISCOVER, None, start),
        Some(Discover::Answers)
    );
    assert_eq!(session.request("tools/list", true, start), Road::Server);
    // One that tries, and a legacy server that says that it knows no such method.
    let mut session = Session::new(None, start);
    session.request(DISCOVER, true, start);
    assert_eq!(
        session.answered(DISCOVER, Some(-32_601), start),
        Some(Discover::Refuses)
    );
    assert_eq!(
        session.request(INITIALIZE, false, start),
        Road::Server,
        "it did not lock"
    );
    // One that tries, likes the answer not, and a server that has locked.
    let mut session = Session::new(None, start);
    session.request(DISCOVER, true, start);
    session.answered(DISCOVER, None, start);
    assert_eq!(session.request(INITIALIZE, false, start), Road::NewServer);
    session.started(start);
    assert_eq!(session.request("tools/list", false, start), Road::Server);
    // One whose answer is another error: who knows what it did to the server.
    let mut session = Session::new(None, start);
    session.request(DISCOVER, true, start);
    assert_eq!(session.answered(DISCOVER, Some(-32_600), start), None);
    assert_eq!(session.request(INITIALIZE, false, start), Road::NewServer);
    // The other way round: a modern server says so to `initialize`.
    let mut session = Session::new(None, start);
    session.request(INITIALIZE, false, start);
    session.answered(INITIALIZE, Some(UNSUPPORTED_VERSION), start);
    assert_eq!(session.request(DISCOVER, true, start), Road::Server);
    let mut session = Session::new(None, start);
    session.request(INITIALIZE, false, start);
    session.answered(INITIALIZE, None, start);
    assert_eq!(session.request("tools/list", true, start), Road::NewServer);
}

#[test]
fn a_legacy_session_that_stands_is_not_given_up() {
    let start = now();
    let mut session = Session::new(None, start);
    session.request(INITIALIZE, false, start);
    session.answered(INITIALIZE, None, start);
    session.initialized();
    assert_eq!(session.request(DISCOVER, true, start), Road::Server);
    assert_eq!(session.era(), Some(Era::Legacy));
}

#[test]
fn a_server_that_exits_is_known_the_next_time() {
    let start = now();
    let mut session = Session::new(None, start);
    session.request(DISCOVER, true, start);
    assert_eq!(session.ended(true), (true, Some(Discover::Exits)));
    session.forget();
    session.started(start);
    assert_eq!(session.request(DISCOVER, true, start), Road::NotFound);
    assert_eq!(session.request(INITIALIZE, false, start), Road::Server);
    let mut session = Session::new(Some(Discover::Exits), start);
    assert_eq!(session.request(DISCOVER, false, start), Road::NotFound);
    assert_eq!(
        session.request(INITIALIZE, false, start),
        Road::Server,
        "its first word"
    );
    // A later death is another matter.
    session.answered(INITIALIZE, None, start);
    assert_eq!(session.ended(false), (false, None));
}

#[test]
fn silence_is_told_from_a_slow_start() {
    for (silent_for, took, learnt) in [
        (ms(5_000), ms(400), Some(Discover::Silent)),
        (ms(5_000), ms(8_000), None),
        (ms(900), ms(100), None),
    ] {
        let start = now();
        let mut session = Session::new(None, start);
        session.request(DISCOVER, true, start);
        let turned = start + silent_for;
        assert_eq!(session.request(INITIALIZE, false, turned), Road::NewServer);
        session.started(turned);
        assert_eq!(session.answered(INITIALIZE, None, turned + took), learnt);
    }
}

proptest! {
    /// No process hears the first words of both eras, unless it said that it knows not the first.
    #[test]
    fn no_server_hears_both_eras(words in proptest::collection::vec((0usize..5, any::<bool>(), 0usize..4), 0..40)) {
        let start = now();
        let mut session = Session::new(None, start);
        let mut heard: Option<Era> = None;
        let mut declined = false;
        let mut legacy_stands = false;
        for (what, modern, answer) in words {
            let method = [INITIALIZE, DISCOVER, "tools/list", "tools/call", "ping"][what];
            let era = match method {
                INITIALIZE => Some(Era::Legacy),
                DISCOVER => Some(Era::Modern),
                _ if modern => Some(Era::Modern),
                _ => None,
            };
            match session.request(method, modern, start) {
                Road::NotFound => prop_assert!(false, "nothing costly is known"),
                Road::NewServer => {
                    prop_assert!(heard.is_some() && era.is_some() && era != heard, "{:?} {:?}", heard, era);
                    (heard, declined, legacy_stands) = (era, false, false);
                    session.started(start);
                }
                Road::Server => {
                    if let (Some(before), Some(era)) = (heard, era) {
                        prop_assert!(before == era || declined || legacy_stands);
                    }
                    if !legacy_stands {
                        let before = heard.filter(|_| !declined);
                        heard = era.or(before).or(Some(Era::Legacy));
                        declined = false;
                    }
                }
            }
            let error = [None, Some(-32_601), Some(-32_603), Some(-32_602)][answer];
            session.answered(method, error, start);
            if matches!(method, INITIALIZE | DISCOVER) && error == Some(-32_601) && session.era().is_none() {
                declined = true;
            }
            if method == INITIALIZE && error.is_none() && heard == Some(Era::Legacy) {
                session.initialized();
                legacy_stands = true;
            }
        }
    }
}
