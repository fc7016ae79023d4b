//! What is generated from the definition and the types, compared with the files: the JSON schemas
//! in `policy/schema` and the flags in `docs/commands.md`.
//!
//! `SUPERVISOR_WRITE=1 cargo test --lib generated` writes them anew.
#![expect(clippy::disallowed_methods, reason = "tests read and write files")]

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::{
    add, audit, doctor, elsewhere, explain, get, list, policy, prune, remove, rename, render, set,
};
use crate::approval::{Approval, Word};
use crate::confine::receipt::Receipt;
use crate::declaration::{AbsolutePath, Alias, Digest, EnvName};
use crate::launch::run_id::RunId;
use crate::policy::document::FileShape;
use crate::policy::notes::Checked;
use crate::trial::Trial;

macro_rules! text {
    ($($name:ident: $pattern:literal),* $(,)?) => {$(
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "pattern": $pattern})
            }
        }
    )*};
}

text! {
    Alias: "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$",
    EnvName: "^[A-Za-z_][A-Za-z0-9_]*$",
    Digest: "^[0-9a-f]{64}$",
    AbsolutePath: "^/",
    RunId: "^[0-9a-f]{16}$",
}

impl JsonSchema for Approval {
    fn schema_name() -> Cow<'static, str> {
        "Approval".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let words = generator.subschema_for::<Vec<Word>>();
        json_schema!({
            "type": "object",
            "properties": {
                "state": {"enum": ["approved", "unapproved", "changed"]},
                "changed": words,
            },
            "required": ["state", "changed"],
        })
    }
}

/// What `explain` prints: of a program, or of a server elsewhere.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "its schema is what counts")]
enum Explained {
    Program(Box<explain::Explained>),
    Elsewhere(Box<elsewhere::Elsewhere>),
}

fn schema<T: JsonSchema>(name: &str) -> (PathBuf, String) {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let generated = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = serde_json::to_value(generated).unwrap();
    schema["title"] = json!(format!("supervisor.{name}.v1"));
    schema["type"] = json!("object");
    schema["properties"]["schema"] = json!({"const": format!("supervisor.{name}.v1")});
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let first = [json!("schema")];
    schema["required"] = first.into_iter().chain(required).collect();
    let path = format!("policy/schema/{name}.json");
    (
        path.into(),
        serde_json::to_string_pretty(&schema).unwrap() + "\n",
    )
}

/// The schema of an administrator's file: what is read, where the others are what is printed.
fn managed() -> (PathBuf, String) {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    let generated = settings
        .into_generator()
        .into_root_schema_for::<FileShape<'_>>();
    let mut schema = serde_json::to_value(generated).unwrap();
    schema["title"] = json!("The administrator's policy of supervisor");
    without_null_defaults(&mut schema);
    (
        "policy/schema/managed.json".into(),
        serde_json::to_string_pretty(&schema).unwrap() + "\n",
    )
}

/// A key that is absent is absent: `null` is refused.
fn without_null_defaults(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.retain(|key, value| key != "default" || !value.is_null());
            object.values_mut().for_each(without_null_defaults);
        }
        Value::Array(list) => list.iter_mut().for_each(without_null_defaults),
        _ => {}
    }
}

/// Every command that does something, by its whole name: `policy check` is one.
fn commands(definition: &clap::Command) -> Vec<(String, &clap::Command)> {
    let named = |command: &clap::Command| command.get_name() != "help";
    let mut all = Vec::new();
    for command in definition
        .get_subcommands()
        .filter(|command| named(command))
    {
        let name = command.get_name().to_owned();
        let further = command.get_subcommands().filter(|command| named(command));
        let further = further.map(|inner| (format!("{name} {}", inner.get_name()), inner));
        let further: Vec<_> = further.collect();
        all.push((name, command));
        all.extend(further);
    }
    all
}

fn all() -> Vec<(PathBuf, String)> {
    vec![
        managed(),
        schema::<Checked>("policy-check"),
        schema::<policy::Tested>("policy-test"),
        schema::<add::Added>("add"),
        schema::<audit::Shown>("audit"),
        schema::<doctor::Doctor>("doctor"),
        schema::<render::FailedObject<'_>>("error"),
        schema::<Explained>("explain"),
        schema::<get::Full>("get"),
        schema::<list::List>("list"),
        schema::<super::logs::Logs>("logs"),
        schema::<super::prepare::Object>("prepare"),
        schema::<super::tools::Tools>("tools"),
        schema::<prune::Pruned>("prune"),
        schema::<super::ps::Running>("ps"),
        schema::<Receipt>("receipt"),
        schema::<remove::Removed<'_>>("remove"),
        schema::<rename::Renamed<'_>>("rename"),
        schema::<super::rules::Listed>("rules"),
        schema::<set::Set>("set"),
        schema::<Trial>("try"),
        schema::<crate::why::Report>("why"),
    ]
}

