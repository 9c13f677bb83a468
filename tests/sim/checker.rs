//! Judges a history: every property that is broken, and the event that broke it.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use leasehold::{Fence, Token, env::Moment, store::Acquired};
use leasehold_testing::history::{self, Believed, Finding};

use super::{
    agreed::Agreed,
    history::{Event, Held, What},
    model::{Model, Verdict, property_of},
    network::ANSWER_WITHIN,
    wakes::Wakes,
};

/// How long a manager may need to be started again, at most, in a simulated world.
pub(crate) const RESTART: Duration = Duration::from_millis(300);
/// The time within which an unwanted token is released: several attempts, through the worst of the weather.
const RELEASED_WITHIN: Duration = Duration::from_secs(8);

/// A property that was broken by the event of this number.
pub struct Violation {
    /// The name of the property, as `P1`.
    pub property: &'static str,
    /// The number of the event.
    pub event: usize,
    /// The details, for a person.
    pub details: String,
    /// The token and the request that it is about, if a later event than their own shows it.
    pub about: Option<(Token, u64)>,
}

/// The findings of a check of a history.
#[derive(Default)]
pub struct Findings {
    /// The properties that were broken, in the order of the events.
    pub violations: Vec<Violation>,
    /// The number of grants.
    pub grants: u64,
    /// The number of checks that were made.
    pub checks: u64,
}

#[derive(Default)]
struct Resource {
    model: Model,
    /// The same of a quorum; a world has either one store or many nodes.
    agreed: Agreed,
    wakes: Wakes,
    /// Those who believe that they hold, and until when if they do not listen.
    believed: history::Resource<Token>,
    /// The last grant that worked, in the order of grants.
    worked: u64,
}

impl Resource {
    fn is_live(&self, token: Token, nodes: usize, now: Duration) -> bool {
        self.model.is_live(token, now) || self.agreed.is_live(token, nodes, now)
    }

    fn end_of(&self, token: Token, nodes: usize) -> Option<Duration> {
        self.model.ends.get(&token).copied().or_else(|| self.agreed.end_of(token, nodes))
    }

    /// Until when anything in the store keeps it for this token.
    fn last_end_of(&self, token: Token, nodes: usize) -> Option<Duration> {
        self.model.ends.get(&token).copied().or_else(|| self.agreed.last_end_of(token, nodes))
    }

    /// Which grant it was that gave a token this fence, counted in their order.
    fn order_of(&self, token: Token, fence: Fence) -> u64 {
        let order = self.model.order.get(&(token, fence)).copied();
        order.or_else(|| self.agreed.order_of(fence)).unwrap_or(0)
    }
}

/// Replays a history.
pub struct Checker {
    calm_from: Duration,
    nodes: usize,
    resources: BTreeMap<usize, Resource>,
    asked: HashMap<u64, Asked>,
    /// The request of a token, and when the store granted it last.
    tokens: HashMap<Token, (u64, Duration)>,
    /// The moment from which nobody wanted a token any more, and whether it must be released.
    over: HashMap<Token, (Duration, bool)>,
    with_min_hold: Vec<Token>,
    /// The tokens that stood in a queue, by their requests.
    placed: BTreeMap<u64, Token>,
    /// The tokens that the store was asked to release.
    reclaimed: HashSet<Token>,
    findings: Findings,
}

struct Asked {
    at: Duration,
    wait: Duration,
    /// The largest fence that anybody had been told before.
    floor: Option<Fence>,
    failed: Option<Duration>,
}

impl Checker {
    /// Judges the events of a world that had no faults from `calm_from` on.
    pub fn check(events: &[Event], calm_from: Duration) -> Findings {
        let mut checker = Self {
            calm_from,
            nodes: 0,
            resources: BTreeMap::new(),
            asked: HashMap::new(),
            tokens: HashMap::new(),
            over: HashMap::new(),
            with_min_hold: Vec::new(),
            placed: BTreeMap::new(),
            reclaimed: HashSet::new(),
            findings: Findings::default(),
        };
        for (number, event) in events.iter().enumerate() {
            let verdict = checker.see(event);
            checker.findings.checks += 1;
            if let Err((property, details)) = verdict {
                checker.findings.violations.push(Violation { property, event: number, details, about: None });
            }
        }
        checker.ghosts(events.len().saturating_sub(1));
        checker.kept_places(events.len().saturating_sub(1));
        checker.findings
    }

