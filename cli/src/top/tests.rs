//! Screens as text, compared with those in `cli/tests/golden/top`. `LEASEHOLD_GOLDEN=write` writes them anew.

#[allow(dead_code, reason = "the test of the whole command uses the rest")]
#[path = "../../tests/top/tmux.rs"]
mod tmux;

use std::{collections::BTreeMap, env, fs, path::Path, thread, time::Duration};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use leasehold::{
    Fence, Holder, HolderState, Inspection, Mode, ResourceName, Token, TokenPrefix, store::ServerLoad,
};
use leasehold_console::view::{ResourceView, WaiterView, Who};
use ratatui::{Terminal, backend::TestBackend, buffer::Buffer, layout::Size, style::Color};

use self::tmux::Tmux;
use super::{
    keys::action,
    seen::{Missing, Report, Walk},
    state::{Effect, State},
    terminal::OwnTerminal,
    view::{self, Palette},
};

const SMALL: Size = Size::new(80, 24);
const LARGE: Size = Size::new(200, 60);

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn name(name: impl AsRef<[u8]>) -> ResourceName {
    ResourceName::new(name).unwrap()
}

fn token(number: u64) -> TokenPrefix {
    Token::from_bits(u128::from(number) << 96).prefix()
}

fn metadata(host: &str) -> BTreeMap<String, String> {
    let metadata =
        [("host", host), ("pid", "4123"), ("purpose", "checkout"), ("traceparent", "00-4bf9-00f0-01")];
    metadata.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

/// A look at a resource that a holder with this number and time left holds, and so many wait for.
fn look(resource: &str, holder: u64, left: Duration, waiting: u64) -> (ResourceName, ResourceView) {
    let hold = Holder {
        token: token(holder),
        mode: Mode::Exclusive,
        state: HolderState::Holding,
        owner: None,
        fence: Some(Fence::new(1_790_000_000_000_000 + holder)),
        remaining: left,
        held_for: Some(s(30) - left),
        metadata: metadata("web-1"),
    };
    let wait = |place: u64| WaiterView {
        position: place as usize + 1,
        who: Who::new(Mode::Exclusive, token(1_000 + place), None, &metadata("web-2")),
        waited: Some(s(waiting - place) / 4),
    };
    let waiters = (0..waiting.min(100)).map(wait).collect();
    let found = Inspection { holders: vec![hold], total: 1, waiting, waiters: Vec::new(), capacity: None };
    (name(resource), ResourceView { waiters, ..ResourceView::of(&name(resource), &found) })
}

fn walk(names: impl IntoIterator<Item = ResourceName>, complete: bool) -> Walk {
    Walk { names: names.into_iter().collect(), complete, walked: 31_077 }
}

/// The view of a busy store after four samples: a hot resource that is handed on, one whose renewals are late, a name that has
/// to be shortened, and 9,996 that nobody waits for.
fn busy() -> State {
    const LONG: &str = "accounts/2026-11-23/a-name-that-is-longer-than-its-column/settlement/0001";
    let mut state = State::new("redis://127.0.0.1:6379, prefix leasehold".to_owned(), s(1));
    state.resize(view::rows(SMALL));
    let contended = ["orders/17", "orders/18", "reports/daily", LONG];
    let idle = (0..9_996).map(|number| name(format!("tickets/{number:05}")));
    state.take(Report::Names(Ok(walk(contended.map(name).into_iter().chain(idle), true))), s(0));
    for (second, late) in [(1, s(20)), (2, s(29)), (3, s(12)), (4, s(6))] {
        state.take(Report::Contended(Ok(walk(contended.map(name), true))), s(second));
        let looks = vec![
            look("orders/17", second, s(29), 40 + second),
            look("orders/18", 9, s(25), 2),
            look("reports/daily", 8, late, 1),
            look(LONG, 7, s(11), 3),
            look("tickets/00000", 6, s(18), 0),
        ];
        state.take(Report::Looks(looks, None), s(second));
        let load = ServerLoad::new("127.0.0.1:6379", Duration::from_millis(70) * second as u32);
        state.take(Report::Server(Ok(Some(vec![load]))), s(second));
    }
    state
}

/// Presses keys, a character each; `\n` is Enter, and `\u{1b}` Esc.
fn press(state: &mut State, keys: &str) -> Option<Effect> {
    let code = |key| match key {
        '\n' => KeyCode::Enter,
        '\u{1b}' => KeyCode::Esc,
        key => KeyCode::Char(key),
    };
    let mut effect = None;
    for key in keys.chars() {
        let key = KeyEvent::new(code(key), KeyModifiers::NONE);
        effect = action(state.focus(), key).and_then(|action| state.act(action, s(5)));
    }
    effect
}

fn drawn(state: &mut State, size: Size, palette: Palette) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(size.width, size.height)).unwrap();
    state.resize(view::rows(size));
    let mut scrolled = 0;
    let screen = state.screen(s(5), usize::from(size.width));
    terminal.draw(|frame| scrolled = view::draw(frame, &screen, palette)).unwrap();
    drop(screen);
    state.scrolled(scrolled);
    terminal.backend().buffer().clone()
}

fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width);
    let lines = buffer.content.chunks(width).map(|cells| {
        let line: String = cells.iter().map(|cell| cell.symbol()).collect();
        format!("{}\n", line.trim_end())
    });
    lines.collect()
}

/// Compares the screen with the file of this name, and returns it.
fn check(file: &str, state: &mut State, size: Size) -> String {
    let screen = text(&drawn(state, size, Palette::new(true)));
    let file = format!("{file}-{}x{}.txt", size.width, size.height);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/top").join(&file);
    if env::var_os("LEASEHOLD_GOLDEN").is_some_and(|told| told == "write") {
        fs::write(&golden, &screen).unwrap();
    }
    let expected = fs::read_to_string(&golden).unwrap_or_default();
    assert!(expected == screen, "other than in {file}:\n{screen}\ninstead of\n{expected}");
    screen
}

#[test]
fn a_busy_store_fits_on_small_and_large_screens() {
    let small = check("busy", &mut busy(), SMALL);
    assert!(small.contains("% CPU") && small.contains("near misses 0") && small.contains("!6.0s"), "{small}");
    const PAGE: &str = include_str!("../../../docs/cli.md");
    assert!(PAGE.contains(small.trim_end()), "docs/cli.md shows another screen");
    let large = check("busy", &mut busy(), LARGE);
    assert!(large.contains("FENCE") && large.contains("1790000000000004"), "{large}");
}

#[test]
fn one_resource_is_shown_in_full_with_who_held_it() {
    let mut state = busy();
    press(&mut state, "\n");
    let small = check("open", &mut state, SMALL);
    assert!(small.contains("WAITERS 44") && small.contains("ABCD"), "{small}");
    press(&mut state, "G");
    let end = check("open-end", &mut state, SMALL);
    assert!(end.contains("44 0000"), "{end}");
    press(&mut state, "g");
    check("open", &mut state, LARGE);
}

#[test]
fn the_filter_is_typed_at_the_bottom_and_kept() {
    let mut state = busy();
    press(&mut state, "/TICKETS/0001");
    let typed = check("filter", &mut state, SMALL);
    assert!(typed.contains("1-10 of 10") && typed.contains("filter: tickets/0001"), "{typed}");
    press(&mut state, "\n");
    let kept = text(&drawn(&mut state, SMALL, Palette::new(true)));
    assert!(kept.contains("/ filter: tickets/0001") && kept.contains("of 10"), "{kept}");
    press(&mut state, "\u{1b}");
    assert!(text(&drawn(&mut state, SMALL, Palette::new(true))).contains("of 10,000"));
}

#[test]
fn a_revoke_asks_for_its_grace_and_then_for_a_yes() {
    let mut state = busy();
    assert_eq!(press(&mut state, "r"), None);
    let asked = check("grace", &mut state, SMALL);
    assert!(asked.contains("revoke orders/17, grace: 10s"), "{asked}");
    assert_eq!(press(&mut state, "x\n"), None);
    let wrong = text(&drawn(&mut state, SMALL, Palette::new(true)));
    assert!(wrong.contains("not a grace: \"10sx\""), "{wrong}");
    press(&mut state, "\u{1b}r\n");
    let question = check("confirm", &mut state, SMALL);
    assert!(question.contains("revoke orders/17: 10.0s to finish, then by force? y/n"), "{question}");
    assert_eq!(press(&mut state, "n"), None);
    assert_eq!(press(&mut state, "r\n\n"), None, "Enter is no yes");
    assert_eq!(press(&mut state, "y"), Some(Effect::Revoke(name("orders/17"), s(10))));
    assert_eq!(press(&mut state, "q"), None, "a revoke runs");
    let quit = text(&drawn(&mut state, SMALL, Palette::new(true)));
    assert!(quit.contains("takes nothing by force if this ends: quit? y/n"), "{quit}");
    press(&mut state, "n");
    state.take(Report::Revoked(name("orders/17"), Ok("1 finished, 0 taken by force".to_owned())), s(5));
    let told = check("revoked", &mut state, SMALL);
    assert!(told.contains("revoke of orders/17: 1 finished, 0 taken by force"), "{told}");
    assert_eq!(press(&mut state, "q"), Some(Effect::Quit));
}

#[test]
fn the_help_fits_on_the_small_screen() {
    let mut state = busy();
    press(&mut state, "?");
    let help = check("help", &mut state, SMALL);
    assert!(help.contains("keys and figures") && help.contains("not looked at yet"), "{help}");
    press(&mut state, "x");
    assert!(!text(&drawn(&mut state, SMALL, Palette::new(true))).contains("keys and figures"));
}

