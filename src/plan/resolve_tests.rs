use super::*;

/// [`super::resolve`] where no other server may write anything.
fn resolve(stdio: &Stdio, launch: &LaunchDigest, facts: &HostFacts) -> Result<Plan, PlanError> {
    super::resolve(home(launch, facts), stdio, facts, &[])
}
use std::collections::BTreeSet;

use crate::declaration::Read;
use crate::plan::program::Program;
use crate::plan::{ReadFact, SearchPath};
use proptest::prelude::*;

const DIGEST: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn digest() -> LaunchDigest {
    DIGEST.parse().unwrap()
}

fn grant(path: &str, rights: Rights, reason: &str) -> Grant {
    Grant {
        path: path.into(),
        rights,
        reason: reason.to_owned().into(),
    }
}

fn program(found: &str, exec: &str) -> Program {
    Program::fixed(found, exec)
}

fn facts() -> HostFacts {
    HostFacts {
        state: "/home/u/.supervisor".into(),
        search_path: SearchPath(vec!["/home/u/.local/bin".into(), "/usr/bin".into()]),
        program: program("/usr/bin/mcp-notes", "/usr/bin/mcp-notes"),
        installation: vec![grant("/home/u/.local/bin", Rights::ReadExecute, "on PATH")],
        linked: vec![grant(
            "/home/u/tools/x",
            Rights::ReadExecute,
            "where a link on PATH leads",
        )],
        system: vec![
            grant("/dev/null", Rights::Device, "takes all, gives nothing"),
            grant("/usr", Rights::ReadExecute, "programs of the system"),
        ],
        dir: None,
        held: None,
        before: Default::default(),
        reads: vec![],
        present: BTreeSet::new(),
        cached: Default::default(),
        locked: None,
        certificates: BTreeSet::new(),
    }
}

fn server() -> Stdio {
    Stdio::new("mcp-notes".into(), vec!["--verbose".into(), "a b".into()])
}

fn read(stdio: &mut Stdio, facts: &mut HostFacts, path: &str, why: ReadReason) {
    stdio.reads.push(Read {
        path: path.parse().unwrap(),
        why,
    });
    facts.reads.push(ReadFact {
        path: path.into(),
        directory: false,
    });
}

fn paths(plan: &Plan) -> Vec<&str> {
    plan.grants
        .iter()
        .map(|grant| grant.path.to_str().unwrap())
        .collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "the plan stands here in full")]
