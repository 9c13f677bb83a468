//! Just enough of Rust's grammar to find the paths in a text.

/// The code of a text: comments and the insides of strings are left out.
pub(crate) fn code_of(text: &str) -> String {
    let (mut code, mut rest) = (String::new(), text);
    while let Some(next) = rest.chars().next() {
        let skipped = skipped(rest, code.chars().next_back());
        if skipped == 0 {
            code.push(next);
            rest = &rest[next.len_utf8()..];
        } else {
            code.push(' ');
            rest = &rest[skipped..];
        }
    }
    code
}

/// How many bytes at the start of the text are a comment, a string or a character.
fn skipped(text: &str, before: Option<char>) -> usize {
    let up_to =
        |end: &str, from: usize| text[from..].find(end).map_or(text.len(), |at| from + at + end.len());
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if text.starts_with("//") {
        return up_to("\n", 0);
    }
    if text.starts_with("/*") {
        return up_to("*/", 2);
    }
    if let Some(raw) = text.strip_prefix('r').filter(|_| !in_word) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            return up_to(&format!("\"{}", "#".repeat(hashes)), hashes + 2);
        }
    }
    if let Some(inside) = text.strip_prefix('"') {
        return 1 + quoted(inside, '"');
    }
    // `'a` is a lifetime, `'a'` and `'\''` are characters.
    let mut chars = text.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some('\''), Some('\\'), _) | (Some('\''), Some(_), Some('\'')) => 1 + quoted(&text[1..], '\''),
        _ => 0,
    }
}

/// How many bytes go by up to and with the quote that ends it.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Every path in the code, those of `use` with their braces spread out, and whether it stands in a nested module.
pub(crate) fn paths_of(code: &str) -> Vec<(bool, String)> {
    let mut paths = Vec::new();
    let mut nested = false;
    for statement in code.split_inclusive(';') {
        nested |= statement.contains("mod tests {");
        let words = |at: usize| statement[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let start = statement.match_indices("use ").map(|(at, _)| at).find(|at| !words(*at));
        let (plain, tree) = start.map_or((statement, ""), |at| (&statement[..at], &statement[at + 4..]));
        paths.extend(inline(plain).map(|path| (nested, path)));
        if !tree.is_empty() {
            spread("", tree.trim_end_matches(';'), &mut |path| paths.push((nested, path)));
        }
    }
    paths
}

/// The paths of two or more steps outside of `use`.
fn inline(code: &str) -> impl Iterator<Item = String> {
    let of_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = code.split(move |c| !of_path(c)).map(|word| word.trim_end_matches(':'));
    words.filter(|word| word.contains("::")).map(str::to_owned)
}

/// `a::{b, c::{d, e}}` is `a::b`, `a::c::d`, `a::c::e`.
fn spread(prefix: &str, tree: &str, found: &mut impl FnMut(String)) {
    let tree = tree.trim();
    let Some((head, body)) = tree.split_once('{') else {
        let name = tree.split(" as ").next().unwrap_or_default().trim();
        return found(format!("{prefix}{name}"));
    };
    let body = body.rsplit_once('}').map_or(body, |(body, _)| body);
    let (mut depth, mut from) = (0, 0);
    for (at, c) in body.char_indices().chain([(body.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !body[from..at].trim().is_empty() {
                    spread(&format!("{prefix}{}", head.trim()), &body[from..at], found);
                }
                from = at + 1;
            }
            _ => {}
        }
    }
}
