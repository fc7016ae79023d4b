//! The person's rules for calls: which pass, which are put to them, which are refused.
//!
//! Pure. Deny wins, then ask, then allow, then the default; what the administrator requires is the
//! least that comes of it. A rule names a server or one of its tools by the whole name: a pattern
//! would let a tool in that nobody thought of.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::declaration::Alias;
use crate::text::is_printable;

/// The longest name of a tool that a rule may hold, in characters.
const LONGEST: usize = 256;

/// What a server may ask a host for, by its name in the protocol: an answer of the person.
pub(super) const ELICITATION: &str = "elicitation/create";
/// An answer of the model.
pub(super) const SAMPLING: &str = "sampling/createMessage";
/// The roots.
pub(super) const ROOTS: &str = "roots/list";

/// What becomes of a call; the later, the stricter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Action {
    /// It passes; the host asks its person, or not.
    #[default]
    Allow,
    /// It is put to the person first.
    Ask,
    /// It is refused.
    Deny,
}

impl Action {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// What a rule names of a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// `Mcp(weather)`: all that it can be asked to do.
    Server,
    /// `Mcp(weather:*)`: every tool.
    Tools,
    /// `Mcp(weather:get_alerts)`: one tool; `Mcp(weather:roots/list)`: what it asks the host for.
    Tool(String),
}

/// A rule: `Mcp(alias)`, `Mcp(alias:*)` or `Mcp(alias:tool)`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    alias: Alias,
    what: What,
}

/// A word that is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// Another word altogether.
    #[error("a rule is `Mcp(alias)`, `Mcp(alias:tool)` or `Mcp(alias:*)`")]
    Form,
    /// What stands before the colon.
    #[error("what a rule names first is an alias")]
    Alias,
    /// A pattern.
    #[error("a rule names a tool by its whole name, or every tool by `*`")]
    Pattern,
    /// What a server asks the host for, in a list where that has no meaning.
    #[error("what a server asks the host for can stand under `deny` alone")]
    Request,
    /// Not one tool, where a category is said.
    #[error("a category is of one tool, by its whole name: `Mcp(alias:tool)`")]
    NoTool,
    /// Nothing, a word with blanks around it, or what does not print.
    #[error("no tool can be called so")]
    Tool,
}

impl Rule {
    /// The rule for a server, or for a tool of it.
    ///
    /// # Errors
    /// A name that no rule may hold.
    pub(crate) fn of(alias: Alias, tool: Option<&str>) -> Result<Self, RuleError> {
        let what = match tool {
            None => What::Server,
            Some("*") => What::Tools,
            Some(tool) if tool.contains(['*', '?']) => return Err(RuleError::Pattern),
            Some(tool) => {
                let printable = tool.chars().all(is_printable) && tool.chars().count() <= LONGEST;
                if tool.is_empty() || tool.trim() != tool || !printable {
                    return Err(RuleError::Tool);
                }
                What::Tool(tool.to_owned())
            }
        };
        Ok(Self { alias, what })
    }

    /// Whose rule it is.
    pub(crate) fn alias(&self) -> &Alias {
        &self.alias
    }

    /// The one tool that it names.
    pub(crate) fn tool(&self) -> Option<&str> {
        match &self.what {
            What::Tool(tool) => Some(tool),
            What::Server | What::Tools => None,
        }
    }

    /// What stands behind the colon, where there is one.
    pub(crate) fn about(&self) -> Option<&str> {
        match &self.what {
            What::Server => None,
            What::Tools => Some("*"),
            What::Tool(tool) => Some(tool),
        }
    }

    /// It as `supervisor rules` takes it.
    pub(crate) fn typed(&self) -> String {
        match self.about() {
            None => self.alias.to_string(),
            Some(about) => format!("{}:{about}", self.alias),
        }
    }

    /// Whether it is about what a server asks the host for: that is denied or not, since whether to
    /// ask its person is the host's to decide.
    pub(crate) fn is_request(&self) -> bool {
        self.tool()
            .is_some_and(|name| [ELICITATION, SAMPLING, ROOTS].contains(&name))
    }

