//! The tables of paths: what every server gets of the system, what no server may write, what
//! programs obey. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use serde::Deserialize;

use super::{Made, Once, is_plain, slice, texts, wrong};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Grants {
    #[serde(rename = "about")]
    _about: String,
    grants: Vec<SystemPlace>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SystemPlace {
    path: String,
    rights: Rights,
    reason: String,
}

/// Without the right to write files: nobody gets that of the system.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Rights {
    List,
    Read,
    Device,
    ReadExecute,
}

/// A path's directory and last name.
fn split(path: &str) -> Option<(&str, &str)> {
    let (directory, name) = path.rsplit_once('/')?;
    Some((if directory.is_empty() { "/" } else { directory }, name))
}

pub(super) fn grants(text: &str) -> Made {
    let data: Grants = serde_json::from_str(text)?;
    let pattern = |place: &SystemPlace| {
        let (directory, start) = split(place.path.strip_suffix('*')?)?;
        Some((directory.to_owned(), start.to_owned()))
    };
    let patterns = data.grants.iter().filter_map(pattern);
    let listed: BTreeSet<String> = patterns.map(|(directory, _)| directory).collect();
    let mut once = Once::default();
    let (mut places, mut names) = (Vec::new(), BTreeSet::new());
    for place in &data.grants {
        let SystemPlace {
            path,
            rights,
            reason,
        } = place;
        once.add(path, reason)?;
        let whole = path.strip_suffix('*').unwrap_or(path);
        let (Some((directory, name)), false) = (split(path), whole.contains('*')) else {
            return wrong(
                path,
                "is not absolute, or has a * elsewhere than at its end",
            );
        };
        if !path.strip_prefix('/').is_some_and(is_plain) {
            return wrong(path, "is not absolute, or not spelled plainly");
        }
        if (*rights == Rights::Device) != path.starts_with("/dev/") {
            return wrong(
                path,
                "is a device by its rights or by its place, and not by both",
            );
        }
        let look = match pattern(place) {
            Some((directory, start)) => format!("Pattern({directory:?}, {start:?})"),
            None if listed.contains(directory) => format!("Listed({directory:?}, {name:?})"),
            None => "Asked".to_owned(),
        };
        if whole == path {
            names.insert(path.clone());
        }
        places.push(format!(
            "SystemPlace {{ path: {path:?}, look: Look::{look}, rights: Rights::{rights:?}, reason: {reason:?} }}"
        ));
    }
    let (places, names) = (slice(places), texts(&names));
    Ok(format!(
        "SystemPlaces {{ places: {places}, names: {names} }}"
    ))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Places {
    #[serde(rename = "about")]
    _about: String,
    places: Vec<Place>,
    names: Vec<Name>,
    system: Vec<Tree>,
    shared: Vec<Tree>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Holds {
    Secrets,
    Code,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    path: String,
    holds: Holds,
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Name {
    name: String,
    holds: Holds,
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tree {
    path: String,
    reason: String,
}

/// A path in a home or a whole one.
fn spelled(path: &str) -> Made {
    match (path.strip_prefix("~/"), path.strip_prefix('/')) {
        (Some(rest), _) if is_plain(rest) => Ok(format!("Spelled::AtHome({rest:?})")),
        (None, Some(rest)) if rest.is_empty() || is_plain(rest) => {
            Ok(format!("Spelled::Whole({path:?})"))
        }
        _ => wrong(
            path,
            "is neither absolute nor in the home, or not spelled plainly",
        ),
    }
}

pub(super) fn places(text: &str) -> Made {
    let data: Places = serde_json::from_str(text)?;
    let (mut once, mut names) = (Once::default(), Once::default());
    let mut places = Vec::new();
    for Place {
        path,
        holds,
        reason,
    } in &data.places
    {
        once.add(path, reason)?;
        let path = spelled(path)?;
        places.push(format!(
            "Listed {{ path: {path}, holds: Holds::{holds:?}, reason: {reason:?} }}"
        ));
    }
    let mut named = Vec::new();
    for Name {
        name,
        holds,
        reason,
    } in &data.names
    {
        names.add(&name.to_ascii_lowercase(), reason)?;
        named.push(format!(
            "Name {{ name: {name:?}, holds: Holds::{holds:?}, reason: {reason:?} }}"
        ));
    }
    let mut trees = |list: &[Tree]| {
        let mut trees = Vec::new();
        for Tree { path, reason } in list {
            once.add(path, reason)?;
            trees.push(format!("({}, {reason:?})", spelled(path)?));
        }
        Ok::<_, Box<dyn Error>>(slice(trees))
    };
    let (system, shared) = (trees(&data.system)?, trees(&data.shared)?);
    let (places, named) = (slice(places), slice(named));
    Ok(format!(
        "Data {{ places: {places}, names: {named}, system: {system}, shared: {shared} }}"
    ))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Obeyed {
    #[serde(rename = "about")]
    _about: String,
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    path: String,
    #[serde(default)]
    tree: bool,
    #[serde(default)]
    except_below: Option<String>,
    reason: String,
}

/// Sorted by the first parts in small letters, of which each has one spelling.
pub(super) fn obeyed(text: &str) -> Made {
    let data: Obeyed = serde_json::from_str(text)?;
    let mut once = Once::default();
    let mut by_first: BTreeMap<String, (&str, Vec<String>)> = BTreeMap::new();
    for entry in &data.entries {
        let Entry {
            path,
            tree,
            except_below,
            reason,
        } = entry;
        once.add(&path.to_ascii_lowercase(), reason)?;
        if !path.is_ascii() || !is_plain(path) || path.matches('/').count() > 1 {
            return wrong(path, "is not one ASCII name or two, spelled plainly");
        }
        let first = path.split('/').next().unwrap_or(path);
        let same = by_first.entry(first.to_ascii_lowercase());
        let (spelled, entries) = same.or_insert((first, Vec::new()));
        if *spelled != first {
            return wrong(path, "begins as another entry does, in other letters");
        }
        entries.push(format!(
            "Entry {{ path: {path:?}, tree: {tree}, except_below: {except_below:?}, reason: {reason:?} }}"
        ));
    }
    let shape = |name: &String| Some((name.len(), *name.as_bytes().first()?));
    let shapes: BTreeSet<(usize, u8)> = by_first.keys().filter_map(shape).collect();
    let shapes = slice(shapes.iter().map(|shape| format!("{shape:?}")));
    let names = by_first.into_iter();
    let names = slice(names.map(|(name, (_, entries))| format!("({name:?}, {})", slice(entries))));
    Ok(format!("Obeyed {{ shapes: {shapes}, names: {names} }}"))
}
