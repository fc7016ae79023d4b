//! A page of `tests/cli` that a test tells: what is said and shown in it is what its `text` blocks hold.

use serde_json::Value;

use super::{Host, TestContext, stdout};

/// What the page shows.
pub struct Page<'a> {
    context: &'a TestContext,
    text: String,
}

impl<'a> Page<'a> {
    pub fn new(context: &'a TestContext) -> Self {
        Self {
            context,
            text: String::new(),
        }
    }

    /// What the person writes into their settings.
    pub fn settings(&mut self, text: &str) {
        let file = "home/.supervisor/settings.json";
        self.context.make_file(file, text);
        self.line("$ cat ~/.supervisor/settings.json");
        self.line(text);
    }

    pub fn command(&mut self, words: &[&str]) {
        let said = stdout(&self.context.run(words));
        self.shown(words, &said);
    }

    /// A command at a terminal, and its exit code where that is not 0.
    pub fn terminal(&mut self, words: &[&str], answer: &str) {
        let (code, screen) = self.context.at_terminal(words, answer);
        self.shown(words, &screen);
        if code != 0 {
            self.line(&format!("(exit code {code})"));
        }
    }

    /// A host's call of a tool, and what the model is told where it did not pass.
    pub fn call(&mut self, host: &mut Host, tool: &str, arguments: &str) {
        let given: Value = serde_json::from_str(arguments).unwrap();
        let params = serde_json::json!({"name": tool, "arguments": given});
        let answer = host.request("tools/call", &params);
        let refused = &answer["result"]["content"][0]["text"];
        let said = refused.as_str().unwrap_or("passed on");
        let arguments = if arguments == "{}" { "" } else { arguments };
        self.line(&format!(
            "{}: {said}",
            format!("tools/call {tool} {arguments}").trim_end()
        ));
    }

    /// One line more; the home is `~`.
    pub fn line(&mut self, line: &str) {
        let home = self.context.path("home");
        self.text += &line.replace(home.to_str().unwrap(), "~");
        self.text.push('\n');
    }

    /// Times are another each time.
    fn shown(&mut self, words: &[&str], said: &str) {
        self.line(&format!("$ supervisor {}", words.join(" ")));
        for line in said.lines() {
            match line.split_once(", seen ") {
                Some((before, _)) => self.line(&format!("{before}, seen …")),
                None => self.line(line.trim_end()),
            }
        }
    }

    /// The page says that, block by block.
    #[track_caller]
    pub fn is_told_by(&self, written: &str) {
        let blocks: String = written
            .split("```text\n")
            .skip(1)
            .map(|rest| rest.split("```").next().unwrap())
            .collect();
        let text = &self.text;
        assert!(blocks == *text, "the page says otherwise:\n{text}");
    }
}