fn a_whole_plan() {
    let (mut stdio, mut facts) = (server(), facts());
    facts.dir = Some("/home/u/notes".into());
    stdio.dir = Some("/home/u/notes".parse().unwrap());
    stdio
        .env
        .insert("API_KEY".parse().unwrap(), "secret".into());
    stdio.pass.extend([
        "LANG".parse().unwrap(),
        "PATH".parse().unwrap(),
        "TZ".parse().unwrap(),
    ]);
    facts.present.insert("LANG".parse().unwrap());
    read(
        &mut stdio,
        &mut facts,
        "/home/u/keys/api",
        ReadReason::Value,
    );
    read(
        &mut stdio,
        &mut facts,
        "/home/u/notes/inner",
        ReadReason::Flag,
    );
    let plan = resolve(&stdio, &digest(), &facts).unwrap();
    insta::assert_json_snapshot!(plan, @r#"
    {
      "exec": "/usr/bin/mcp-notes",
      "argv": [
        "/usr/bin/mcp-notes",
        "--verbose",
        "a b"
      ],
      "variables": [
        {
          "name": "API_KEY",
          "source": "stored"
        },
        {
          "name": "HOME",
          "source": {
            "ours": "/home/u/.supervisor/home/0123456789abcdef"
          }
        },
        {
          "name": "LANG",
          "source": "passed"
        },
        {
          "name": "PATH",
          "source": {
            "ours": "/home/u/.local/bin:/usr/bin"
          }
        },
        {
          "name": "TMPDIR",
          "source": {
            "ours": "/home/u/.supervisor/home/0123456789abcdef/tmp"
          }
        },
        {
          "name": "TZ",
          "source": "unset"
        }
      ],
      "home": "/home/u/.supervisor/home/0123456789abcdef",
      "tmp": "/home/u/.supervisor/home/0123456789abcdef/tmp",
      "cwd": "/home/u/notes",
      "dir": "/home/u/notes",
      "grants": [
        {
          "path": "/dev/null",
          "rights": "device",
          "reason": "takes all, gives nothing"
        },
        {
          "path": "/home/u/.local/bin",
          "rights": "read-execute",
          "reason": "on PATH"
        },
        {
          "path": "/home/u/.supervisor/home/0123456789abcdef",
          "rights": "write",
          "reason": "its private home and temporary directory"
        },
        {
          "path": "/home/u/keys/api",
          "rights": "read",
          "reason": "a stored value names it"
        },
        {
          "path": "/home/u/notes",
          "rights": "write",
          "reason": "--dir"
        },
        {
          "path": "/home/u/tools/x",
          "rights": "read-execute",
          "reason": "where a link on PATH leads"
        },
        {
          "path": "/usr",
          "rights": "read-execute",
          "reason": "programs of the system"
        }
      ],
      "network": "full",
      "limits": {
        "memory": 4294967296,
        "processes": 512,
        "files": 8192,
        "file_size": 17179869184
      }
    }
    "#);
}

#[test]
fn the_same_facts_give_the_same_bytes() {
    let plan = |facts: &HostFacts| {
        serde_json::to_vec(&resolve(&server(), &digest(), facts).unwrap()).unwrap()
    };
    let mut other = facts();
    other.system.reverse();
    other.installation.reverse();
    assert_eq!(plan(&facts()), plan(&other));
}

#[test]
fn without_a_directory_it_starts_in_its_own() {
    let plan = resolve(&server(), &digest(), &facts()).unwrap();
    assert_eq!(plan.cwd, plan.tmp);
    assert_eq!(
        plan.tmp,
        PathBuf::from("/home/u/.supervisor/home/0123456789abcdef/tmp")
    );
    assert_eq!(plan.dir, None);
}

#[test]
fn home_and_tmpdir_are_ours_unless_named() {
    let (mut stdio, mut facts) = (server(), facts());
    stdio.pass.insert("HOME".parse().unwrap());
    stdio
        .env
        .insert("TMPDIR".parse().unwrap(), "/home/u/notes/tmp".into());
    facts.present.insert("HOME".parse().unwrap());
    let plan = resolve(&stdio, &digest(), &facts).unwrap();
    let sources: Vec<_> = plan
        .variables
        .iter()
        .map(|v| (v.name.as_str(), &v.source))
        .collect();
    assert_eq!(
        sources,
        [("HOME", &Source::Passed), ("TMPDIR", &Source::Stored)]
    );
}

#[test]
fn a_stored_path_is_a_stored_value() {
    let mut stdio = server();
    stdio.env.insert(EnvName::path(), "/opt/x".into());
    let plan = resolve(&stdio, &digest(), &facts()).unwrap();
    assert!(plan.variables.contains(&Variable {
        name: EnvName::path(),
        source: Source::Stored
    }));
}

/// Promise S1.
#[test]
fn what_is_executed_lies_where_the_server_cannot_write() {
    let writable = |facts: &HostFacts| match resolve(&server(), &digest(), facts) {
        Err(PlanError::WritableProgram { path }) => Some(path),
        Ok(_) => None,
        Err(other) => panic!("{other}"),
    };
    let in_dir = || HostFacts {
        dir: Some("/home/u/notes".into()),
        ..facts()
    };
    assert_eq!(writable(&in_dir()), None);
    type Change = fn(&mut HostFacts);
    let cases: [(&str, Change); 7] = [
        ("/home/u/notes/run", |facts| {
            facts.program = program("/home/u/notes/run", "/usr/bin/dash")
        }),
        ("/home/u/notes/python", |facts| {
            facts.program = program("/usr/bin/x", "/home/u/notes/python")
        }),
        ("/home/u/notes/hop", |facts| {
            facts.program.links.push("/home/u/notes/hop".into())
        }),
        ("/home/u/notes/node", |facts| {
            facts.program.files.push("/home/u/notes/node".into())
        }),
        ("/home/u/notes/bin", |facts| {
            facts.search_path.0.push("/home/u/notes/bin".into())
        }),
        ("/home/u/notes/lib", |facts| {
            facts
                .installation
                .push(grant("/home/u/notes/lib", Rights::ReadExecute, ""))
        }),
        ("/home/u/.supervisor/home/x/bin", |facts| {
            facts
                .search_path
                .0
                .push("/home/u/.supervisor/home/x/bin".into())
        }),
    ];
    for (expected, change) in cases {
        let mut facts = in_dir();
        change(&mut facts);
        assert_eq!(writable(&facts), Some(expected.into()));
    }
}

#[test]
fn what_is_linked_to_is_left_out_where_the_server_may_write() {
    for dir in ["/home/u/tools", "/home/u/tools/x", "/home/u/tools/x/data"] {
        let facts = HostFacts {
            dir: Some(dir.into()),
            ..facts()
        };
        let plan = resolve(&server(), &digest(), &facts).unwrap();
        assert!(
            !plan
                .grants
                .iter()
                .any(|grant| grant.rights == Rights::ReadExecute
                    && grant.path.starts_with("/home/u/tools")),
            "{dir}"
        );
    }
    assert!(paths(&resolve(&server(), &digest(), &facts()).unwrap()).contains(&"/home/u/tools/x"));
}

#[test]
fn what_another_server_may_write_is_kept_apart() {
    let others = [PathBuf::from("/home/u/other")];
    assert!(apart(facts(), &others).is_ok());
    let (mut stdio, mut facts) = (server(), facts());
    read(
        &mut stdio,
        &mut facts,
        "/home/u/other/file",
        ReadReason::Flag,
    );
    assert!(matches!(
        apart(facts.clone(), &others),
        Err(PlanError::WritableProgram { .. })
    ));
    // Both may write the directory: then it is this server's own.
    facts.dir = Some("/home/u/other".into());
    assert!(apart(facts, &others).is_ok());
}

#[test]
fn a_read_in_a_state_directory_is_refused() {
    let (mut stdio, mut facts) = (server(), facts());
    read(
        &mut stdio,
        &mut facts,
        "/home/u/.supervisor/mcp.json",
        ReadReason::Flag,
    );
    assert!(resolve(&stdio, &digest(), &facts).is_err());
}

#[test]
fn a_declared_read_is_shown_where_the_system_covers_it() {
    let (mut stdio, mut facts) = (server(), facts());
    read(
        &mut stdio,
        &mut facts,
        "/usr/share/dict/words",
        ReadReason::Flag,
    );
    let plan = resolve(&stdio, &digest(), &facts).unwrap();
    assert!(
        plan.grants
            .contains(&grant("/usr/share/dict/words", Rights::Read, "--read"))
    );
}

proptest! {
    /// The plan grants writing at the home, the temporary directory and `--dir`, whatever the facts.
    #[test]
    fn only_what_is_the_servers_own_is_written(
        extra in proptest::collection::vec(("/[a-c]{1,2}(/[a-c]{1,2}){0,3}", 0..3_usize), 0..6),
        dir in proptest::option::of("/[a-c]{1,2}(/[a-c]{1,2}){0,2}"),
    ) {
        let mut facts = facts();
        facts.dir = dir.map(PathBuf::from);
        for (path, rights) in extra {
            facts.linked.push(grant(&path, [Rights::Read, Rights::ReadExecute, Rights::List][rights], "x"));
        }
        let plan = resolve(&server(), &digest(), &facts).unwrap();
        let mut written: Vec<&Path> = plan.grants.iter().filter(|g| g.rights == Rights::Write).map(|g| g.path.as_path()).collect();
        written.retain(|path| *path != plan.home && *path != plan.tmp && Some(*path) != plan.dir.as_deref());
        prop_assert!(written.is_empty(), "{:?}", written);
        if let Some(dir) = &plan.dir {
            let executed = plan.grants.iter().filter(|g| g.rights == Rights::ReadExecute);
            prop_assert!(executed.into_iter().all(|g| !dir.starts_with(&g.path)), "a writable directory in what is executed");
        }
    }
}
