//! The Lua scripts as they are sent: one for each verb and layout. `build.rs` makes them out of the files in `lua`.

use std::sync::LazyLock;

use redis::{Pipeline, Script};

macro_rules! sent {
    ($file:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/", $file))
    };
}

macro_rules! scripts {
    ($($name:ident = $file:literal;)*) => {
        $(pub(crate) static $name: LazyLock<Script> = LazyLock::new(|| Script::new(sent!($file)));)*

        /// Returns the pipeline that loads all scripts. It is sent on every new connection: a call that is executed
        /// after its caller gave up then cannot fail for want of its script, which for a release would leave the lock
        /// behind.
        pub(crate) fn loading() -> Pipeline {
            let mut pipeline = redis::pipe();
            $(pipeline.load_script(&$name).ignore();)*
            pipeline
        }

        #[cfg(test)]
        const VERBS: &[(&str, &str)] = &[$(($file, sent!($file))),*];
    };
}

scripts! {
    ACQUIRE = "lua/acquire.lua";
    ACQUIRE_ALL = "lua/acquire_all.lua";
    RENEW = "lua/renew.lua";
    RELEASE = "lua/release.lua";
    HAND_OFF = "lua/hand_off.lua";
    GIVE_WAY = "lua/give_way.lua";
    IS_HELD = "lua/is_held.lua";
    INSPECT = "lua/inspect.lua";
    FORCE_RELEASE = "lua/force_release.lua";
    CAPACITY = "lua/capacity.lua";
    NOTIFY_HOLDERS = "lua/notify_holders.lua";
    RAISE = "lua/raise.lua";
    REGISTER = "lua/register.lua";
    REPORT = "lua/report.lua";
    TEACH = "lua/teach.lua";
    PLAIN_ACQUIRE = "lua/plain/acquire.lua";
    PLAIN_RENEW = "lua/plain/renew.lua";
    PLAIN_RELEASE = "lua/plain/release.lua";
    PLAIN_IS_HELD = "lua/plain/is_held.lua";
    PLAIN_INSPECT = "lua/plain/inspect.lua";
    PLAIN_FORCE_RELEASE = "lua/plain/force_release.lua";
}

#[cfg(test)]
mod tests {
    use std::{env, fs, path::Path};

    use super::*;

    #[test]
    fn scripts_may_be_sent_by_who_has_not_said_the_password_yet() {
        // A server that wants a password does not say so if it is sent more than this: it closes the connection.
        const MOST: usize = 16_384;
        for (_, script) in VERBS {
            assert!(script.len() < MOST, "{}", script.len());
            assert!(!script.contains("-- ") && !script.contains("include"), "{script}");
        }
    }

    /// Clients of two versions share the keys of a server. So a change of what is sent has to be seen by whoever makes it:
    /// with `LEASEHOLD_GOLDEN=write` the file is written anew.
    #[test]
    fn the_scripts_that_are_sent_are_those_of_the_golden_file() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/redis/wire/golden.txt");
        // The name of each, its length, and the SHA-1 by which a server knows it.
        let line = |(file, script): &(&str, &str)| {
            let (name, length) = (file.trim_start_matches("lua/"), script.len());
            format!("{name:24} {length:5} {}\n", Script::new(script).get_hash())
        };
        let sent: String = VERBS.iter().map(line).collect();
        if env::var_os("LEASEHOLD_GOLDEN").is_some_and(|told| told == "write") {
            fs::write(&golden, &sent).unwrap();
        }
        let known = fs::read_to_string(&golden).unwrap_or_default();
        let changed: Vec<_> =
            sent.lines().filter(|line| !known.lines().any(|known| known == *line)).collect();
        assert!(changed.is_empty(), "other than in {}: {changed:#?}", golden.display());
        assert_eq!(known.lines().count(), VERBS.len(), "{} has scripts that are not sent", golden.display());
    }
}