    fn see(&mut self, event: &Event) -> Verdict {
        let (now, resource) = (event.at, self.resources.entry(event.resource).or_default());
        match &event.what {
            What::Asked { request, wait } => {
                let floor = resource.believed.largest();
                self.asked.insert(*request, Asked { at: now, wait: *wait, floor, failed: None });
                Ok(())
            }
            What::Failed { request, kind } => self.failed(*request, kind, now),
            What::Cancelled { request } => {
                self.asked.get_mut(request).into_iter().for_each(|asked| asked.failed = Some(now));
                Ok(())
            }
            What::Granted { grant, until, min_hold } => {
                if *min_hold {
                    self.with_min_hold.push(grant.token);
                }
                self.granted(event.resource, grant, *until, now)
            }
            What::LetGo { token } => {
                resource.believed.end(token);
                self.over.entry(*token).or_insert((now, true));
                Ok(())
            }
            What::Answered { .. } => Ok(()),
            What::LossTold { token, reason } => {
                resource.believed.end(token);
                self.over.entry(*token).or_insert((now, false));
                told_in_time(resource.end_of(*token, self.nodes), *token, now)
                    .map_err(|details| ("P10", format!("{reason}: {details}")))
            }
            What::Looked { token, valid } => match *valid && !resource.is_live(*token, self.nodes, now) {
                true => Err(("P11", format!("{token:?} believes in its lease, but holds nothing"))),
                false => Ok(()),
            },
            What::Worked { token, fence, accepted } => {
                let order = resource.order_of(*token, *fence);
                let should = order >= resource.worked;
                resource.worked = resource.worked.max(order);
                match *accepted == should {
                    true => Ok(()),
                    false if should => {
                        Err(("P3", format!("work with {fence:?} was refused, though nobody came after")))
                    }
                    false => {
                        Err(("P4", format!("work with {fence:?} was accepted after that of a later holder")))
                    }
                }
            }
            What::RenewalSent { token } => match self.over.get(token) {
                Some((over, _)) if now > *over + RESTART => {
                    Err(("P15", format!("{token:?} was renewed {:?} after its end", now - *over)))
                }
                _ => Ok(()),
            },
            What::ReleaseSent { token } => {
                resource.agreed.let_go(*token);
                resource.wakes.released(*token, now);
                self.reclaimed.insert(*token);
                Ok(())
            }
            What::Acquired { asked, answer, seen } => {
                if matches!(answer, Ok(Acquired::Queued { .. })) {
                    self.placed.insert(asked.request, asked.token);
                }
                let verdict = resource.model.acquired(asked, answer, seen, now);
                if resource.model.is_live(asked.token, now) {
                    self.tokens.insert(asked.token, (asked.request, now));
                }
                verdict
            }
            What::Renewed { token, ttl, answer } => resource.model.renewed(*token, *ttl, *answer, now),
            What::Released { token, owner, cooldown, answer, seen } => {
                resource.model.released(*token, (owner.as_ref(), *cooldown), (*answer, seen), now)
            }
            What::HandedOff { from, to, overtake, limit, answer, seen } => {
                if matches!(answer.acquired, Ok(Acquired::Queued { .. })) {
                    self.placed.insert(to.request, to.token);
                }
                let verdict = resource.model.passed(*from, to, (*overtake, *limit), (answer, seen), now);
                if resource.model.is_live(to.token, now) {
                    self.tokens.insert(to.token, (to.request, now));
                }
                verdict
            }
            What::Nodes { count } => {
                self.nodes = *count;
                Ok(())
            }
            What::OnNode { node, token, request, end } => {
                resource.agreed.on_node(*node, *token, *end);
                if let Some(request) = request {
                    self.tokens.insert(*token, (*request, now));
                }
                Ok(())
            }
            What::OffNode { node, token } => {
                resource.agreed.off_node(*node, *token, now);
                Ok(())
            }
            What::Forgot { node } => {
                self.resources.values_mut().for_each(|resource| resource.agreed.forgot(*node, now));
                Ok(())
            }
            What::Promised { asked, fence, sent } => {
                let woken = resource.wakes.granted((asked.token, *sent + asked.ttl), self.calm_from, now);
                resource.agreed.granted(asked, *fence, (*sent, now), self.nodes).and(woken)
            }
            What::Waits { asked } => {
                self.placed.insert(asked.request, asked.token);
                resource.wakes.waits(asked.token, now);
                Ok(())
            }
            What::Extended { token, until } => {
                resource.wakes.renewed(*token, *until);
                resource.agreed.renewed(*token, *until, self.nodes, now)
            }
            What::Wrong { property, details } => Err((*property, details.clone())),
        }
    }

