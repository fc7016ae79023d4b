use super::*;

fn cursor(word: &str) -> Cursor {
    Cursor::of(&format!("\"{word}\"")).unwrap()
}

fn page(names: &[&str], next: Option<&str>) -> Page {
    Page {
        offered: names.iter().map(|name| (*name).to_owned()).collect(),
        withheld: Vec::new(),
        next: next.map(cursor),
    }
}

#[test]
fn a_list_is_whole_after_its_pages_in_their_order() {
    let mut list = Listed::default();
    assert_eq!(list.named("a"), Named::Unseen);
    list.page(None, &page(&["a"], Some("1"))).unwrap();
    assert_eq!(
        (list.named("a"), list.named("b")),
        (Named::Offered, Named::Unseen)
    );
    // Out of order, and again.
    list.page(Some(&cursor("9")), &page(&["z"], None)).unwrap();
    assert!(!list.is_whole());
    for _ in 0..2 {
        list.page(Some(&cursor("1")), &page(&["b"], Some("2")))
            .unwrap();
    }
    list.page(Some(&cursor("2")), &page(&["c"], None)).unwrap();
    assert_eq!(
        (list.named("c"), list.named("d")),
        (Named::Offered, Named::Nothing)
    );
    list.renew();
    assert_eq!((list.named("a"), list.epoch), (Named::Unseen, 1));
}

#[test]
fn what_leads_back_has_no_end() {
    let mut list = Listed::default();
    list.page(None, &page(&["a"], Some("1"))).unwrap();
    list.page(Some(&cursor("1")), &page(&["b"], Some("2")))
        .unwrap();
    // Two hosts' walks side by side, and a page asked for twice, are no circle.
    list.page(None, &page(&["a"], Some("1"))).unwrap();
    list.page(Some(&cursor("2")), &page(&["c"], Some("3")))
        .unwrap();
    list.page(Some(&cursor("1")), &page(&["b"], Some("2")))
        .unwrap();
    list.page(Some(&cursor("2")), &page(&["c"], Some("3")))
        .unwrap();
    let back = list.page(Some(&cursor("3")), &page(&["d"], Some("1")));
    assert_eq!(back, Err(Endless));
    assert!(!list.is_whole() && list.named("d") == Named::Offered);
}

#[test]
fn a_cursor_is_known_however_it_is_spelt() {
    let of = |json: &str| Cursor::of(json).unwrap();
    assert_eq!(of(r#""\u0061\/\u00e9""#), of(r#""a/\u00E9""#));
    assert_eq!(of(r#""\u0061/é""#), of(r#""a/é""#));
    assert_ne!(of("\"7\""), of("7"));
    assert_ne!(of("\"a\""), of("\"b\""));
    assert_eq!((Cursor::of("null"), Cursor::of("\"\"")), (None, None));
    // A host's spelling is no way around the end of a list.
    let mut list = Listed::default();
    list.page(None, &page(&["a"], Some("a"))).unwrap();
    let back = list.page(Some(&of(r#""\u0061""#)), &page(&["a"], Some("a")));
    assert_eq!(back, Err(Endless));
    let mut list = Listed::default();
    list.page(None, &page(&[], Some("/0"))).unwrap();
    let step = |list: &mut Listed, at: usize| {
        let asked = of(&format!(r#""\/{at}""#));
        list.page(Some(&asked), &page(&[], Some(&format!("/{}", at + 1))))
    };
    let ended = (0..2 * PAGES).find(|at| step(&mut list, *at) == Err(Endless));
    assert_eq!(ended, Some(PAGES - 1));
}

fn withheld(kind: Kind, item: Value) -> Page {
    let item = Item::listed(kind, item).unwrap();
    Page {
        withheld: vec![(Change::Changed, Some(Box::new(item)))],
        ..Page::default()
    }
}

#[test]
fn a_change_of_a_known_name_counts_when_no_more_are_remembered() {
    let mut list = Listed::default();
    let names: Vec<String> = (0..NAMES).map(|at| at.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    list.page(None, &page(&names, Some("1"))).unwrap();
    assert_eq!(list.named("7"), Named::Offered);
    assert!(!list.differs());
    let changed = withheld(Kind::Tool, serde_json::json!({"name": "7", "x": 1}));
    list.page(Some(&cursor("1")), &changed).unwrap();
    assert_eq!(list.named("7"), Named::Withheld(Change::Changed));
    // Of one that is not remembered it is not known what stands under it, but that something does.
    let mut list = Listed::default();
    list.page(None, &page(&names, Some("1"))).unwrap();
    let new = withheld(Kind::Tool, serde_json::json!({"name": "new"}));
    list.page(Some(&cursor("1")), &new).unwrap();
    assert_eq!((list.named("new"), list.differs()), (Named::Unseen, true));
    assert_eq!(list.names.len(), NAMES);
}

#[test]
fn a_name_beyond_the_limit_is_known_too() {
    let long = "x".repeat(LONGEST + 1);
    let mut list = Listed::default();
    let mut all = withheld(Kind::Resource, serde_json::json!({"uri": long}));
    all.offered = vec![format!("{long}y")];
    list.page(None, &all).unwrap();
    assert_eq!(list.named(&long), Named::Withheld(Change::Changed));
    assert_eq!(list.named(&format!("{long}y")), Named::Offered);
    assert_eq!(list.named(&format!("{long}z")), Named::Nothing);
    assert!(list.differs());
    let held: usize = list.names.keys().map(|key| format!("{key:?}").len()).sum();
    assert!(held < LONGEST, "{held}");
}

#[test]
fn too_many_pages_are_none() {
    let mut list = Listed::default();
    list.page(None, &page(&[], Some("0"))).unwrap();
    let step = |list: &mut Listed, at: usize| {
        let next = (at + 1).to_string();
        list.page(Some(&cursor(&at.to_string())), &page(&[], Some(&next)))
    };
    let ended = (0..2 * PAGES).find(|at| step(&mut list, *at) == Err(Endless));
    assert_eq!(ended, Some(PAGES - 1));
}
