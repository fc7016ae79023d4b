//! The tables of words: what runners get, variables that are acted on, what chat templates take for
//! an end, what the check of a surface looks for. Pure.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Made, Once, is_plain, slice, texts, wrong};

/// Whether a word is the name of a variable.
fn is_variable(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Runners {
    #[serde(rename = "about")]
    _about: String,
    runners: Vec<Given>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    names: Vec<String>,
    variables: Vec<GivenVariable>,
    #[serde(default)]
    settings: Option<Settings>,
    keeps: Vec<String>,
    trees: Vec<String>,
    holds: Vec<String>,
    shows: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    files: Vec<String>,
    certificates: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenVariable {
    name: String,
    value: String,
    when: When,
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum When {
    Always,
    Prepared,
    Offline,
    Project,
    Locked,
    Unlocked,
}

pub(super) fn runners(text: &str) -> Made {
    let data: Runners = serde_json::from_str(text)?;
    let mut once = Once::default();
    let mut runners = Vec::new();
    for given in &data.runners {
        for name in &given.names {
            once.add(name, "the variables have theirs")?;
        }
        let below = [&given.keeps, &given.trees, &given.holds, &given.shows];
        if let Some(place) = below.into_iter().flatten().find(|place| !is_plain(place)) {
            return wrong(place, "does not lie plainly below the private home");
        }
        let mut variables = Vec::new();
        let mut named = Once::default();
        for GivenVariable {
            name,
            value,
            when,
            reason,
        } in &given.variables
        {
            named.add(name, reason)?;
            if !is_variable(name) || value.is_empty() {
                return wrong(name, "is no name of a variable, or has no value");
            }
            variables.push(format!(
                "Variable {{ name: {name:?}, value: {value:?}, when: When::{when:?} }}"
            ));
        }
        let settings = given
            .settings
            .as_ref()
            .map_or("None".to_owned(), |settings| {
                let (files, key) = (texts(&settings.files), &settings.certificates);
                format!("Some(Settings {{ files: {files}, certificates: {key:?} }})")
            });
        runners.push(format!(
            "Given {{ names: {}, variables: {}, settings: {settings}, keeps: {}, trees: {}, holds: {}, shows: {} }}",
            texts(&given.names),
            slice(variables),
            texts(&given.keeps),
            texts(&given.trees),
            texts(&given.holds),
            texts(&given.shows),
        ));
    }
    Ok(slice(runners))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Variables {
    variables: Vec<Variable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Variable {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    prefix: Option<String>,
    reason: String,
}

/// Both sorted. No name can be found by two of them.
pub(super) fn variables(text: &str) -> Made {
    let data: Variables = serde_json::from_str(text)?;
    let (mut names, mut prefixes) = (BTreeMap::new(), BTreeMap::new());
    let mut once = Once::default();
    for Variable {
        name,
        prefix,
        reason,
    } in &data.variables
    {
        let (list, word) = match (name, prefix) {
            (Some(name), None) => (&mut names, name),
            (None, Some(prefix)) => (&mut prefixes, prefix),
            _ => {
                return wrong(
                    reason,
                    "is the reason of an entry that is not one name or one prefix",
                );
            }
        };
        once.add(word, reason)?;
        if !is_variable(word) {
            return wrong(word, "begins no name of a variable");
        }
        list.insert(word, reason);
    }
    for prefix in prefixes.keys() {
        let another = |word: &&&String| word != &prefix && word.starts_with(prefix.as_str());
        if let Some(word) = names.keys().chain(prefixes.keys()).find(another) {
            return wrong(word, "begins with a prefix that is listed too");
        }
    }
    let pairs =
        |list: BTreeMap<&String, &String>| slice(list.iter().map(|pair| format!("{pair:?}")));
    let (names, prefixes) = (pairs(names), pairs(prefixes));
    Ok(format!("List {{ names: {names}, prefixes: {prefixes} }}"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tokens {
    #[serde(rename = "$comment")]
    _comment: String,
    tokens: Vec<String>,
}

/// In small letters, the longest first.
pub(super) fn tokens(text: &str) -> Made {
    let data: Tokens = serde_json::from_str(text)?;
    let mut once = Once::default();
    let mut tokens = Vec::new();
    for token in &data.tokens {
        let token = token.to_ascii_lowercase();
        once.add(&token, "the comment has it")?;
        if token.starts_with(char::is_alphanumeric) {
            return wrong(
                &token,
                "begins with a letter or digit: it would not be looked for",
            );
        }
        tokens.push(token);
    }
    tokens.sort_by_key(|token| std::cmp::Reverse(token.len()));
    Ok(texts(&tokens))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Check {
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    id: String,
    says: String,
    reason: String,
    phrases: Vec<String>,
    literals: Vec<String>,
}

pub(super) fn check(text: &str) -> Made {
    let data: Check = serde_json::from_str(text)?;
    let mut once = Once::default();
    let mut rules = Vec::new();
    for Rule {
        id,
        says,
        reason,
        phrases,
        literals,
    } in &data.rules
    {
        once.add(id, reason)?;
        if let Some(part) = literals.iter().find(|part| **part != part.to_lowercase()) {
            return wrong(part, "is not in small letters: it would not be found");
        }
        let (phrases, literals) = (texts(phrases), texts(literals));
        rules.push(format!(
            "Rule {{ id: {id:?}, says: {says:?}, phrases: {phrases}, literals: {literals} }}"
        ));
    }
    Ok(slice(rules))
}
