//! A password that is planted wherever a URL in an input has one, and that nothing may show.

const SECRET: &str = "hunter2secret";

/// Returns the text without the password.
pub(crate) fn without(text: &str) -> String {
    let mut text = text.to_owned();
    // What is left of one that stood inside another may be one.
    while is_in(&text) {
        text = text.replace(SECRET, "");
    }
    text
}

/// Returns the text with the password in each of its URLs, and nowhere else: in front of each `@` behind a `://`, and as the
/// option of a socket.
pub(crate) fn planted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + SECRET.len());
    let mut is_in_url = false;
    for c in without(text).chars() {
        is_in_url = match c {
            '\n' | '"' | '\'' | ' ' => false,
            '/' => is_in_url || out.ends_with(":/"),
            _ => is_in_url,
        };
        if c == '@' && is_in_url {
            out.push_str(SECRET);
        }
        out.push(c);
        if is_in_url && ["?pass=", "?sentinel_password="].iter().any(|option| out.ends_with(option)) {
            out.push_str(SECRET);
        }
    }
    out
}

/// Returns true if the text has the password.
pub(crate) fn is_in(text: &str) -> bool {
    text.contains(SECRET)
}

/// Panics if a text shows the password.
#[track_caller]
pub(crate) fn are_kept(shown: impl AsRef<str>) {
    let shown = shown.as_ref();
    assert!(!is_in(shown), "it shows a password: {shown}");
}
