//! The words with which a script fails over a value that only others write.

/// Returns true if a script came upon a value that it could not work with. It may have been half-way.
pub(crate) fn is_about_a_value(detail: &str) -> bool {
    const WORDS: [&str; 7] = [
        "attempt to perform arithmetic",
        "attempt to compare",
        "attempt to concatenate",
        "attempt to index",
        "bad argument #",
        "value is not an integer",
        "is not a valid float",
    ];
    WORDS.iter().any(|words| detail.contains(words))
}

#[cfg(test)]
mod tests {
    use crate::store::{Certainty, redis::net::errors::within_script};

    #[test]
    fn a_script_that_fails_over_a_value_tells_of_something_foreign() {
        for text in [
            "user_script:7: attempt to index a nil value",
            "ERR user_script:7: attempt to compare nil with number script: 0a, on @user_script:7.",
            "user_script:7: bad argument #1 to 'match' (string expected, got boolean)",
            "ERR hash value is not an integer",
        ] {
            let error = within_script(text);
            assert_eq!((error.kind(), error.certainty()), ("corrupt", Certainty::Unknown), "{text}");
        }
    }
}
