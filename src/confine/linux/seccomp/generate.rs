//! Compiles the data of `policy/seccomp/` to the programs beside it.
//!
//! seccompiler compiles the rules of one call at a time, which are shortened ([`super::shorten`]); around them goes a search by halves for
//! the call's number, where its own programs compare with one number after the other.

use std::collections::BTreeMap;
use std::fmt::Write;

use seccompiler::{TargetArch, compile_from_json, sock_filter};
use serde_json::{Value, json};

use super::shorten::shortened;
use super::{Arch, Filter, Instruction};

pub(super) const JUMP: u16 = 0x05;
pub(super) const RETURN: u16 = 0x06;
const IF_AT_LEAST: u16 = 0x35;
/// All of them.
const FILTERS: [Filter; 8] = [
    Filter::Allow,
    Filter::Deny,
    Filter::DenyButNamespaces,
    Filter::NoSetGid,
    Filter::NoUnix,
    Filter::NoNetwork,
    Filter::OwnProcess,
    Filter::OwnIpc,
];
/// Loads the architecture, compares it, ends the process, loads the number.
const PROLOGUE: usize = 4;

impl Arch {
    pub(super) const fn target(self) -> TargetArch {
        match self {
            Self::X86_64 => TargetArch::x86_64,
            Self::Aarch64 => TargetArch::aarch64,
        }
    }
}

impl Filter {
    /// The parts of the data that it is made of.
    pub(super) const fn parts(self) -> &'static [&'static str] {
        match self {
            Self::Allow => &["allow"],
            Self::Deny => &["deny", "no-namespaces"],
            Self::DenyButNamespaces => &["deny"],
            Self::NoSetGid => &["no-set-gid"],
            Self::NoUnix => &["no-unix"],
            Self::NoNetwork => &["no-network"],
            Self::OwnProcess => &["own-process"],
            Self::OwnIpc => &["own-ipc"],
        }
    }
}

/// Every filter, joined of its parts, which have the same actions.
pub(super) fn whole(arch: Arch) -> BTreeMap<&'static str, Value> {
    let data: BTreeMap<String, Value> = serde_json::from_str(arch.text()).unwrap();
    let joined = |filter: Filter| {
        let mut parts = filter.parts().iter().map(|part| &data[*part]);
        let mut whole = parts.next().unwrap().clone();
        for part in parts {
            let rules = whole["filter"].as_array_mut().unwrap();
            rules.extend(part["filter"].as_array().unwrap().iter().cloned());
        }
        (filter.name(), whole)
    };
    FILTERS.map(joined).into()
}

/// From this number on, up to that of the next, calls are judged so.
type Region = (u32, Vec<Instruction>);

/// The program of one filter, from its data.
pub(super) fn compile(arch: Arch, data: &Value) -> Vec<Instruction> {
    let mut calls: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for entry in data["filter"].as_array().unwrap() {
        let name = entry["syscall"].as_str().unwrap();
        calls.entry(name).or_default().push(entry);
    }
    let mut numbers: BTreeMap<u32, Vec<Instruction>> = BTreeMap::new();
    let mut prologue = Vec::new();
    let mut otherwise = Vec::new();
    for entries in calls.values() {
        let program = alone(arch, data, entries);
        prologue = program[..PROLOGUE].to_vec();
        otherwise = program[program.len() - 1..].to_vec();
        let number = program[PROLOGUE].3;
        let always = entries.iter().all(|entry| entry.get("args").is_none());
        let judged = if always {
            // Test, jump to the answer, jump past it, the answer.
            vec![program[PROLOGUE + 3]]
        } else {
            shortened(number, &program[PROLOGUE..])
        };
        assert!(numbers.insert(number, judged).is_none());
    }
    let mut regions: Vec<Region> = vec![(0, otherwise.clone())];
    for (number, judged) in numbers {
        add(&mut regions, (number, judged));
        add(&mut regions, (number + 1, otherwise.clone()));
    }
    prologue.extend(search(&regions));
    prologue
}

/// What seccompiler makes of the entries of one call alone.
fn alone(arch: Arch, data: &Value, entries: &[&Value]) -> Vec<Instruction> {
    let one = json!({"one": {
        "mismatch_action": data["mismatch_action"],
        "match_action": data["match_action"],
        "filter": entries,
    }});
    let compiled = compile_from_json(one.to_string().as_bytes(), arch.target()).unwrap();
    compiled["one"].iter().map(instruction).collect()
}

pub(super) const fn instruction(of: &sock_filter) -> Instruction {
    (of.code, of.jt, of.jf, of.k)
}

/// Adds a region after the others: in place of an empty one, joined to one that judges alike.
fn add(regions: &mut Vec<Region>, (start, judged): Region) {
    if regions.last().is_some_and(|(last, _)| *last == start) {
        regions.pop();
    }
    if regions.last().is_none_or(|(_, last)| *last != judged) {
        regions.push((start, judged));
    }
}

/// A search by halves; each region's own instructions end with an answer.
fn search(regions: &[Region]) -> Vec<Instruction> {
    if let [(_, judged)] = regions {
        return judged.clone();
    }
    let (left, right) = regions.split_at(regions.len() / 2);
    let (below, above) = (search(left), search(right));
    let mut program = match u8::try_from(below.len()) {
        Ok(past) => vec![(IF_AT_LEAST, past, 0, right[0].0)],
        Err(_) => vec![
            (IF_AT_LEAST, 0, 1, right[0].0),
            (JUMP, 0, 0, u32::try_from(below.len()).unwrap()),
        ],
    };
    program.extend(below);
    program.extend(above);
    program
}

/// The text of the file beside the data.
pub(super) fn text(arch: Arch) -> String {
    let mut text = String::from("[\n");
    for (name, filter) in &whole(arch) {
        writeln!(text, "    (\"{name}\", &[").unwrap();
        for (code, jt, jf, k) in compile(arch, filter) {
            let k = match code {
                RETURN => format!("{k:#x}"),
                _ => k.to_string(),
            };
            writeln!(text, "        ({code:#x}, {jt}, {jf}, {k}),").unwrap();
        }
        text.push_str("    ]),\n");
    }
    text + "]\n"
}
