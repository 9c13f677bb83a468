//! `leasehold watch`: what happens to resources, told as it happens, by looking again and again.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::ExitCode,
    time::{Duration, Instant, SystemTime},
};

use leasehold::{List, ResourceName, StoreError};
use leasehold_console::{
    observe::{Look, Observed, Occurrence, TOLD_APART, observe},
    view::{ResourceView, stamp},
};
use serde::Serialize;

use super::name::{self, Name, Prefix};
use crate::{
    Failure,
    looking::{self, Locks},
    outcome,
    pace::Pace,
    print,
    settings::Source,
};

/// The largest number of resources of one prefix that are watched.
const MOST: usize = 1_000;

/// Tells what happens to resources: acquired, handed over, released, expired, waiting, left
///
/// It looks again and again; what begins and ends between two looks is not seen. A holder with another fence than before may
/// have lost it to others in between. A prefix takes walks over all keys, for a twentieth of the
/// time at most. Ctrl-C ends it, with 0, and so does `| head -1` behind it once that has its line.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  leasehold watch orders/42\n  leasehold watch --prefix orders/ --every 2s --json"
)]
pub(crate) struct Options {
    /// The names of resources, as `ls` shows them or as they are
    #[arg(value_name = "NAME", value_parser = name::name(), required_unless_present = "prefix")]
    names: Vec<Name>,
    /// Watch all resources whose names begin so, the first 1000; may be given several times
    #[arg(long, value_name = "PREFIX", value_parser = name::prefix())]
    prefix: Vec<Prefix>,
    /// The time between two looks, at least 50ms
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = humantime::parse_duration)]
    every: Duration,
    /// Print a line of JSON for each event
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: Source,
}

/// An event, as a line.
#[derive(Serialize)]
struct Line<'a> {
    kind: &'static str,
    at: String,
    resource: &'a str,
    #[serde(flatten)]
    event: &'a Observed,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    const SHORTEST: Duration = Duration::from_millis(50);
    if options.every < SHORTEST {
        return Err(format!("invalid --every: {} (allowed: 50ms or more)", print::span(options.every)).into());
    }
    looking::with(&options.source, async |locks| {
        let mut watch = Watch::of(options, locks);
        tokio::select! {
            ended = watch.run() => ended,
            () = looking::interrupted() => Ok(ExitCode::SUCCESS),
            // Nothing may happen for long, so that nothing is written, and nobody would see that it is in vain.
            () = looking::unread() => Ok(ExitCode::SUCCESS),
        }
    })
}

/// A watch that goes on.
struct Watch<'a> {
    options: &'a Options,
    locks: Locks,
    began: Instant,
    /// The last look at each resource.
    seen: BTreeMap<ResourceName, Look>,
    /// Resources whose records are foreign or newer, each of which is told once.
    unreadable: BTreeSet<ResourceName>,
    walks: Pace,
    /// True if this look has walked. Only then what is free is forgotten: no walk may come for a long time.
    has_walked: bool,
    /// True if the last walk ran out of time.
    misses_names: bool,
    told_limits: bool,
    is_first: bool,
}

impl<'a> Watch<'a> {
    fn of(options: &'a Options, locks: Locks) -> Self {
        Self {
            options,
            locks,
            began: Instant::now(),
            seen: BTreeMap::new(),
            unreadable: BTreeSet::new(),
            walks: Pace::new(options.every),
            has_walked: false,
            misses_names: false,
            told_limits: false,
            is_first: true,
        }
    }

    /// Looks until an error that does not go away by itself. Others are told, and asked about again.
    async fn run(&mut self) -> Result<ExitCode, Failure> {
        let mut is_in_trouble = false;
        loop {
            match self.look().await {
                Ok(()) if is_in_trouble => {
                    is_in_trouble = false;
                    print::note("the store answers again");
                }
                Ok(()) => {}
                Err(failure) => {
                    let lasts = !failure.downcast_ref::<StoreError>().is_some_and(StoreError::is_transient);
                    if lasts || self.is_first {
                        return Err(failure);
                    }
                    if !std::mem::replace(&mut is_in_trouble, true) {
                        print::note(&format!("{}; asking again", outcome::line(&failure)));
                    }
                }
            }
            tokio::time::sleep(self.options.every).await;
        }
    }

