//! Arguments that are not understood, told in one line; and the version with all that was compiled in.

use std::{
    env,
    ffi::{OsStr, OsString},
    process::ExitCode,
    sync::LazyLock,
};

use clap::{CommandFactory, Error, Parser, error::ErrorKind};
use leasehold_console::view::printable;

use crate::{Options, print, run};

/// The answer to `--version`.
pub(crate) static VERSION: LazyLock<String> = LazyLock::new(|| {
    let [version, system, machine] =
        [env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH];
    let mut stores = vec!["redis", "redis+unix", "redis+sentinel", "redis+cluster", "quorum", "memory"];
    if leasehold::FEATURES.contains(&"tls") {
        stores.insert(1, "rediss");
    }
    format!(
        "{version}\nstores    {}\nlayouts   full, plain\nfeatures  {}\nbuilt for {system} on {machine}",
        stores.join(", "),
        leasehold::FEATURES.join(", ")
    )
});

/// Tells an error of the arguments in one line, or shows the help or the version that was asked for. Returns the exit code,
/// which `run` has of its own: its others belong to its command.
pub(crate) fn tell(error: &Error) -> ExitCode {
    if is_asked_for(error) {
        // There is nobody else to tell.
        let _ = error.print();
    } else {
        let arguments: Vec<OsString> = env::args_os().skip(1).collect();
        print::note(&format!("leasehold: {}", line(error, &arguments)));
        if env::args_os().nth(1).is_some_and(|command| command == "run") {
            return ExitCode::from(run::USAGE);
        }
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(u8::MAX))
}

/// Returns true if this is no fault, but the help or the version.
pub(crate) fn is_asked_for(error: &Error) -> bool {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    matches!(error.kind(), DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand)
}

/// Returns the text of an error of these arguments in one line: what is wrong, what may be meant, and where more is said.
pub(crate) fn line(error: &Error, arguments: &[OsString]) -> String {
    let shown: Vec<OsString> = arguments.iter().map(|argument| without_address(argument)).collect();
    // The parser changes what it repeats. So it reads what may be shown, and nothing else.
    let name = OsString::from("leasehold");
    let again = Options::try_parse_from([&name].into_iter().chain(&shown)).err();
    let again = again.filter(|again| again.kind() == error.kind());
    let told = match &again {
        Some(again) => in_one_line(&again.render().to_string()),
        None => error.kind().as_str().unwrap_or("not understood").to_owned(),
    };
    // That text does not say which.
    let is_it = |(argument, shown): &(&OsString, &OsString)| match error.kind() {
        ErrorKind::InvalidUtf8 => argument.to_str().is_none(),
        _ => again.is_none() && argument != shown,
    };
    let wrong = arguments.iter().zip(&shown).find(is_it);
    let told = wrong.iter().fold(told, |told, (_, shown)| format!("{told} '{}'", shown.display()));
    format!("{}; see '{} --help'", printable(&told), asked(arguments))
}

/// Returns what an error of the parser says, without the usage.
fn in_one_line(text: &str) -> String {
    let told = text.split("Usage: ").next().unwrap_or_default();
    let told = told.split("For more information").next().unwrap_or_default();
    let parts = told.lines().map(str::trim).filter(|part| !part.is_empty());
    parts.fold(String::new(), |told, part| {
        let part = part.strip_prefix("error: ").unwrap_or(part);
        match part.strip_prefix("tip: ") {
            Some(tip) => format!("{told}; {tip}"),
            None if told.is_empty() => part.to_owned(),
            None => format!("{told} {part}"),
        }
    })
}

/// Returns an argument without what may be an address with a password, all behind a colon, and without a ticket or a token.
fn without_address(argument: &OsStr) -> OsString {
    let text = argument.to_string_lossy();
    let shown = match text.split_once(':') {
        Some((front, rest)) if ["//", "@", "pass"].iter().any(|sign| rest.contains(sign)) => {
            format!("{front}:{}…", if rest.starts_with("//") { "//" } else { "" })
        }
        _ => text.to_string(),
    };
    let digits = shown.split(|letter: char| !letter.is_ascii_hexdigit()).find(|digits| digits.len() >= 16);
    match shown.find("{\"").or_else(|| shown.find(digits?)) {
        Some(at) => format!("{}…", &shown[..at]).into(),
        None if shown == text => argument.to_owned(),
        None => shown.into(),
    }
}

