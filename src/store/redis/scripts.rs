//! The Lua scripts as they are sent: one for each verb and layout, put together from the files in `lua`.

use std::sync::LazyLock;

use redis::{Pipeline, Script};

macro_rules! scripts {
    ($($name:ident = $file:literal;)*) => {
        $(pub(super) static $name: LazyLock<Script> = LazyLock::new(|| Script::new(&whole(include_str!($file))));)*

        /// Loads all scripts. Sent on every new connection: a call that is executed after its caller gave up can then
        /// not fail for want of its script, which for a release would leave the lock behind.
        pub(super) fn loading() -> Pipeline {
            let mut pipeline = redis::pipe();
            $(pipeline.load_script(&$name).ignore();)*
            pipeline
        }

        #[cfg(test)]
        const VERBS: &[&str] = &[$(include_str!($file)),*];
    };
}

scripts! {
    ACQUIRE = "lua/acquire.lua";
    ACQUIRE_ALL = "lua/acquire_all.lua";
    RENEW = "lua/renew.lua";
    RELEASE = "lua/release.lua";
    PASS = "lua/pass.lua";
    IS_HELD = "lua/is_held.lua";
    INSPECT = "lua/inspect.lua";
    FORCE_RELEASE = "lua/force_release.lua";
    RAISE = "lua/raise.lua";
    REPORT = "lua/report.lua";
    TEACH = "lua/teach.lua";
    PLAIN_ACQUIRE = "lua/plain/acquire.lua";
    PLAIN_RENEW = "lua/plain/renew.lua";
    PLAIN_RELEASE = "lua/plain/release.lua";
    PLAIN_IS_HELD = "lua/plain/is_held.lua";
    PLAIN_INSPECT = "lua/plain/inspect.lua";
    PLAIN_FORCE_RELEASE = "lua/plain/force_release.lua";
}

/// A script with the parts that it shares where it includes them, without comments, and with short names for what is
/// called most.
fn whole(verb: &str) -> String {
    let parts = [
        ("-- include time.lua\n", include_str!("lua/time.lua")),
        ("-- include fence.lua\n", include_str!("lua/fence.lua")),
        ("-- include holders.lua\n", include_str!("lua/holders.lua")),
        ("-- include admission.lua\n", include_str!("lua/admission.lua")),
        ("-- include queue.lua\n", include_str!("lua/queue.lua")),
        ("-- include attempt.lua\n", include_str!("lua/attempt.lua")),
        ("-- include giving_back.lua\n", include_str!("lua/giving_back.lua")),
        ("-- include plain/holder.lua\n", include_str!("lua/plain/holder.lua")),
        ("-- include batch.lua\n", include_str!("lua/batch.lua")),
    ];
    let text = parts.iter().fold(verb.to_owned(), |text, (place, part)| text.replace(place, part));
    let lines = text.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with("--"));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    let text = text.replace("redis.call(", "call(").replace("redis.pcall(", "try(");
    format!("local call, try = redis.call, redis.pcall\n{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_may_be_sent_by_who_has_not_said_the_password_yet() {
        // To more than this a server does not answer that it wants a password: it closes the connection.
        const MOST: usize = 16_384;
        for verb in VERBS {
            let script = whole(verb);
            assert!(script.len() < MOST, "{}", script.len());
            assert!(!script.contains("-- ") && !script.contains("include"), "{script}");
        }
    }
}
