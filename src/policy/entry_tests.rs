use super::*;

fn line(program: &str, arguments: &[&str]) -> CommandLine {
    CommandLine {
        programs: [program.into()].into(),
        arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
    }
}

fn pattern(words: &[&str]) -> Result<CommandPattern, EntryError> {
    CommandPattern::new(words.iter().map(|word| (*word).to_owned()).collect())
}

#[test]
fn words_match_word_for_word() {
    let npx = "/usr/bin/npx";
    for (words, program, arguments, expected) in [
        (&[npx, "-y", "a"][..], npx, &["-y", "a"][..], true),
        (&[npx, "-y", "a"], npx, &["-y", "a", "b"], false),
        (&[npx, "-y", "a"], npx, &["-y"], false),
        (&[npx, "-y", "a"], npx, &["a", "-y"], false),
        (&[npx, "-y", "a"], npx, &["-y", "A"], false),
        (&[npx, "-y", "a"], npx, &["-y a"], false),
        (&[npx, "-y", "a"], "/usr/bin/NPX", &["-y", "a"], false),
        (&[npx, "-y", "a"], "/usr/local/bin/npx", &["-y", "a"], false),
        (&[npx, "-y", "…"], npx, &["-y"], true),
        (&[npx, "-y", "…"], npx, &["-y", "a", "b"], true),
        (&[npx, "-y", "…"], npx, &[], false),
        (&[npx, "…"], npx, &[], true),
        (&[npx], npx, &[], true),
        (&[npx], npx, &[""], false),
        (&[npx, "..."], npx, &["a"], false),
        (&[npx, "*"], npx, &["a"], false),
    ] {
        let matched = pattern(words).unwrap().matches(&line(program, arguments));
        assert_eq!(matched, expected, "{words:?} {program} {arguments:?}");
        assert_eq!(pattern(words).unwrap().words(), words);
    }
}

#[test]
fn what_is_no_command() {
    for (words, why) in [
        (&[][..], EntryError::NoWords),
        (&["npx"], EntryError::NotAbsolute),
        (&["./npx"], EntryError::NotAbsolute),
        (&["…"], EntryError::NotAbsolute),
        (&["/"], EntryError::NotAbsolute),
        (&["/usr/bin/"], EntryError::NotAbsolute),
        (&["/usr//bin/npx"], EntryError::NotAbsolute),
        (&["/usr/./bin/npx"], EntryError::NotAbsolute),
        (&["/usr/../bin/npx"], EntryError::NotAbsolute),
        (&["/usr/bin/npx", "…", "a"], EntryError::AnyInside),
        (&["/usr/bin/npx", "…", "…"], EntryError::AnyInside),
    ] {
        assert_eq!(pattern(words), Err(why), "{words:?}");
    }
}
