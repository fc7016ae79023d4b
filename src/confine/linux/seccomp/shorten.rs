//! Shortens the program that judges one call: what it does for each rule over again is done once.
//!
//! seccompiler compiles rule after rule, each with its own loads, answers and jumps past the next. Here
//! the program is run over what the accumulator can hold, which for a known call says how each
//! comparison of its number ends, and leaves a graph of comparisons; equal ones are one. Each is
//! loaded for where not every way to it has the same thing loaded already.

use std::collections::BTreeMap;

use super::Instruction;
use super::generate::{JUMP, RETURN};

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const IF_EQUAL: u16 = 0x15;

/// What the accumulator holds: the call's number, or a word of its data and a mask.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Held {
    Number,
    Word(u32, Option<u32>),
}

/// An answer, or a comparison and where it leads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    Answer(u32),
    Compare {
        held: Held,
        code: u16,
        with: u32,
        then: usize,
        otherwise: usize,
    },
}

struct Graph<'a> {
    program: &'a [Instruction],
    number: u32,
    nodes: Vec<Node>,
    known: BTreeMap<Node, usize>,
}

/// The program for the call of this number, which is loaded at its beginning.
pub(super) fn shortened(number: u32, program: &[Instruction]) -> Vec<Instruction> {
    let mut graph = Graph {
        program,
        number,
        nodes: Vec::new(),
        known: BTreeMap::new(),
    };
    let first = graph.node(0, Held::Number);
    let mut order = Vec::new();
    graph.visit(first, &mut order);
    order.reverse();
    graph.emitted(&order)
}

impl Graph<'_> {
    /// What follows from an instruction on, with this in the accumulator.
    fn node(&mut self, at: usize, held: Held) -> usize {
        let (code, jt, jf, k) = self.program[at];
        let past = |jump: u32| at + 1 + usize::try_from(jump).unwrap();
        let node = match (code, held) {
            (LOAD, _) => return self.node(at + 1, Held::Word(k, None)),
            (AND, Held::Word(word, None)) => {
                return self.node(at + 1, Held::Word(word, Some(k)));
            }
            (JUMP, _) => return self.node(past(k), held),
            (RETURN, _) => Node::Answer(k),
            (IF_EQUAL, Held::Number) => {
                let taken = if k == self.number { jt } else { jf };
                return self.node(past(taken.into()), held);
            }
            // Compared with what was loaded, by one of seccompiler's tests.
            (code, held @ Held::Word(..)) if code & 0x07 == 0x05 => {
                let then = self.node(past(jt.into()), held);
                let otherwise = self.node(past(jf.into()), held);
                if then == otherwise {
                    return then;
                }
                Node::Compare {
                    held,
                    code,
                    with: k,
                    then,
                    otherwise,
                }
            }
            _ => panic!("{code:#x} is not what seccompiler emits here"),
        };
        *self.known.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            self.nodes.len() - 1
        })
    }

    /// The nodes from one on, each after all that it leads to.
    fn visit(&self, at: usize, order: &mut Vec<usize>) {
        if order.contains(&at) {
            return;
        }
        if let Node::Compare {
            then, otherwise, ..
        } = self.nodes[at]
        {
            self.visit(then, order);
            self.visit(otherwise, order);
        }
        order.push(at);
    }

    /// The instructions, each node before all that it leads to.
    fn emitted(&self, order: &[usize]) -> Vec<Instruction> {
        // Where each begins, and where it begins for who has loaded what it compares.
        let mut places = BTreeMap::new();
        let mut length = 0;
        for at in order {
            let loads = self.loads(*at);
            let skipped = length + loads.len();
            places.insert(*at, (length, skipped));
            length = skipped + 1;
        }
        let mut program = Vec::with_capacity(length);
        for at in order {
            program.extend(self.loads(*at));
            let here = program.len();
            let jump = |to: usize, from: Held| {
                let (whole, skipped) = places[&to];
                let target = if self.held(to) == Some(from) {
                    skipped
                } else {
                    whole
                };
                u8::try_from(target - here - 1).unwrap()
            };
            program.push(match self.nodes[*at] {
                Node::Answer(answer) => (RETURN, 0, 0, answer),
                Node::Compare {
                    held,
                    code,
                    with,
                    then,
                    otherwise,
                } => (code, jump(then, held), jump(otherwise, held), with),
            });
        }
        program
    }

    /// What a comparison needs loaded.
    fn held(&self, at: usize) -> Option<Held> {
        match self.nodes[at] {
            Node::Answer(_) => None,
            Node::Compare { held, .. } => Some(held),
        }
    }

    /// The loads before a comparison: none where every way to it has them.
    fn loads(&self, at: usize) -> Vec<Instruction> {
        let Some(Held::Word(word, mask)) = self.held(at) else {
            return Vec::new();
        };
        let leads = |node: &&Node| matches!(node, Node::Compare { then, otherwise, .. } if [*then, *otherwise].contains(&at));
        let mut ways = self.nodes.iter().filter(leads).peekable();
        let has = |node: &Node| matches!(node, Node::Compare { held, .. } if Some(*held) == self.held(at));
        if ways.peek().is_some() && ways.all(has) {
            return Vec::new();
        }
        let masked = mask.map(|mask| (AND, 0, 0, mask));
        [(LOAD, 0, 0, word)].into_iter().chain(masked).collect()
    }
}