/// Compares, or writes.
fn same(path: &Path, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("SUPERVISOR_WRITE").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
    }
    let held = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        held == text,
        "{} is not what is generated: SUPERVISOR_WRITE=1 cargo test --lib generated",
        path.display()
    );
}

#[test]
fn the_schemas_are_those_of_the_types() {
    let all = all();
    for (path, text) in &all {
        same(path, text);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("policy/schema");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), all.len());
    // Every command that takes --json has one; `run` prints what `explain` does.
    let definition = super::definition();
    let json: BTreeSet<String> = commands(&definition)
        .into_iter()
        .filter(|(_, command)| {
            command
                .get_arguments()
                .any(|arg| arg.get_long() == Some("json"))
        })
        .map(|(name, _)| name.replace(' ', "-"))
        .filter(|name| name != "run")
        .collect();
    let mut held: BTreeSet<String> = all
        .iter()
        .filter_map(|(path, _)| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    // What is printed by none: an error by any, a receipt is written to files.
    held.remove("error");
    held.remove("managed");
    held.remove("receipt");
    assert_eq!(json, held);
}

/// One section a command: what it does, its flags, its examples.
fn section(name: &str, command: &clap::Command) -> String {
    let text = |styled: Option<&clap::builder::StyledStr>| {
        styled.map(ToString::to_string).unwrap_or_default()
    };
    let long = command.get_long_about().or(command.get_about());
    let mut out = format!("\n## supervisor {name}\n\n{}\n", text(long));
    for arg in command.get_arguments().filter(|arg| arg.get_id() != "help") {
        let value = arg.get_value_names().and_then(|names| names.first());
        let value = value
            .map(ToString::to_string)
            .filter(|_| arg.get_action().takes_values());
        let mut names: Vec<String> = Vec::new();
        names.extend(arg.get_short().map(|short| format!("-{short}")));
        names.extend(arg.get_long().map(|long| format!("--{long}")));
        let shown = match (names.is_empty(), value) {
            (true, value) => value.unwrap_or_default(),
            (false, None) => names.join(", "),
            (false, Some(value)) => format!("{} {value}", names.join(", ")),
        };
        let help = text(arg.get_long_help().or(arg.get_help()));
        let help = help.replace("\n\n", "\n  ");
        out.push_str(&format!("\n- `{shown}`: {help}"));
    }
    let examples = text(command.get_after_help());
    let lines: Vec<&str> = examples
        .lines()
        .filter(|line| line.starts_with("  "))
        .collect();
    out.push_str(&format!(
        "\n\n```sh\n{}\n```\n",
        lines.join("\n").replace("  supervisor", "supervisor")
    ));
    out
}

#[test]
fn the_guide_of_commands_is_their_help() {
    let mut page = String::from(
        "# Commands\n\nGenerated from the definition that `--help`, `supervisor man` and `supervisor completions` are\nmade of. Exit codes and errors: [exit-codes.md](exit-codes.md). The object that `--json` prints has\nits schema in [policy/schema](../policy/schema).\n",
    );
    let mut definition = super::definition();
    definition.build();
    for (name, command) in commands(&definition) {
        page.push_str(&section(&name, command));
    }
    same(Path::new("docs/commands.md"), &page);
}

/// Each flag has short help, and stands on the command line of a transcript.
#[test]
fn every_flag_has_help_and_a_transcript() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli");
    let mut lines: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let typed = text
            .lines()
            .filter_map(|line| line.strip_prefix("$ supervisor "));
        lines.extend(typed.map(str::to_owned));
    }
    let mut missing = Vec::new();
    for (name, command) in commands(&super::definition()) {
        for arg in command.get_arguments() {
            assert!(arg.get_help().is_some(), "{name} {arg}");
            let Some(long) = arg.get_long() else { continue };
            let mut names = vec![format!("--{long}")];
            names.extend(arg.get_short().map(|short| format!("-{short}")));
            let typed = lines.iter().any(|line| {
                let words = line.strip_prefix(&name).unwrap_or_default().split(' ');
                line.starts_with(&format!("{name} "))
                    && words.clone().any(|word| {
                        names
                            .iter()
                            .any(|name| word.split('=').next() == Some(name))
                    })
            });
            if !typed {
                missing.push(format!("{name} --{long}"));
            }
        }
    }
    assert!(missing.is_empty(), "no transcript types {missing:?}");
}

#[test]
fn schemas_say_what_is_there() {
    let (_, text) = schema::<list::List>("list");
    let schema: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        schema["properties"]["schema"]["const"],
        "supervisor.list.v1"
    );
    assert_eq!(schema["required"][0], "schema");
}