/// Returns the words of the command that these arguments begin with. The text of an error has them only in its usage, and
/// that of a wrong value has no usage.
fn asked(arguments: &[OsString]) -> String {
    let root = Options::command();
    let (mut command, mut words) = (&root, String::from("leasehold"));
    for argument in arguments {
        let Some(below) = command.find_subcommand(argument) else { break };
        words = format!("{words} {}", below.get_name());
        command = below;
    }
    words
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use clap::Command;

    use super::*;

    fn told(arguments: &[impl AsRef<OsStr>]) -> String {
        let arguments: Vec<OsString> =
            arguments.iter().map(|argument| argument.as_ref().to_owned()).collect();
        let name = OsString::from("leasehold");
        let error = Options::try_parse_from([&name].into_iter().chain(&arguments)).err().expect("an error");
        line(&error, &arguments)
    }

    #[test]
    fn what_is_not_understood_is_told_in_one_line_with_what_may_be_meant() {
        for (arguments, expected) in [
            (&["lss"][..], &["'lss'", "'ls'", "see 'leasehold --help'"][..]),
            (&["ls", "--jsn"], &["'--jsn'", "'--json'", "see 'leasehold ls --help'"]),
            (&["show"], &["required", "<NAME>", "see 'leasehold show --help'"]),
            (&["schedules", "puase", "x"], &["'puase'", "'pause'", "see 'leasehold schedules --help'"]),
            (&["show", ""], &["1 to 512 bytes", "see 'leasehold show --help'"]),
            (&["schedules", "pause", ""], &["1 to 512 bytes", "see 'leasehold schedules pause --help'"]),
            (
                &["tune", "simulate", "--workload", "x", "--set", "a"],
                &["see 'leasehold tune simulate --help'"],
            ),
            (&["revoke", "x", "--grace", "soon"], &["soon", "--grace", "see 'leasehold revoke --help'"]),
        ] {
            let told = told(arguments);
            assert!(told.lines().count() == 1 && expected.iter().all(|part| told.contains(part)), "{told}");
        }
    }

    #[test]
    fn an_argument_that_is_no_text_is_named() {
        let told = told(&[OsStr::new("ls"), OsStr::new("--store"), OsStr::from_bytes(b"a\xad")]);
        assert!(told.contains("UTF-8") && told.contains("'a\u{fffd}'"), "{told}");
    }

    #[test]
    fn an_argument_with_an_address_is_named_without_its_password() {
        let forgotten = told(&["ls", "orders", "redis://:hunter2@a.example"]);
        assert!(forgotten.contains("'redis://…'") && !forgotten.contains("hunter2"), "{forgotten}");
        let not_text =
            [OsStr::new("ls"), OsStr::new("--store"), OsStr::from_bytes(b"redis://:hunter2\xad@a")];
        let not_text = told(&not_text);
        assert!(not_text.contains("'redis://…'") && !not_text.contains("hunter2"), "{not_text}");
    }

    #[test]
    fn a_ticket_or_a_token_that_is_not_understood_is_not_shown() {
        let token = "0123456789abcdef".repeat(2);
        let ticket = format!(r#"{{"version":1,"resource":"orders/42","token":"{token}"}}"#);
        let nearly = format!("{}x", &token[1..]);
        for wrong in [
            &["renew", &ticket][..],
            &["release", "orders/42", &token],
            &["release", "orders/42", &nearly],
            &["release", "a", &ticket],
        ] {
            let told = told(wrong);
            assert!(!told.contains(&token[1..9]) && told.contains('…'), "{told}");
        }
    }

    #[test]
    fn no_password_is_shown_whatever_characters_are_around_it() {
        let odd = [
            "",
            "{\"",
            "0123456789abcdef0123456789abcdef",
            "\t",
            "\n",
            "\r\n",
            "\u{1b}[0m",
            "\u{4}",
            "\0",
            "\u{9b}",
            "\u{85}",
            "\u{202e}",
            " ",
            "Usage: ",
            "error: ",
        ];
        let mut refused = 0;
        for (odd, place) in odd.iter().flat_map(|odd| (0..5).map(move |place| (odd, place))) {
            let parts = ["redis:", "//user:", "hunter", "2", "@a.example", ""];
            let address = parts.iter().enumerate().fold(String::new(), |address, (number, part)| {
                format!("{address}{part}{}", if number == place { odd } else { "" })
            });
            let (flag, long) = (format!("--stor={address}"), address.repeat(40));
            for wrong in [
                &["ls", "x", &address][..],
                &["ls", &flag],
                &[&address],
                &["revoke", "x", "--grace", &address],
                &["run", "x", "--permits", &address, "true"],
                &["tune", "simulate", "--workload", "x", "--set", &address],
                &["show", &long],
                &["completions", &address],
            ] {
                let told = told(wrong);
                let is_shown = told.contains("hunter") || told.contains("user");
                assert!(!is_shown && told.lines().count() == 1, "{wrong:?}: {told}");
                refused += 1;
            }
        }
        assert_eq!(refused, odd.len() * 5 * 8);
    }

    /// Calls this for a command and all below it, with the words that lead to each.
    fn each(command: &Command, path: &str, see: &mut dyn FnMut(&str, &Command)) {
        see(path, command);
        let below =
            command.get_subcommands().filter(|below| below.get_name() != "help" && !below.is_hide_set());
        for below in below {
            each(below, &format!("{path} {}", below.get_name()), see);
        }
    }

    #[test]
    fn the_help_of_every_command_fits_a_screen_and_has_an_example() {
        let mut root = Options::command();
        root.build();
        let (mut seen, mut wrong) = (0, Vec::new());
        each(&root, "leasehold", &mut |path, _| {
            let words = path.split(' ').chain(["--help"]);
            let asked = Options::command().term_width(100).try_get_matches_from(words);
            let help = asked.expect_err("help").render().to_string();
            let lines = help.lines().count();
            if lines > 50 || !help.contains("Example") || !help.contains(path) {
                wrong.push(format!("{path}: {lines} lines\n{help}"));
            }
            seen += 1;
        });
        assert!(wrong.is_empty(), "{} of {seen}:\n{}", wrong.len(), wrong.join("\n"));
        assert!(seen > 20, "{seen} commands");
    }

    #[test]
    fn the_table_of_commands_has_all_of_them() {
        let page = include_str!("../../docs/cli.md");
        let (_, table) = page.split_once("\n## Commands\n").expect("a heading");
        let table = table.split("\n\n`leasehold COMMAND").next().unwrap_or_default();
        let is_told = |name: &str| {
            table.lines().any(|row| {
                let words = row.strip_prefix("| `").and_then(|row| row.split(['`', ' ']).next());
                words == Some(name)
            })
        };
        let command = Options::command();
        let missing: Vec<&str> =
            command.get_subcommands().map(Command::get_name).filter(|name| !is_told(name)).collect();
        assert!(missing.is_empty(), "docs/cli.md does not tell of {missing:?}");
    }
}
