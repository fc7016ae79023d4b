//! The compiled filters, run over calls by an interpreter of classic BPF with the kernel's own
//! rule for stacked filters. For both architectures, whichever this one is.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use proptest::test_runner::TestRunner;

use seccompiler::compile_from_json;

use serde_json::Value;

use super::generate::{self, instruction};

use super::*;

const EPERM: Answer = Answer::Errno(1);

const ENOSYS: Answer = Answer::Errno(38);

const ARCHES: [Arch; 2] = [Arch::X86_64, Arch::Aarch64];

const FILTERS: [Filter; 7] = [
    Filter::Allow,
    Filter::Deny,
    Filter::NoSetGid,
    Filter::NoUnix,
    Filter::NoNetwork,
    Filter::OwnProcess,
    Filter::OwnIpc,
];

const BASE: [Filter; 2] = [Filter::Allow, Filter::Deny];

/// Every operand has these on top in one round: the kernel ignores the upper half of an int.
const HIGH: u64 = 0xdead_beef_0000_0000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Allow,
    Errno(u32),
    Kill,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    number: u32,
    audit_arch: u32,
    args: [u64; 6],
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    mismatch_action: Value,
    match_action: Value,
    filter: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    syscall: String,
    comment: String,
    #[serde(default)]
    args: Vec<Arg>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arg {
    index: usize,
    r#type: String,
    op: Value,
    val: u64,
    comment: String,
}

/// One step of `struct seccomp_data` and `bpf_prog_run`, of the instructions seccompiler emits.
fn run(instructions: &[Instruction], call: &Call) -> u32 {
    let mut data = Vec::new();
    data.extend(call.number.to_le_bytes());
    data.extend(call.audit_arch.to_le_bytes());
    data.extend(0_u64.to_le_bytes());
    call.args
        .iter()
        .for_each(|arg| data.extend(arg.to_le_bytes()));
    let (mut at, mut accumulator) = (0, 0_u32);
    loop {
        let (code, jt, jf, k) = instructions[at];
        at += 1;
        let jump = |holds: bool| usize::from(if holds { jt } else { jf });
        match code {
            0x20 => {
                let from = usize::try_from(k).unwrap();
                accumulator = u32::from_le_bytes(data[from..from + 4].try_into().unwrap());
            }
            0x54 => accumulator &= k,
            0x05 => at += usize::try_from(k).unwrap(),
            0x15 => at += jump(accumulator == k),
            0x25 => at += jump(accumulator > k),
            0x35 => at += jump(accumulator >= k),
            0x06 => return k,
            other => panic!("no such instruction {other:#x}"),
        }
    }
}

/// `seccomp_run_filters`: from the last installed to the first, the strongest answer, of equal
/// ones the first met. The action is compared as a signed number.
fn judge(programs: &[Program], call: &Call) -> Answer {
    let action = |answer: u32| (answer & 0xffff_0000).cast_signed();
    let answers = programs
        .iter()
        .rev()
        .map(|program| run(program.instructions, call));
    let strongest = answers
        .reduce(|a, b| if action(b) < action(a) { b } else { a })
        .unwrap();
    match strongest & 0xffff_0000 {
        0x8000_0000 => Answer::Kill,
        0x0005_0000 => Answer::Errno(strongest & 0xffff),
        0x7fff_0000 => Answer::Allow,
        other => panic!("no such action {other:#x}"),
    }
}

const fn audit_arch(arch: Arch) -> u32 {
    match arch {
        Arch::X86_64 => 0xc000_003e,
        Arch::Aarch64 => 0xc000_00b7,
    }
}

fn data(arch: Arch) -> BTreeMap<String, Data> {
    serde_json::from_str(arch.text()).unwrap()
}

/// The number of a call, asked of seccompiler's own table by compiling a rule for it.
fn number(arch: Arch, name: &str) -> Option<u32> {
    let rule = format!(
        r#"{{"x": {{"mismatch_action": "allow", "match_action": "trap",
            "filter": [{{"syscall": "{name}"}}]}}}}"#
    );
    let compiled = compile_from_json(rule.as_bytes(), arch.target()).ok()?;
    compiled["x"]
        .iter()
        .find(|i| i.code == 0x15 && i.jf == 1)
        .map(|i| i.k)
}

/// A filter and what it compiles to.
#[derive(Clone)]
struct Program {
    filter: Filter,
    instructions: &'static [Instruction],
}

/// Compiled ones, in the order they are named.
fn programs(arch: Arch, filters: &[Filter]) -> Vec<Program> {
    let program = |&filter: &Filter| Program {
        filter,
        instructions: arch.program(filter).unwrap(),
    };
    filters.iter().map(program).collect()
}

/// Filters in force on an architecture.
struct Stack {
    arch: Arch,
    programs: Vec<Program>,
}

impl Stack {
    fn new(arch: Arch, more: &[Filter]) -> Self {
        let filters = BASE.iter().chain(more).copied().collect();
        Self {
            arch,
            programs: programs(arch, &lower(arch, &filters).unwrap()),
        }
    }

