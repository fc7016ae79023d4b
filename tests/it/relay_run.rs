//! What the relay sees of a server through the stages that started it.

use serde_json::json;

use crate::attack::WITHOUT;
use crate::support::{Host, TestContext, Who, everybody};

/// A server that closes its output and lives on: the pipe must end with it, though others on the
/// way to the server had it too.
#[test]
fn a_server_that_closes_its_output_is_seen_to_do_so() {
    let program = TestContext::program("fixture-server");
    for who in everybody() {
        let context = TestContext::new(who);
        context.approved("s", &[], &[&program, "close-stdout"]);
        context.approved("w", &WITHOUT, &[&program, "close-stdout"]);
        let mut commands = vec![context.supervisor(&["run", "s"])];
        if who == Who::Ordinary {
            commands.push(context.without_namespaces(&["run", "w"]));
        }
        for command in commands {
            let mut host = Host::start(command);
            host.initialize();
            let call = json!({"name": "go", "arguments": {}});
            let answer = host.request("tools/call", &call);
            assert_eq!(answer["error"]["data"]["code"], "server-ended", "{answer}");
            // The host has not closed anything: the run ends because the server did.
            let (code, words) = host.wait();
            assert_ne!(code, 0, "{words}");
        }
    }
}
