//! The terminal, which is as it was before in every case: at the end, after an error, a signal or a panic.

use std::{
    io::{self, IsTerminal, stdin, stdout},
    panic, process,
};

use crossterm::{cursor::Show, execute};
use ratatui::DefaultTerminal;

use crate::Failure;

/// Exit code of a Rust program that has panicked.
const PANICKED: i32 = 101;

/// A terminal that belongs to the view until this is dropped.
pub(super) struct OwnTerminal {
    terminal: DefaultTerminal,
}

impl OwnTerminal {
    /// Refuses what is no terminal, before anything else is done.
    pub(super) fn check() -> Result<(), Failure> {
        for (name, is_terminal) in
            [("standard input", stdin().is_terminal()), ("standard output", stdout().is_terminal())]
        {
            if !is_terminal {
                let advice = "run it in one (ssh -t, docker run -it, kubectl exec -it)";
                return Err(format!("top needs a terminal, and {name} is none: {advice}").into());
            }
        }
        Ok(())
    }

    /// Takes the terminal: no echo, no lines, and a screen beside the one that was there.
    pub(super) fn take() -> io::Result<Self> {
        let taken = ratatui::try_init();
        if taken.is_err() {
            // Half of it may have been done.
            ratatui::restore();
        }
        let terminal = taken?;
        give_back_before_a_panic_is_told();
        Ok(Self { terminal })
    }

    pub(super) const fn get(&mut self) -> &mut DefaultTerminal {
        &mut self.terminal
    }
}

impl Drop for OwnTerminal {
    fn drop(&mut self) {
        // The cursor comes back with the drop of the terminal itself.
        ratatui::restore();
    }
}

/// A panic of any thread ends the program: what went on drawing would write over what the panic says.
fn give_back_before_a_panic_is_told() {
    // The hook before this one is that of ratatui, which gives the screen back and then tells the panic.
    let tell = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        tell(info);
        // Nobody is left to whom a failure could be told.
        let _ = execute!(stdout(), Show);
        process::exit(PANICKED);
    }));
}
