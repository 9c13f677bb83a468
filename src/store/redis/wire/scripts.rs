//! The Lua scripts as they are sent: one for each verb and layout, put together from the files in `lua`.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
    sync::LazyLock,
};

use redis::{Pipeline, Script};

macro_rules! scripts {
    ($($name:ident = $file:literal;)*) => {
        $(pub(crate) static $name: LazyLock<Script> = LazyLock::new(|| Script::new(&whole(include_str!($file))));)*

        /// Returns the pipeline that loads all scripts. It is sent on every new connection: a call that is executed
        /// after its caller gave up then cannot fail for want of its script, which for a release would leave the lock
        /// behind.
        pub(crate) fn loading() -> Pipeline {
            let mut pipeline = redis::pipe();
            $(pipeline.load_script(&$name).ignore();)*
            pipeline
        }

        #[cfg(test)]
        const VERBS: &[(&str, &str)] = &[$(($file, include_str!($file))),*];
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

/// Returns a script with its includes replaced by the shared parts, without comments, and with short names.
fn whole(verb: &str) -> String {
    let parts = [
        ("-- include alone.lua\n", include_str!("lua/alone.lua")),
        ("-- include time.lua\n", include_str!("lua/time.lua")),
        ("-- include fence.lua\n", include_str!("lua/fence.lua")),
        ("-- include holders.lua\n", include_str!("lua/holders.lua")),
        ("-- include bounded.lua\n", include_str!("lua/bounded.lua")),
        ("-- include stepped.lua\n", include_str!("lua/stepped.lua")),
        ("-- include notices.lua\n", include_str!("lua/notices.lua")),
        ("-- include admission.lua\n", include_str!("lua/admission.lua")),
        ("-- include queue.lua\n", include_str!("lua/queue.lua")),
        ("-- include attempt.lua\n", include_str!("lua/attempt.lua")),
        ("-- include releasing.lua\n", include_str!("lua/releasing.lua")),
        ("-- include plain/holder.lua\n", include_str!("lua/plain/holder.lua")),
        ("-- include batch.lua\n", include_str!("lua/batch.lua")),
    ];
    let text = parts.iter().fold(verb.to_owned(), |text, (include, part)| text.replace(include, part));
    let lines = text.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with("--"));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    let text = text.replace("redis.call(", "call(").replace("redis.pcall(", "try(");
    let text = text.replace("string.match(", "match(").replace("string.sub(", "sub(");
    let text = text.replace("string.format(", "formatted(");
    shortened(&format!(
        "local call, try, match, sub, formatted = redis.call, redis.pcall, string.match, string.sub, string.format\n{text}"
    ))
}

/// The names that are not ours, and stay as they are.
const NAMES_OF_LUA: &str = "and break do else elseif end false for function if in local nil not or repeat return then true \
    until while error ipairs math ceil floor max min pcall string byte find format gsub lower match sub table concat tonumber type unpack \
    redis call err KEYS ARGV";

/// Shortens names to one or two letters, the most frequent ones most, and removes needless blanks. Text in quotes stays as it is.
fn shortened(text: &str) -> String {
    let names = short_names(text);
    let mut short = String::new();
    for (number, part) in text.split('\'').enumerate() {
        if number > 0 {
            short.push('\'');
        }
        if number % 2 == 1 {
            short.push_str(part);
            continue;
        }
        let mut left = part;
        while let Some(first) = left.chars().next() {
            let end = if is_word(first) { left.find(|c| !is_word(c)) } else { Some(1) };
            let (word, rest) = left.split_at(end.unwrap_or(left.len()));
            left = rest;
            let before = short.chars().next_back().unwrap_or(' ');
            if word == " " {
                let between_words = is_word(before) && rest.starts_with(is_word);
                if between_words || before.is_ascii_digit() && rest.starts_with('.') {
                    short.push(' ');
                }
            } else {
                short.push_str(names.get(word).map_or(word, String::as_str));
            }
        }
    }
    short
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns the short name of each of our names that is longer.
fn short_names(text: &str) -> HashMap<&str, String> {
    let kept: HashSet<_> = NAMES_OF_LUA.split_whitespace().collect();
    let code = text.split('\'').step_by(2);
    let words = code.flat_map(|code| code.split(|c| !is_word(c)));
    let names = words.filter(|word| {
        word.len() > 2 && !word.starts_with(|c: char| c.is_ascii_digit()) && !kept.contains(word)
    });
    let mut frequency = BTreeMap::<_, usize>::new();
    names.for_each(|name| *frequency.entry(name).or_default() += 1);
    let mut names: Vec<_> = frequency.into_iter().collect();
    names.sort_by_key(|(_, times)| Reverse(*times));
    names.into_iter().enumerate().map(|(number, (name, _))| (name, short_name(number))).collect()
}

/// Returns a short name. It begins with a capital, because names of our own begin with a small letter.
fn short_name(number: usize) -> String {
    let letter = |first: u8, number: usize| char::from(first + (number % 26) as u8);
    match number.checked_sub(26) {
        None => letter(b'A', number).to_string(),
        Some(more) => [letter(b'A', more / 26), letter(b'a', more)].iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::{env, fs, path::Path};

    use super::*;

    #[test]
    fn scripts_may_be_sent_by_who_has_not_said_the_password_yet() {
        // A server that wants a password does not say so if it is sent more than this: it closes the connection.
        const MOST: usize = 16_384;
        for (_, verb) in VERBS {
            let script = whole(verb);
            assert!(script.len() < MOST, "{}", script.len());
            assert!(!script.contains("-- ") && !script.contains("include"), "{script}");
        }
    }

    /// Clients of two versions share the keys of a server. So a change of what is sent has to be seen by whoever makes it:
    /// with `LEASEHOLD_GOLDEN=write` the file is written anew.
    #[test]
    fn the_scripts_that_are_sent_are_those_of_the_golden_file() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/redis/wire/golden.txt");
        let sent: String = VERBS.iter().map(|(file, verb)| line(file, &whole(verb))).collect();
        if env::var_os("LEASEHOLD_GOLDEN").is_some_and(|told| told == "write") {
            fs::write(&golden, &sent).unwrap();
        }
        let known = fs::read_to_string(&golden).unwrap_or_default();
        let changed: Vec<_> =
            sent.lines().filter(|line| !known.lines().any(|known| known == *line)).collect();
        assert!(changed.is_empty(), "other than in {}: {changed:#?}", golden.display());
        assert_eq!(known.lines().count(), VERBS.len(), "{} has scripts that are not sent", golden.display());
    }

    /// The line of a script: its name, its length, and the SHA-1 by which a server knows it.
    fn line(file: &str, script: &str) -> String {
        format!(
            "{:24} {:5} {}\n",
            file.trim_start_matches("lua/"),
            script.len(),
            Script::new(script).get_hash()
        )
    }
}
