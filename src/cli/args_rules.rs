//! The words of `supervisor rules`.

use std::str::FromStr;

use clap::{Args, ValueEnum};

use crate::relay::{Rule, RuleError};

/// Show or change the rules for calls: denied, asked about, allowed
///
/// Shows the rules of settings.json for calls of tools, and those that name nothing that there
/// is; with a word and a name after it, changes them. Deny wins, then ask, then allow, then the
/// default. A change holds for the next call, of servers that run too.
///
/// A category as the word says what one tool may do, whatever its server says of it. Calls go by
/// that where the declaration grants categories (`supervisor set ALIAS --category`).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  supervisor rules
  supervisor rules deny weather:get_alerts
  supervisor rules ask weather
  supervisor rules drop weather:get_alerts
  supervisor rules read-only weather:get_alerts
  supervisor rules annotated weather:get_alerts")]
pub(crate) struct RulesArgs {
    /// What to do with the rule
    #[arg(value_name = "WHAT", requires = "named")]
    pub(crate) change: Option<ChangeWord>,
    /// What it names: ALIAS is all of a server, ALIAS:TOOL one tool by its whole name, ALIAS:* every
    /// tool
    #[arg(value_name = "ALIAS[:TOOL]")]
    pub(crate) named: Option<Named>,
    /// Print an object
    #[arg(long)]
    pub(crate) json: bool,
}

/// A change of the rules.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ChangeWord {
    /// Calls are refused, whatever else is said
    Deny,
    /// Calls are put to the person, by a host that can ask
    Ask,
    /// Calls pass, where the default says otherwise
    Allow,
    /// The rule is taken back, whichever list it stands in
    Drop,
    /// The tool changes nothing
    ReadOnly,
    /// The tool adds, changes nothing that is there, and reaches nothing outside its own domain
    Additive,
    /// The tool adds, and reaches others
    OpenWorld,
    /// The tool may change or delete what is there
    Destructive,
    /// The category is taken back: the tool's annotations say it again
    Annotated,
}

/// What a rule is about, as it is typed.
#[derive(Clone, Debug)]
pub(crate) struct Named(pub(crate) Rule);

impl FromStr for Named {
    type Err = RuleError;

    fn from_str(word: &str) -> Result<Self, RuleError> {
        let (alias, tool) = match word.split_once(':') {
            Some((alias, tool)) => (alias, Some(tool)),
            None => (word, None),
        };
        let alias = alias.parse().map_err(|_| RuleError::Alias)?;
        Rule::of(alias, tool).map(Self)
    }
}