    /// Looks once, and tells what has changed.
    async fn look(&mut self) -> Result<(), Failure> {
        let named: BTreeSet<ResourceName> =
            self.options.names.iter().map(|Name(name)| name.clone()).collect();
        let mut names = named.clone();
        names.extend(self.seen.keys().cloned());
        names.extend(self.found_by_prefix().await?);
        let asked = self.began.elapsed();
        for (name, answer) in
            looking::inspect_each(&self.locks, names.into_iter().collect(), TOLD_APART).await?
        {
            let is_named = named.contains(&name);
            match answer {
                Ok(view) => self.saw(name, view, asked, is_named)?,
                Err(failure) if is_named => return Err(failure),
                // Others below the prefix are watched all the same.
                Err(failure) => {
                    if self.unreadable.insert(name.clone()) {
                        drop(looking::unless_unreadable(&name, Err::<(), _>(failure))?);
                    }
                }
            }
        }
        self.is_first = false;
        Ok(())
    }

    /// Tells what has changed of a resource since the last look.
    fn saw(
        &mut self,
        name: ResourceName,
        view: ResourceView,
        asked: Duration,
        is_named: bool,
    ) -> Result<(), Failure> {
        self.unreadable.remove(&name);
        let mut now = Look::new(view, asked, self.began.elapsed());
        // One that is found later was free before.
        let free = Look::default();
        let before = self.seen.get(&name).or((!self.is_first).then_some(&free));
        observe(before, &mut now).iter().try_for_each(|event| self.tell(&now.seen.resource, event))?;
        if now.seen.is_free() && !is_named && self.has_walked {
            self.seen.remove(&name);
        } else {
            self.seen.insert(name, now);
        }
        Ok(())
    }

    /// Walks to the names below the prefixes, if that is due: it costs the server more than looks do.
    async fn found_by_prefix(&mut self) -> Result<Vec<ResourceName>, Failure> {
        self.has_walked = false;
        if self.options.prefix.is_empty() || !self.walks.begin(Instant::now()) {
            return Ok(Vec::new());
        }
        let names = self.walk().await;
        self.has_walked = names.is_ok();
        match names {
            Ok(_) => self.walks.end(Instant::now()),
            Err(_) => self.walks.fail(Instant::now()),
        }
        names
    }

    /// Walks to the names, and says the first time what that takes, and when it begins to miss some.
    async fn walk(&mut self) -> Result<Vec<ResourceName>, Failure> {
        let (mut names, mut misses) = (Vec::new(), None);
        for prefix in &self.options.prefix {
            let listing = looking::list(&self.locks, List::new(&prefix.0).limit(MOST)).await?;
            if !self.told_limits {
                let what = if listing.complete || listing.cut_short { "" } else { "the first " };
                print::note(&format!(
                    "watching {what}{} below {:?}; each walk looks at up to {} keys",
                    print::counted(listing.resources.len(), "resource"),
                    prefix.encoded(),
                    listing.walked
                ));
            }
            misses = misses.or(listing.cut_short.then(|| prefix.encoded()));
            names.extend(listing.resources);
        }
        self.told_limits = true;
        let misses_still = std::mem::replace(&mut self.misses_names, misses.is_some());
        if let Some(prefix) = misses.filter(|_| !misses_still) {
            print::note(&format!(
                "the walk below {prefix:?} did not come to its end: resources may be missing; a longer \
                 store.response_timeout leaves it more time"
            ));
        }
        Ok(names)
    }

    fn tell(&self, resource: &str, event: &Observed) -> Result<(), Failure> {
        let at = stamp(SystemTime::now());
        if self.options.json {
            return print::json(&Line { kind: "event", at, resource, event });
        }
        print::line(&format!("{at}  {resource}  {}", sentence(event)))
    }
}

/// Returns an event in words.
fn sentence(event: &Observed) -> String {
    let words = match event.event {
        Occurrence::Free => "is free",
        Occurrence::Holding => "is held by",
        Occurrence::Acquired => "acquired by",
        Occurrence::HandedOver => "handed over to",
        Occurrence::ReEntered => "entered again by",
        Occurrence::Released => "no longer held by",
        Occurrence::Expired => "expired for",
        Occurrence::Ended => "no longer held, released or expired, by",
        Occurrence::Interrupted => "may have been held by others in between, and is again by",
        Occurrence::Closed => "kept closed by",
        Occurrence::Opened => "opened, which was kept closed by",
        Occurrence::Waiting => "is waited for by",
        Occurrence::Left => "is not waited for any more by",
        Occurrence::Queue => return format!("has {} waiters", event.waiting),
    };
    match (&event.holder, &event.waiter) {
        (Some(holder), _) => format!("{words} {holder}"),
        (None, Some(waiter)) => format!("{words} {waiter}"),
        (None, None) => words.to_owned(),
    }
}
