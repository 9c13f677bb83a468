//! Users with no more rights than the operations guide gives them.

use leasehold_testing::servers::RedisServer;

const GUIDE: &str = include_str!("../../docs/operations.md");

/// The rules of the guide: each is a line that begins with `ACL SETUSER`, for a user of this name.
pub fn rule(user: &str) -> Vec<&'static str> {
    // In the guide a rule goes on in the next line behind a backslash.
    let start = GUIDE.find(&format!("ACL SETUSER {user} ")).expect("a rule in the guide");
    let rule = GUIDE[start..].split("```").next().expect("the rest of its block");
    rule.split_whitespace().filter(|word| *word != "\\").collect()
}

/// Makes a user of the guide known to the server, and answers its URL.
pub fn url_of(server: &RedisServer, user: &str) -> String {
    let rule = rule(user);
    server.command(&rule);
    let password = rule.iter().find_map(|word| word.strip_prefix('>')).expect("a password");
    server.url_for(user, password)
}