#[test]
fn what_the_store_did_not_answer_is_told_and_the_last_figures_stay() {
    let mut state = busy();
    let refused = Missing::Answer("the store is not available: refused".to_owned());
    state.take(Report::Looks(Vec::new(), Some(refused)), s(5));
    let shown = text(&drawn(&mut state, SMALL, Palette::new(true)));
    assert!(shown.contains("the store is not available: refused") && shown.contains("orders/17"), "{shown}");
    state.take(Report::Contended(Err("the store denies access: no scan".to_owned())), s(5));
    state.take(Report::Looks(Vec::new(), None), s(5));
    let shown = text(&drawn(&mut state, SMALL, Palette::new(true)));
    assert!(
        shown.contains("the store denies access: no scan"),
        "an answer to something else hides it: {shown}"
    );
}

#[test]
fn a_record_that_cannot_be_read_is_told_and_ages_no_sample() {
    let mut state = busy();
    let since_sampled = |state: &State| state.screen(s(60), 120).head.sampled;
    let refused = Missing::Answer("the store is not available: refused".to_owned());
    state.take(Report::Looks(Vec::new(), Some(refused)), s(60));
    assert_eq!(since_sampled(&state), Some(s(56)), "the store gave no answer");
    let foreign = Missing::Record("the store holds something foreign: orders/0".to_owned());
    state.take(Report::Looks(Vec::new(), Some(foreign)), s(60));
    assert_eq!(since_sampled(&state), Some(s(0)));
    let shown = text(&drawn(&mut state, SMALL, Palette::new(true)));
    assert!(shown.contains("the store holds something foreign: orders/0"), "{shown}");
}

#[test]
fn an_empty_store_says_so() {
    let mut state = State::new("memory://".to_owned(), s(1));
    let start = check("start", &mut state, SMALL);
    assert!(start.contains("not known yet") && !start.contains("nobody waits"), "{start}");
    state.take(Report::Contended(Ok(walk([], true))), s(1));
    state.take(Report::Names(Ok(walk([], false))), s(1));
    state.take(Report::Looks(Vec::new(), None), s(1));
    state.take(Report::Server(Ok(None)), s(1));
    let shown = check("empty", &mut state, SMALL);
    assert!(shown.contains("not free at least 0") && shown.contains("nobody waits"), "{shown}");
}

#[test]
fn the_orders_of_the_table_differ() {
    let mut state = busy();
    let mut first = |key: &str| {
        press(&mut state, key);
        press(&mut state, "g");
        let screen = text(&drawn(&mut state, LARGE, Palette::new(true)));
        screen.lines().skip_while(|line| !line.starts_with("RESOURCE")).nth(1).unwrap().to_owned()
    };
    let starts: Vec<_> = ["w", "a", "n", "t"].iter().map(|key| first(key)[..6].to_owned()).collect();
    assert_eq!(starts, ["orders", "orders", "accoun", "report"]);
}

#[test]
fn without_colour_nothing_is_coloured() {
    for keys in ["", "\n", "?", "/x", "r", "r\n"] {
        let mut state = busy();
        press(&mut state, keys);
        let plain = drawn(&mut state, LARGE, Palette::new(false));
        assert!(
            plain.content.iter().all(|cell| (cell.fg, cell.bg) == (Color::Reset, Color::Reset)),
            "{keys:?}"
        );
    }
    let coloured = drawn(&mut busy(), LARGE, Palette::new(true));
    assert!(coloured.content.iter().any(|cell| cell.fg == Color::Red));
}

#[test]
fn every_size_of_a_screen_is_drawn() {
    for keys in ["", "\n", "?", "/x", "r"] {
        let mut state = busy();
        press(&mut state, keys);
        for (width, height) in
            [(1, 1), (39, 30), (40, 10), (41, 19), (60, 20), (79, 23), (101, 25), (500, 3), (300, 100)]
        {
            drawn(&mut state, Size::new(width, height), Palette::new(true));
        }
    }
}

/// Set for the process that panics.
const PANICS: &str = "LEASEHOLD_TOP_PANICS";

#[test]
fn a_panic_of_any_thread_is_told_on_the_screen_that_was_there() {
    const NAME: &str = "top::tests::a_panic_of_any_thread_is_told_on_the_screen_that_was_there";
    if env::var_os(PANICS).is_some() {
        let _terminal = OwnTerminal::take().unwrap();
        let ended = thread::spawn(|| panic!("planted")).join();
        unreachable!("the process has not ended: {ended:?}");
    }
    let terminal = Tmux::start();
    terminal.enter("echo before the view");
    let program = env::current_exe().unwrap();
    let program = program.display();
    terminal.enter(&format!("clear; {PANICS}=1 {program} --exact {NAME} --nocapture; echo ended with $?"));
    let after = terminal.shows(&["running 1 test", "planted", "ended with 101"]);
    assert!(!after.contains("has not ended"), "{after}");
    terminal.takes_lines();
}
