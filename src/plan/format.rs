//! What kind of file a program is, from its first bytes, as the kernel reads them. Pure.
//!
//! Sources: execve(2), `fs/binfmt_script.c` and `fs/binfmt_elf.c` of Linux, elf(5), env(1).

use std::path::Path;

/// How many bytes of a file the kernel looks at (`BINPRM_BUF_SIZE`, Linux 5.1 and later).
pub(crate) const HEAD: usize = 256;

/// What the kernel would do with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Execute it.
    Elf,
    /// Execute the interpreter that its first line names.
    Script(Shebang),
}

/// The first line of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shebang {
    /// The interpreter, absolute, as written.
    pub(crate) interpreter: String,
    /// All that follows it: one word to the kernel, whatever spaces it holds.
    pub(crate) argument: Option<String>,
}

/// The format of a file whose first bytes are `head`: at most [`HEAD`], fewer where the file
/// is shorter.
///
/// # Errors
/// What is wrong with it, in the words that follow "cannot run PROGRAM: ".
pub(crate) fn format(head: &[u8]) -> Result<Format, &'static str> {
    if head.starts_with(b"\x7fELF") {
        elf(head).map(|()| Format::Elf)
    } else if let Some(line) = head.strip_prefix(b"#!") {
        script(line, head.len() >= HEAD).map(Format::Script)
    } else if head.is_empty() {
        Err("it is empty")
    } else {
        Err("the kernel knows no such format: it is neither an ELF program nor begins with #!")
    }
}

/// Class, byte order and machine of the processors there are system-call filters for.
fn machine(arch: &str) -> Option<(u8, u8, u16)> {
    match arch {
        "x86_64" => Some((2, 1, 62)),
        "aarch64" => Some((2, 1, 183)),
        "riscv64" => Some((2, 1, 243)),
        _ => None,
    }
}

fn elf(head: &[u8]) -> Result<(), &'static str> {
    let byte = |at: usize| head.get(at).copied();
    let short = "its ELF header is cut short";
    let (Some(class), Some(order)) = (byte(4), byte(5)) else {
        return Err(short);
    };
    let number = |at: usize| -> Option<u16> {
        let pair = [byte(at)?, byte(at.saturating_add(1))?];
        Some(if order == 2 {
            u16::from_be_bytes(pair)
        } else {
            u16::from_le_bytes(pair)
        })
    };
    let (Some(kind), Some(built_for)) = (number(16), number(18)) else {
        return Err(short);
    };
    if machine(std::env::consts::ARCH).is_some_and(|here| here != (class, order, built_for)) {
        return Err("it is built for another processor");
    }
    // ET_EXEC, ET_DYN: what the kernel executes; the others are objects and core dumps.
    if matches!(kind, 2 | 3) {
        Ok(())
    } else {
        Err("it is an ELF file and no program")
    }
}

/// Reads what follows `#!`. Stricter than the kernel in two places: a line that does not end
/// within [`HEAD`] bytes is refused (the kernel cuts the argument short), and so is one that
/// ends in CR LF (the kernel takes the CR as a part of the last word and finds no such file).
fn script(text: &[u8], may_go_on: bool) -> Result<Shebang, &'static str> {
    let line = match text.iter().position(|byte| *byte == b'\n') {
        Some(end) => text.get(..end).unwrap_or(text),
        None if may_go_on => return Err("its first line is longer than the kernel reads"),
        None => text,
    };
    if line.contains(&b'\r') {
        return Err(
            "its first line ends in CR LF, which the kernel takes as a part of the interpreter's name",
        );
    }
    let line = std::str::from_utf8(line).map_err(|_| "its first line is not UTF-8")?;
    // Spaces and tabs alone separate here.
    let line = line
        .split('\0')
        .next()
        .unwrap_or(line)
        .trim_matches([' ', '\t']);
    let (interpreter, argument) = match line.split_once([' ', '\t']) {
        Some((interpreter, argument)) => (interpreter, Some(argument.trim_matches([' ', '\t']))),
        None => (line, None),
    };
    if interpreter.is_empty() {
        return Err("its first line names no interpreter");
    }
    if !Path::new(interpreter).is_absolute() {
        return Err("its first line names an interpreter by a relative path");
    }
    Ok(Shebang {
        interpreter: interpreter.to_owned(),
        argument: argument.map(str::to_owned),
    })
}

