//! The loop: keys, reports, ticks and signals in; samples and frames out.

use std::{
    process::ExitCode,
    rc::Rc,
    time::{Duration, Instant},
};

use crossterm::event::{Event, EventStream, KeyEventKind};
use futures_util::StreamExt;
use leasehold::Config;
use tokio::{
    sync::mpsc::unbounded_channel,
    time::{MissedTickBehavior, interval},
};

use super::{
    keys::action,
    sample::Asker,
    sampling::{Answered, Sampling},
    signals::{INTERRUPTED, Signals},
    state::{Effect, State},
    terminal::OwnTerminal,
    view::{self, Palette},
};
use crate::Failure;

/// Shows the view until somebody ends it.
pub(super) async fn run(config: &Config, every: Duration) -> Result<ExitCode, Failure> {
    let asker = Rc::new(Asker::open(config)?);
    let mut signals = Signals::listen()?;
    let mut terminal = OwnTerminal::take()?;
    let ended = show(Rc::clone(&asker), every, &mut terminal, &mut signals).await;
    // The terminal first: what is told afterwards shall be read.
    drop(terminal);
    asker.close().await;
    ended.map(ExitCode::from)
}

async fn show(
    asker: Rc<Asker>,
    every: Duration,
    terminal: &mut OwnTerminal,
    signals: &mut Signals,
) -> Result<u8, Failure> {
    let start = Instant::now();
    let (sender, mut reports) = unbounded_channel();
    let mut state = State::new(asker.place(), every);
    let mut sampling = Sampling::new(asker, sender, every);
    let (mut keys, palette) = (EventStream::new(), Palette::of_the_environment());
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_new = true;
    loop {
        if std::mem::take(&mut is_new) {
            draw(terminal, &mut state, start.elapsed(), palette)?;
        }
        tokio::select! {
            code = signals.next() => return Ok(code),
            event = keys.next() => {
                let event = event.ok_or("the terminal is gone")??;
                is_new = true;
                match effect(&mut state, &event, start.elapsed()) {
                    Some(Effect::Quit) => return Ok(0),
                    Some(Effect::Interrupt) => return Ok(INTERRUPTED),
                    Some(Effect::Revoke(resource, grace)) => sampling.revoke(resource, grace),
                    None => {}
                }
            }
            Some(report) = reports.recv() => {
                let answered = Answered::by(&report);
                state.take(report, start.elapsed());
                sampling.go_on(answered, &state);
                is_new = answered.is_drawn();
            }
            _ = ticks.tick() => sampling.begin(&state),
        }
    }
}

/// Returns what the loop has to do because of an event.
fn effect(state: &mut State, event: &Event, now: Duration) -> Option<Effect> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => {
            let action = action(state.focus(), *key)?;
            state.act(action, now)
        }
        _ => None,
    }
}

fn draw(
    terminal: &mut OwnTerminal,
    state: &mut State,
    now: Duration,
    palette: Palette,
) -> Result<(), Failure> {
    let terminal = terminal.get();
    let size = terminal.size()?;
    state.resize(view::rows(size));
    let mut scrolled = 0;
    let screen = state.screen(now, usize::from(size.width));
    terminal.draw(|frame| scrolled = view::draw(frame, &screen, palette))?;
    drop(screen);
    state.scrolled(scrolled);
    Ok(())
}
