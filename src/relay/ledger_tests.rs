use super::*;

fn number(n: u64) -> Id {
    Id::Integer(n.to_string())
}

fn asked(since: Instant) -> Asked {
    Asked {
        method: "m".into(),
        tool: None,
        modern: false,
        page: None,
        declared: Capabilities::default(),
        token: None,
        bytes: 0,
        arguments: (String::new(), None),
        consent: None,
        since,
        limit: None,
    }
}

fn enter(ledger: &mut Ledger, id: Id) -> Result<(), Full> {
    ledger.enter(id, asked(Instant::now()))
}

fn was_asked(answer: &Answer) -> bool {
    matches!(answer, Answer::Asked(_))
}

#[test]
fn each_request_is_answered_once() {
    let mut ledger = Ledger::new(9);
    assert_eq!(enter(&mut ledger, number(1)), Ok(()));
    assert_eq!(enter(&mut ledger, Id::Text("1".into())), Ok(()));
    assert_eq!(enter(&mut ledger, number(1)), Err(Full::Taken));
    assert!(was_asked(&ledger.settle(&number(1))));
    assert_eq!(ledger.settle(&number(1)), Answer::Again);
    assert_eq!(ledger.settle(&number(2)), Answer::Unasked);
    assert_eq!(ledger.only(), Some(Id::Text("1".into())));
    assert_eq!(
        enter(&mut ledger, number(1)),
        Ok(()),
        "an id may be used anew"
    );
    assert_eq!(ledger.only(), None);
}

#[test]
fn a_cancelled_request_waits_no_longer_and_may_be_answered() {
    let mut ledger = Ledger::new(1);
    for n in 0..200 {
        assert_eq!(enter(&mut ledger, number(n)), Ok(()));
        assert!(ledger.cancel(&number(n)).is_some());
    }
    assert!(matches!(ledger.settle(&number(199)), Answer::Late(_)));
    assert_eq!(ledger.settle(&number(199)), Answer::Unasked);
    assert_eq!(ledger.settle(&number(1)), Answer::Unasked, "forgotten");
    assert!(ledger.cancel(&number(7)).is_none());
    assert!(ledger.take().is_empty());
}

#[test]
fn it_is_bounded_and_keeps_the_order() {
    let mut ledger = Ledger::new(3);
    for n in [30, 4, 100] {
        let mut one = asked(Instant::now());
        (one.method, one.tool) = ("m".repeat(500), Some("t".repeat(500)));
        assert_eq!(ledger.enter(number(n), one), Ok(()));
    }
    assert_eq!(enter(&mut ledger, number(5)), Err(Full::TooMany));
    let all = ledger.take();
    let ids: Vec<String> = all.iter().map(|(id, _)| id.json()).collect();
    assert_eq!(ids, ["30", "4", "100"]);
    assert!(all.iter().all(|(_, open)| open.method.len() == MAX_WORD));
    assert_eq!(ledger.entered(), 3);
    assert_eq!(
        ledger.settle(&number(4)),
        Answer::Again,
        "it was answered by the relay"
    );
}

#[test]
fn a_wait_ends_and_progress_makes_it_longer() {
    let (start, second) = (Instant::now(), Duration::from_secs(1));
    let mut ledger = Ledger::new(9);
    for n in [1, 2] {
        let mut one = asked(start);
        (one.limit, one.token) = (Some(second * 5), Some(number(70 + n)));
        assert_eq!(ledger.enter(number(n), one), Ok(()));
    }
    assert_eq!(ledger.deadline(), Some(start + second * 5));
    ledger.progress(&number(71), start + second * 3);
    ledger.progress(&number(99), start + second * 3);
    assert_eq!(ledger.expire(start + second * 4), None);
    let (id, _) = ledger.expire(start + second * 5).unwrap();
    assert_eq!(id, number(2));
    assert_eq!(ledger.settle(&number(2)), Answer::Again);
    assert_eq!(ledger.deadline(), Some(start + second * 8));
    assert!(was_asked(&ledger.settle(&number(1))));
    assert_eq!(ledger.deadline(), None);
}

#[test]
fn a_limit_beyond_all_time_is_none() {
    let mut ledger = Ledger::new(9);
    let mut one = asked(Instant::now());
    one.limit = Some(Duration::from_secs(u64::MAX));
    assert_eq!(ledger.enter(number(1), one), Ok(()));
    assert_eq!(ledger.deadline(), None);
}

#[test]
fn the_ids_of_one_that_is_gone_are_not_free_before_they_are_answered() {
    let mut ledger = Ledger::new(9);
    enter(&mut ledger, number(1)).unwrap();
    ledger.abandon();
    assert_eq!(enter(&mut ledger, number(1)), Err(Full::Taken));
    assert_eq!(ledger.settle(&number(1)), Answer::Abandoned);
    assert_eq!(enter(&mut ledger, number(1)), Ok(()));
}
