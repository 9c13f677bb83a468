//! The messages that carry notifications: of hand-overs, and notices to holders.

use std::{sync::Arc, time::Duration};

use crate::{
    core::Token,
    store::{HolderNotice, Notification, is_reason},
};

/// The word of a request to finish. Behind the tokens come the id of the revocation, the grace in ms, and the reason.
const REVOKE: &str = "revoke";
/// The word of a loss. Nothing comes behind the tokens.
const TAKEN: &str = "taken";

/// Returns the word of a notice, and what comes behind the tokens.
pub(crate) fn written(notice: &HolderNotice) -> (&'static str, String) {
    match notice {
        HolderNotice::RevokeRequested { revocation, reason, grace } => {
            let millis = grace.as_nanos().div_ceil(1_000_000);
            (REVOKE, format!(" {} {millis} {reason}", revocation.hex()))
        }
        HolderNotice::Taken => (TAKEN, String::new()),
    }
}

/// Decodes a message; `None` for one that this library does not send.
pub(crate) fn read(message: String) -> Option<Notification> {
    notice(&message).or_else(|| {
        let (told, token): (fn(Token) -> Notification, &str) = match message.split_at_checked(1)? {
            ("?", token) => (Notification::Next, token),
            ("!", token) => (Notification::GoOn, token),
            _ => (Notification::HandedOver, &message),
        };
        token.parse().ok().map(told)
    })
}

fn notice(message: &str) -> Option<Notification> {
    let (word, rest) = message.split_once(' ')?;
    let (tokens, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let notice = match word {
        REVOKE => {
            let mut fields = rest.splitn(3, ' ');
            let revocation = fields.next()?.parse().ok()?;
            let grace = Duration::from_millis(fields.next()?.parse().ok()?);
            // Whoever may publish to inboxes may have sent it.
            let reason = Arc::from(fields.next().filter(|reason| is_reason(reason))?);
            HolderNotice::RevokeRequested { revocation, grace, reason }
        }
        TAKEN => HolderNotice::Taken,
        _ => return None,
    };
    let tokens: Result<Vec<Token>, _> = tokens.split(',').map(str::parse).collect();
    Some(Notification::ToHolders(tokens.ok()?, notice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_reads_back_whatever_its_reason() {
        let tokens = [Token::from_bits(7), Token::from_bits(8)];
        let listed = format!("{},{}", tokens[0].to_hex(), tokens[1].to_hex());
        for reason in ["deploy", "two  blanks, a comma ", "ü"] {
            let grace = Duration::from_millis(1_500);
            let revocation = Token::from_bits(9);
            let asked = HolderNotice::RevokeRequested { revocation, reason: Arc::from(reason), grace };
            for notice in [asked, HolderNotice::Taken] {
                let (word, behind) = written(&notice);
                match read(format!("{word} {listed}{behind}")) {
                    Some(Notification::ToHolders(to, read)) => {
                        assert_eq!((&to[..], read), (&tokens[..], notice))
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    #[test]
    fn another_message_is_no_notice() {
        let token = Token::from_bits(7).to_hex();
        let messages = ["", "taken", "taken x", "revoke ", "given "].map(str::to_owned);
        let revoke = format!("revoke {token} {token}");
        let torn = format!("{revoke} 9 torn\nin two");
        let short =
            [format!("revoke {token}"), format!("{revoke} soon why"), format!("{revoke} 9 "), torn, token];
        for message in messages.iter().chain(&short) {
            assert!(notice(message).is_none(), "{message:?}");
        }
    }
}