    fn failed(&mut self, request: u64, kind: &str, now: Duration) -> Verdict {
        let Some(asked) = self.asked.get_mut(&request) else {
            return Err(("P16", "an answer to nobody".to_owned()));
        };
        asked.failed = Some(now);
        if asked.at >= self.calm_from {
            return Err(("P16", format!("request {request} got nothing in quiet times: {kind}")));
        }
        answered_in_time(request, asked, now)
    }

    fn granted(&mut self, number: usize, grant: &Held, until: Option<Duration>, now: Duration) -> Verdict {
        self.findings.grants += 1;
        let resource = self.resources.entry(number).or_default();
        let asked = self.asked.get(&grant.request);
        let (moment, owner) = (Moment::since_origin(now), grant.owner.clone());
        let until = until.map(Moment::since_origin);
        let reentered = resource.believed.is_entered(owner.as_ref(), moment);
        // An owner may have entered what nobody believes in any more.
        let floor = asked.and_then(|asked| asked.floor).filter(|_| owner.is_none());
        let believed = Believed { id: grant.token, mode: grant.mode, owner, fence: Some(grant.fence), until };
        for finding in resource.believed.granted(believed, reentered, floor, moment) {
            let fence = grant.fence;
            match finding {
                Finding::Beside(others) => {
                    let details = format!("{:?} believes beside {:?}", grant.token, others[0]);
                    return Err((property_of(grant.mode), details));
                }
                // A quorum promises less: each of two that enter at once may have met another node first.
                Finding::OtherFence(_) if self.nodes > 0 => {}
                Finding::OtherFence(expected) => {
                    return Err(("P2", format!("re-entered: {fence:?} is not {expected:?}")));
                }
                Finding::NotLarger(floor) => {
                    let details = format!("{fence:?}, but {floor} was known before it was asked for");
                    return Err(("P2", details));
                }
            }
        }
        asked.map_or(Ok(()), |asked| answered_in_time(grant.request, asked, now))
    }

    /// What the store held for tokens of which nobody had any use any more.
    fn ghosts(&mut self, last: usize) {
        for (token, (request, granted)) in &self.tokens {
            let failed = self.asked.get(request).and_then(|asked| asked.failed);
            let let_go = self.over.get(token).filter(|(_, releases)| *releases).map(|(at, _)| *at);
            let Some(over) = failed.or(let_go).filter(|_| !self.with_min_hold.contains(token)) else {
                continue;
            };
            let end = self.resources.values().find_map(|resource| resource.last_end_of(*token, self.nodes));
            let begun = self.resources.values().find_map(|resource| resource.model.begun.get(token).copied());
            let since = over.max(*granted).max(begun.unwrap_or_default());
            let held_on = end.unwrap_or_default().saturating_sub(since);
            self.findings.checks += 1;
            if held_on > RELEASED_WITHIN {
                let details =
                    format!("{token:?} of request {request} held on for {held_on:?} after {over:?}");
                let about = Some((*token, *request));
                self.findings.violations.push(Violation { property: "P18", event: last, details, about });
            }
        }
    }

    /// Whoever stood in a queue and got nothing has given its place up.
    fn kept_places(&mut self, last: usize) {
        for (request, token) in &self.placed {
            let failed = self.asked.get(request).and_then(|asked| asked.failed);
            self.findings.checks += 1;
            if failed.is_some() && !self.reclaimed.contains(token) {
                let details = format!("request {request} was over, but its place in the queue was kept");
                let about = Some((*token, *request));
                self.findings.violations.push(Violation { property: "P18", event: last, details, about });
            }
        }
    }
}

fn told_in_time(end: Option<Duration>, token: Token, now: Duration) -> Result<(), String> {
    match end {
        Some(end) if now <= end => Ok(()),
        end => Err(format!("{token:?} was told at {now:?}, but its end was {end:?}")),
    }
}

fn answered_in_time(request: u64, asked: &Asked, now: Duration) -> Verdict {
    let latest = asked.at + asked.wait + ANSWER_WITHIN + RESTART;
    match now <= latest {
        true => Ok(()),
        false => Err(("P16", format!("request {request} was answered at {now:?} instead of {latest:?}"))),
    }
}