impl Shebang {
    /// The program that `env` would look for along `PATH`, if the interpreter is `env`:
    /// `#!/usr/bin/env node`, `#!/usr/bin/env -S node --flag`.
    #[must_use]
    pub(crate) fn named_to_env(&self) -> Option<&str> {
        let is_env = Path::new(&self.interpreter)
            .file_name()
            .is_some_and(|name| name == "env");
        let argument = self.argument.as_deref().filter(|_| is_env)?;
        if !argument.starts_with('-') {
            return Some(argument);
        }
        // One word to the kernel: only `-S` makes more of it. `-vS`, `-iS` are clusters.
        let split = argument
            .strip_prefix("--split-string")
            .map(|rest| rest.trim_start_matches('='));
        let cluster = || {
            let (flags, rest) = argument.split_once('S')?;
            flags.chars().all(|c| "-iv0".contains(c)).then_some(rest)
        };
        let mut words = split.or_else(cluster)?.split_ascii_whitespace();
        while let Some(word) = words.next() {
            match word {
                "-u" | "-C" | "--unset" | "--chdir" => drop(words.next()),
                flag if flag.starts_with('-') => {}
                assignment if assignment.contains('=') => {}
                program => return Some(program.trim_matches(['"', '\''])),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shebang(text: &str) -> Result<Shebang, &'static str> {
        format(text.as_bytes()).map(|format| match format {
            Format::Script(shebang) => shebang,
            Format::Elf => panic!("no script"),
        })
    }

    fn header(class: u8, order: u8, kind: u16, machine: u16) -> Vec<u8> {
        let mut head = vec![0; 64];
        head[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, order]);
        head[16..18].copy_from_slice(&kind.to_le_bytes());
        head[18..20].copy_from_slice(&machine.to_le_bytes());
        head
    }

    #[test]
    fn elf_files() {
        let (class, order, here) = machine(std::env::consts::ARCH).unwrap();
        assert_eq!(format(&header(class, order, 2, here)), Ok(Format::Elf));
        assert_eq!(format(&header(class, order, 3, here)), Ok(Format::Elf));
        assert!(format(&header(class, order, 1, here)).is_err(), "an object");
        assert!(
            format(&header(class, order, 4, here)).is_err(),
            "a core dump"
        );
        assert!(format(&header(1, order, 2, 3)).is_err(), "32 bits");
        assert!(
            format(&header(class, order, 2, 0x1234)).is_err(),
            "another machine"
        );
        assert!(format(b"\x7fELF\x02").is_err(), "cut short");
        for bad in [&b""[..], b"MZ", b"echo hello\n", b"\xca\xfe\xba\xbe"] {
            assert!(format(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn first_lines() {
        let is = |text: &str| shebang(text).map(|s| (s.interpreter, s.argument));
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(is("#!/bin/sh\necho"), Ok(("/bin/sh".into(), None)));
        assert_eq!(
            is("#! \t/bin/sh \t -e  x \t\n"),
            Ok(("/bin/sh".into(), some("-e  x")))
        );
        assert_eq!(is("#!/bin/sh"), Ok(("/bin/sh".into(), None)));
        assert_eq!(is("#!/bin/sh -e\0\n"), Ok(("/bin/sh".into(), some("-e"))));
        let long = format!("#!/bin/sh {}\n", "x".repeat(HEAD));
        let cut = long.get(..HEAD).unwrap();
        for bad in [
            "#!\n",
            "#!  \n",
            "#!",
            "#!sh\n",
            "#!bin/sh -e\n",
            "#!/bin/sh\r\n",
            "#!/bin/sh -e\r\n",
            cut,
        ] {
            assert!(shebang(bad).is_err(), "{bad:?}");
        }
        assert!(format(b"#!/bin/\xff\n").is_err());
    }

    #[test]
    fn what_env_looks_for() {
        let named = |text: &str| shebang(text).unwrap().named_to_env().map(str::to_owned);
        assert_eq!(named("#!/usr/bin/env node\n").as_deref(), Some("node"));
        assert_eq!(
            named("#!/bin/env -S node --flag\n").as_deref(),
            Some("node")
        );
        assert_eq!(named("#!/usr/bin/env -Snode\n").as_deref(), Some("node"));
        assert_eq!(
            named("#!/usr/bin/env -iS -u X A=1 uv run\n").as_deref(),
            Some("uv")
        );
        assert_eq!(
            named("#!/usr/bin/env --split-string=deno run\n").as_deref(),
            Some("deno")
        );
        assert_eq!(named("#!/usr/bin/env -i\n"), None);
        assert_eq!(named("#!/usr/bin/env\n"), None);
        assert_eq!(named("#!/usr/bin/node x\n"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(head in proptest::collection::vec(any::<u8>(), 0..HEAD)) {
            for start in [&b""[..], b"#!", b"\x7fELF"] {
                let text = [start, &head].concat();
                if let Ok(Format::Script(shebang)) = format(&text) {
                    prop_assert!(shebang.interpreter.starts_with('/'));
                    prop_assert!(!shebang.interpreter.contains([' ', '\t', '\n', '\r', '\0']));
                    let _ = shebang.named_to_env();
                }
            }
        }
    }
}
