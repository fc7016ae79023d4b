use super::*;

fn patterns(words: &[&str]) -> Vec<Pattern> {
    words.iter().map(|word| word.parse().unwrap()).collect()
}

fn filter(only: &[&str], include: &[&str], exclude: &[&str]) -> Filter {
    Filter {
        only: patterns(only),
        include: patterns(include),
        exclude: patterns(exclude),
    }
}

#[test]
fn what_is_offered() {
    for (only, include, exclude, offered) in [
        (&[][..], &[][..], &[][..], "get_a set_a admin/x"),
        (&["get_*"], &[], &[], "get_a"),
        (&["get_?", "admin*"], &[], &[], "get_a admin/x"),
        (&[], &["{get,set}_a"], &[], "get_a set_a"),
        (&[], &[], &["set_*"], "get_a admin/x"),
        (&[], &["get_*"], &["*"], "get_a"),
        (&["*_a"], &[], &["set_*"], "get_a"),
        (&["GET_*"], &[], &[], ""),
        (&["*"], &["get_a"], &[], "get_a"),
    ] {
        let filter = filter(only, include, exclude);
        let names = ["get_a", "set_a", "admin/x"];
        let kept: Vec<&str> = names
            .into_iter()
            .filter(|name| filter.offers(name))
            .collect();
        assert_eq!(kept.join(" "), offered, "{only:?} {include:?} {exclude:?}");
    }
    for bad in ["", "[", "{a", "a[z-a]"] {
        assert!(bad.parse::<Pattern>().is_err(), "{bad}");
    }
}

#[test]
fn a_pattern_that_matches_nothing_is_named() {
    let filter = filter(&["a*"], &[], &["b", "zz"]);
    let said = filter.idle(|pattern| pattern.matches("b"));
    let want = [
        "--only `a*` matches no tool",
        "tools.exclude `zz` matches no tool",
    ];
    assert_eq!(said, want);
}
