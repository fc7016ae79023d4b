use std::collections::BTreeSet;

use super::*;

#[test]
fn the_definition_holds() {
    definition().debug_assert();
}

/// The flags that `add --help` and `set --help` name are those that their grammar knows.
#[test]
fn the_help_of_add_and_set_is_their_grammar() {
    let definition = definition();
    for (command, set) in [("add", false), ("set", true)] {
        let mut named: BTreeSet<String> = definition
            .find_subcommand(command)
            .unwrap()
            .get_arguments()
            .filter_map(|arg| arg.get_long())
            .map(|long| format!("--{long}"))
            .collect();
        named.insert("--help".to_owned());
        let known: BTreeSet<String> = crate::declaration::add_flag::flags(set)
            .into_iter()
            .map(str::to_owned)
            .collect();
        assert_eq!(named, known, "{command}");
    }
}

/// Every command has a long text, an example of itself, and help on every flag.
#[test]
fn every_command_has_help_with_an_example() {
    let definition = definition();
    let further = |command: &clap::Command| {
        let name = command.get_name().to_owned();
        let inner = command.get_subcommands().cloned();
        inner
            .map(|inner| (format!("{name} {}", inner.get_name()), inner))
            .chain([(name.clone(), command.clone())])
            .collect::<Vec<_>>()
    };
    for (name, command) in definition
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .flat_map(further)
    {
        let example = command
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        assert!(example.contains(&format!("supervisor {name}")), "{name}");
        assert!(command.get_about().is_some(), "{name}");
        for arg in command.get_arguments() {
            assert!(arg.get_help().is_some(), "{name} {arg}");
        }
    }
}