    /// Whether that tool is the one that it names.
    pub(crate) fn is_of(&self, alias: &str, tool: &str) -> bool {
        self.alias.as_str() == alias && self.tool() == Some(tool)
    }

    fn names(&self, alias: &str, tool: &str) -> bool {
        self.alias.as_str() == alias
            && match &self.what {
                What::Server | What::Tools => true,
                What::Tool(name) => name == tool,
            }
    }

    fn names_server(&self, alias: &str) -> bool {
        self.what == What::Server && self.alias.as_str() == alias
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alias = &self.alias;
        match &self.what {
            What::Server => write!(f, "Mcp({alias})"),
            What::Tools => write!(f, "Mcp({alias}:*)"),
            What::Tool(tool) => write!(f, "Mcp({alias}:{tool})"),
        }
    }
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(word: &str) -> Result<Self, RuleError> {
        let inner = word
            .strip_prefix("Mcp(")
            .and_then(|rest| rest.strip_suffix(')'))
            .ok_or(RuleError::Form)?;
        let (alias, tool) = match inner.split_once(':') {
            Some((alias, tool)) => (alias, Some(tool)),
            None => (inner, None),
        };
        Self::of(alias.parse().map_err(|_| RuleError::Alias)?, tool)
    }
}

/// What decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// This rule of the person's.
    Rule(Rule),
    /// `permissions.default`.
    Default,
    /// The administrator's floor.
    Floor,
}

/// What becomes of a call, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) action: Action,
    pub(crate) by: By,
}

/// The rules of `settings.json`, and what the administrator requires.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Refused, whatever else is said.
    pub deny: Vec<Rule>,
    /// Put to the person, unless refused.
    pub ask: Vec<Rule>,
    /// Passed on, unless one of those names it.
    pub allow: Vec<Rule>,
    /// What no rule names.
    pub default: Action,
    /// The least that comes of any call.
    pub floor: Action,
}

impl Permissions {
    /// What becomes of a call of a tool.
    pub(crate) fn call(&self, alias: &str, tool: &str) -> Decision {
        let named = |rules: &[Rule]| rules.iter().find(|rule| rule.names(alias, tool)).cloned();
        let lists = [
            (Action::Deny, &self.deny),
            (Action::Ask, &self.ask),
            (Action::Allow, &self.allow),
        ];
        let decided = lists
            .into_iter()
            .find_map(|(action, rules)| named(rules).map(|rule| (action, By::Rule(rule))));
        let (action, by) = decided.unwrap_or((self.default, By::Default));
        if action < self.floor {
            let action = self.floor;
            return Decision {
                action,
                by: By::Floor,
            };
        }
        Decision { action, by }
    }

    /// The rule that refuses all that a server can be asked to do.
    pub(crate) fn denies_server(&self, alias: &str) -> Option<&Rule> {
        self.deny.iter().find(|rule| rule.names_server(alias))
    }

    /// The rule that denies what a server asks the host for.
    pub(super) fn denies_request(&self, alias: &str, method: &str) -> Option<&Rule> {
        let named = |rule: &&Rule| rule.what == What::Tool(method.to_owned());
        self.deny
            .iter()
            .find(|rule| rule.names_server(alias) || (rule.alias.as_str() == alias && named(rule)))
    }

    /// Whether any call to that server may be refused or put to somebody: then each must say which
    /// tool it is for.
    pub(crate) fn rule(&self, alias: &str) -> bool {
        let stricter = self.deny.iter().chain(&self.ask);
        self.default > Action::Allow
            || self.floor > Action::Allow
            || stricter
                .into_iter()
                .any(|rule| rule.alias.as_str() == alias)
    }

    /// Every rule with the list that it stands in.
    pub(crate) fn listed(&self) -> impl Iterator<Item = (Action, &Rule)> {
        let with = |action| move |rule| (action, rule);
        self.deny
            .iter()
            .map(with(Action::Deny))
            .chain(self.ask.iter().map(with(Action::Ask)))
            .chain(self.allow.iter().map(with(Action::Allow)))
    }
}

#[cfg(test)]
#[path = "permissions_tests.rs"]
mod tests;