    /// `None` where the architecture has no such call.
    fn asks(&self, name: &str, args: &[u64]) -> Option<Answer> {
        let mut all = [0; 6];
        all[..args.len()].copy_from_slice(args);
        let audit_arch = audit_arch(self.arch);
        let number = number(self.arch, name)?;
        Some(judge(
            &self.programs,
            &Call {
                number,
                audit_arch,
                args: all,
            },
        ))
    }

    #[track_caller]
    fn gives(&self, expected: Answer, name: &str, args: &[u64]) {
        if let Some(answer) = self.asks(name, args) {
            assert_eq!(answer, expected, "{}: {name}({args:x?})", self.arch);
        }
    }
}

fn both(more: &[Filter]) -> [Stack; 2] {
    ARCHES.map(|arch| Stack::new(arch, more))
}

/// Operands that an entry is about.
fn matching(entry: &Entry) -> [u64; 6] {
    let mut args = [0; 6];
    for arg in &entry.args {
        args[arg.index] = match arg.op.as_str() {
            Some("eq") => arg.val,
            Some("gt") => arg.val + 1,
            Some("ne") => 0x7e57,
            None if arg.op.get("masked_eq").is_some() => arg.val,
            other => panic!("no such operator {other:?}"),
        };
    }
    args
}

#[test]
fn every_entry_and_every_operand_of_every_file_has_a_reason() {
    for data in ARCHES.map(data) {
        for entry in data.values().flat_map(|filter| &filter.filter) {
            assert!(entry.comment.len() > 3, "{entry:?}");
            for arg in &entry.args {
                assert!(arg.comment.len() > 2, "{entry:?}");
                let written = arg.comment.split_once(" 0x").map(|(_, hex)| hex);
                if let Some(hex) = written.and_then(|hex| hex.split(' ').next()) {
                    let given = [
                        Some(arg.val),
                        arg.op.get("masked_eq").and_then(Value::as_u64),
                    ];
                    let value = u64::from_str_radix(hex, 16).unwrap();
                    assert!(given.contains(&Some(value)), "{entry:?}");
                }
            }
        }
    }
}

#[test]
fn the_files_hold_the_filters_that_are_named_with_their_actions() {
    let errno = |number: u32| serde_json::json!({ "errno": number });
    for data in ARCHES.map(data) {
        let names: BTreeSet<_> = data.keys().map(String::as_str).collect();
        let parts = FILTERS.iter().flat_map(|filter| filter.parts());
        assert_eq!(names, parts.copied().collect());
        for (name, filter) in &data {
            let (matched, other) = match name.as_str() {
                "allow" => (Value::from("allow"), errno(38)),
                _ => (errno(1), Value::from("allow")),
            };
            assert_eq!(
                (&filter.match_action, &filter.mismatch_action),
                (&matched, &other)
            );
        }
    }
    for filter in FILTERS {
        assert_eq!(serde_json::to_value(filter).unwrap(), filter.to_string());
    }
}

#[test]
fn no_entry_is_there_twice_or_makes_another_void() {
    for data in ARCHES.map(data) {
        for filter in data.values() {
            for (at, entry) in filter.filter.iter().enumerate() {
                let others = filter.filter[at + 1..]
                    .iter()
                    .filter(|e| e.syscall == entry.syscall);
                for other in others {
                    // seccompiler drops an unconditional entry beside a conditional one
                    assert!(
                        !entry.args.is_empty() && !other.args.is_empty(),
                        "{entry:?}"
                    );
                    assert_ne!(entry.args, other.args);
                }
            }
        }
        assert!(
            data["allow"]
                .filter
                .iter()
                .all(|entry| entry.args.is_empty())
        );
    }
}

#[test]
fn both_files_say_the_same_of_what_both_architectures_have() {
    let [x86, arm] = ARCHES.map(data);
    for filter in FILTERS {
        let of = |data: &BTreeMap<String, Data>, other: Arch| -> Vec<Entry> {
            let entries = data[filter.name()].filter.iter();
            entries
                .filter(|entry| number(other, &entry.syscall).is_some())
                .cloned()
                .collect()
        };
        assert_eq!(of(&x86, Arch::Aarch64), of(&arm, Arch::X86_64), "{filter}");
    }
}

#[test]
fn each_entry_of_each_refusing_filter_answers_eperm_whatever_the_upper_half_says() {
    for arch in ARCHES {
        let data = data(arch);
        for filter in FILTERS.into_iter().skip(1) {
            let stack = Stack::new(arch, &[filter]);
            for entry in &data[filter.name()].filter {
                let args = matching(entry);
                stack.gives(EPERM, &entry.syscall, &args);
                if entry.args.iter().all(|arg| arg.r#type == "dword") {
                    stack.gives(EPERM, &entry.syscall, &args.map(|arg| arg | HIGH));
                }
            }
        }
    }
}

mod answers;

mod programs;

mod numbers;
