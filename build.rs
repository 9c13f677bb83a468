//! Makes the Lua scripts, as they are sent, from their sources: with the shared parts, without comments, and with short names.
//!
//! A server reads no more than 16 KiB from a client that has not said its password, and the text of each script has to fit.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
    env, fs, io,
    path::Path,
};

const SOURCES: &str = "src/store/redis/wire/lua";

/// The parts that scripts include, in an order in which none includes an earlier one.
const PARTS: [&str; 14] = [
    "alone.lua",
    "near.lua",
    "time.lua",
    "fence.lua",
    "holders.lua",
    "bounded.lua",
    "stepped.lua",
    "notices.lua",
    "admission.lua",
    "queue.lua",
    "attempt.lua",
    "releasing.lua",
    "plain/holder.lua",
    "batch.lua",
];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={SOURCES}");
    let out = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    let read =
        |part| Ok((format!("-- include {part}\n"), fs::read_to_string(Path::new(SOURCES).join(part))?));
    let parts = PARTS.into_iter().map(read).collect::<io::Result<Vec<_>>>()?;
    for folder in ["", "plain"] {
        let out = Path::new(&out).join("lua").join(folder);
        fs::create_dir_all(&out)?;
        for file in fs::read_dir(Path::new(SOURCES).join(folder))? {
            let file = file?;
            if file.file_type()?.is_file() {
                fs::write(out.join(file.file_name()), whole(fs::read_to_string(file.path())?, &parts))?;
            }
        }
    }
    Ok(())
}

/// Returns a script as it is sent.
fn whole(verb: String, parts: &[(String, String)]) -> String {
    let text = parts.iter().fold(verb, |text, (include, part)| text.replace(include, part));
    let lines = text.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with("--"));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    let ours = |name: &str| format!("our_{}", name.replace('.', "_"));
    let text = OFTEN_CALLED
        .iter()
        .fold(text, |text, name| text.replace(&format!("{name}("), &format!("{}(", ours(name))));
    let ours = OFTEN_CALLED.map(ours).join(", ");
    shortened(&format!("local {ours} = {}\n{text}", OFTEN_CALLED.join(", ")))
}

/// The functions for which names of ours are made, which become short.
const OFTEN_CALLED: [&str; 7] =
    ["redis.call", "redis.pcall", "string.match", "string.sub", "string.format", "math.max", "tonumber"];

/// The names that are not ours, and stay as they are.
const NAMES_OF_LUA: &str = "and break do else elseif end false for function if in local nil not or repeat return then true \
    until while error ipairs math ceil floor max min pcall string byte find format gsub lower match sub table concat tonumber type unpack \
    redis call err KEYS ARGV";

/// Shortens names to one or two letters, the most frequent ones most, and removes needless blanks and line breaks. Text in quotes
/// stays as it is.
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
            if word == " " || word == "\n" {
                let between_words = is_word(before) && rest.starts_with(is_word);
                if between_words || before.is_ascii_digit() && rest.starts_with('.') {
                    short.push_str(word);
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
