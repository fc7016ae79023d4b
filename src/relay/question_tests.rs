use super::*;

fn questions() -> Questions {
    Questions::new([7; 32])
}

fn asked(since: Instant) -> Asked {
    Asked {
        method: "tools/call".into(),
        tool: Some("go".into()),
        modern: false,
        page: None,
        declared: super::super::capabilities::Capabilities::default(),
        token: None,
        bytes: 2,
        arguments: (String::new(), None),
        consent: None,
        since,
        limit: None,
    }
}

fn id(n: usize) -> Id {
    Id::Integer(n.to_string())
}

#[test]
fn a_call_waits_for_one_answer() {
    let (now, limit) = (Instant::now(), Duration::from_secs(5));
    let mut all = questions();
    let first = all.hold(&id(1), b"{}", asked(now), limit).unwrap();
    let second = all.hold(&id(2), b"{}", asked(now), limit).unwrap();
    assert_ne!(first, second);
    assert!(Questions::is_ours(&first) && !Questions::is_ours(&id(1)));
    assert!(all.holds(&id(1)) && all.len() == 2);
    let (call, held) = all.answered(&first).unwrap();
    assert_eq!((call, &held.line[..]), (id(1), &b"{}"[..]));
    assert!(all.answered(&first).is_none() && !all.holds(&id(1)));
    assert_eq!(all.deadline(), Some(now + limit));
    assert!(all.expire(now).is_none());
    assert_eq!(all.expire(now + limit).unwrap().0, id(2));
    assert!(all.answered(&second).is_none() && all.deadline().is_none());
}

#[test]
fn what_waits_is_bounded() {
    let (now, limit) = (Instant::now(), Duration::from_secs(5));
    let mut all = questions();
    for n in 0..MOST {
        assert!(all.hold(&id(n), b"{}", asked(now), limit).is_some());
    }
    assert!(all.hold(&id(MOST), b"{}", asked(now), limit).is_none());
    let order: Vec<Id> = all.take().into_iter().map(|(id, _)| id).collect();
    assert_eq!(order, (0..MOST).map(id).collect::<Vec<_>>());
    let large = vec![b' '; MOST_BYTES];
    assert!(all.hold(&id(0), &large, asked(now), limit).is_some());
    assert!(all.hold(&id(1), b"{}", asked(now), limit).is_none());
    assert!(all.release(&id(0)).is_some());
    assert!(all.hold(&id(1), b"{}", asked(now), limit).is_some());
}

#[test]
fn a_state_is_good_once_for_the_same_call_for_a_time() {
    let now = Instant::now();
    let due = Some(now + Duration::from_secs(5));
    let mut all = questions();
    let call = ("go", "a");
    let brought = [None, Some("\"theirs\"")];
    let state = all.state(call, brought, due);
    assert!(is_ours(&state));
    assert!(all.redeem("supervisor-0", call, now).is_none());
    assert_eq!(
        all.redeem(&state, call, now),
        Some([None, Some("\"theirs\"".to_owned())])
    );
    assert!(all.redeem(&state, call, now).is_none(), "used");
    for (other, late) in [
        (("stay", "a"), now),
        (("go", "b"), now),
        (call, now + Duration::from_secs(5)),
    ] {
        let state = all.state(call, [None, None], due);
        assert!(all.redeem(&state, other, late).is_none());
        assert!(all.redeem(&state, call, now).is_none(), "used up");
    }
    let first = all.state(call, [None, None], due);
    for _ in 0..MOST {
        all.state(call, [None, None], due);
    }
    assert!(all.redeem(&first, call, now).is_none(), "forgotten");
}

#[test]
fn a_call_goes_on_once_with_the_state_of_the_server() {
    let (mut all, now) = (questions(), Instant::now());
    let due = Some(now + Duration::from_secs(9));
    all.goes_on(("go", "a"), Some("\"s\""), due);
    assert!(!all.continues(("go", "b"), Some("\"s\""), now));
    assert!(!all.continues(("go", "a"), Some("\"t\""), now));
    assert!(!all.continues(("go", "a"), None, now));
    assert!(all.continues(("go", "a"), Some("\"s\""), now));
    assert!(!all.continues(("go", "a"), Some("\"s\""), now));
    all.goes_on(("go", "a"), None, due);
    assert!(all.continues(("go", "a"), None, now));
    all.goes_on(("go", "a"), None, due);
    assert!(!all.continues(("go", "a"), None, now + Duration::from_secs(9)));
}

#[test]
fn other_runs_give_out_other_words() {
    let mut other = Questions::new([8; 32]);
    assert_ne!(questions().word(), other.word());
}
