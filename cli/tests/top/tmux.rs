//! A terminal of a test's own, in tmux: keys in, screens out.

use std::{
    fs,
    process::{self, Command},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

/// The longest time until a screen shows something, also on a machine that has much else to do.
const SHOWN_WITHIN: Duration = Duration::from_secs(60);

/// A server of tmux with one session of a shell, gone with its value.
pub(crate) struct Tmux {
    socket: String,
}

impl Tmux {
    /// Starts a shell in a terminal of 80 by 24.
    pub(crate) fn start() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let tmux = Self { socket: format!("leasehold-{}-{number}", process::id()) };
        let shell = "env -u ENV PS1='$ ' sh";
        tmux.run(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", shell]);
        tmux.until(|screen| screen.starts_with('$'));
        tmux
    }

    /// Types this text, and presses Enter.
    pub(crate) fn enter(&self, text: &str) {
        self.type_text(text);
        self.press("Enter");
    }

    /// Types this text.
    pub(crate) fn type_text(&self, text: &str) {
        self.run(&["send-keys", "-l", text]);
    }

    /// Presses the key with this name.
    pub(crate) fn press(&self, key: &str) {
        self.run(&["send-keys", key]);
    }

    pub(crate) fn resize(&self, width: u16, height: u16) {
        self.run(&["resize-window", "-x", &width.to_string(), "-y", &height.to_string()]);
    }

    pub(crate) fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    /// Waits until the screen is as expected, and returns it.
    #[track_caller]
    pub(crate) fn until(&self, is_expected: impl Fn(&str) -> bool) -> String {
        let give_up = Instant::now() + SHOWN_WITHIN;
        loop {
            let screen = self.screen();
            if is_expected(&screen) {
                return screen;
            }
            assert!(Instant::now() < give_up, "the screen stays:\n{screen}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the screen has all these parts, and returns it.
    #[track_caller]
    pub(crate) fn shows(&self, parts: &[&str]) -> String {
        self.until(|screen| parts.iter().all(|part| screen.contains(part)))
    }

    /// Waits until the shell says that its terminal takes lines, and not single keys.
    #[track_caller]
    pub(crate) fn takes_lines(&self) {
        self.enter("stty -a | grep -o -w -e -icanon -e icanon");
        self.until(|screen| screen.lines().any(|line| line == "icanon"));
    }

    /// The number of the process that the shell runs.
    pub(crate) fn child(&self) -> u32 {
        let shell = self.run(&["list-panes", "-F", "#{pane_pid}"]);
        let shell = shell.trim();
        let children = fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
        children.split_whitespace().next().expect("a process of the shell").parse().unwrap()
    }

    #[track_caller]
    fn run(&self, arguments: &[&str]) -> String {
        let output = Command::new("tmux")
            .args(["-L", &self.socket])
            .args(arguments)
            .output()
            .expect("tmux must be installed (Debian: apt-get install tmux)");
        assert!(output.status.success(), "tmux {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // It fails only if the server has ended already.
        let _ = Command::new("tmux").args(["-L", &self.socket, "kill-server"]).output();
    }
}
