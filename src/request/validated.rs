//! A validated request: every value in its bounds, every default filled in.

use std::{sync::Arc, time::Duration};

use crate::{
    core::{
        Fence, InvalidValue, Mode, Moment, Owner, Pauses, RenewalPlan, ResourceName, Token, ensure, exact,
        in_range,
    },
    lease::{LeaseTerms, LifeSign},
    listeners::{
        Admitted, Class, Listeners, LockEvent, RequestEnd,
        spans::{AcquireSpan, TRACEPARENT},
    },
    request::{Options, Request, SHORTEST_TTL, Settings, Takes, Wait},
    store::{Acquisition, Hold, Inbox, Metadata, QueueTicket, ensure_short},
};

/// The length of a wait without end: about 30 years, because a later moment overflows the clocks of some systems.
const FOREVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// A validated request.
pub(crate) struct ValidRequest {
    pub(crate) terms: LeaseTerms,
    /// The time to wait. Zero is a try.
    pub(crate) wait: Duration,
    /// True if that is the wait of the settings.
    pub(crate) waits_by_default: bool,
    /// True if it ends at once when it is not likely to be served within its wait.
    pub(crate) give_up_early: bool,
    pub(crate) pauses: Pauses,
    pub(crate) bound_to: Option<LifeSign>,
    /// The span of the request, until it has ended.
    pub(crate) span: AcquireSpan,
}

impl ValidRequest {
    /// Validates a request against the settings. `own` are the pauses of the application that stand in for those of the
    /// settings. `about` is what every holder of this manager reports about itself. `inbox` is notified of hand-overs to
    /// its waiters. `class` is that of its name.
    pub(crate) fn check<Kind>(
        request: Request<Kind>,
        token: Token,
        settings: &Settings,
        own: Option<&Pauses>,
        (about, inbox): (&Arc<Metadata>, Inbox),
        class: Option<Class>,
    ) -> Result<Self, InvalidValue> {
        let Request { resource, takes, options, .. } = request;
        options.class.as_deref().map_or(Ok(()), Class::check)?;
        let owner = options.owner.as_ref().map(Owner::new).transpose()?;
        let (mode, reentrant) = match takes {
            Takes::Everything { reentrant } => (Mode::Exclusive, reentrant && owner.is_some()),
            Takes::OneOfUnlimited => (Mode::Shared, false),
            Takes::Permits { count, of } => (Mode::permits(count, of)?, false),
        };
        let ttl = options.ttl.unwrap_or(settings.lease.ttl);
        in_range("ttl", ttl, SHORTEST_TTL, settings.limits.max_ttl)?;
        in_range("lock_delay", options.lock_delay, Duration::ZERO, settings.limits.max_ttl)?;
        in_range("min_hold", options.min_hold, Duration::ZERO, settings.limits.max_ttl)?;
        let (wait, waits_by_default, pauses) = waiting(&options, settings, own)?;
        let ticket = (!wait.is_zero()).then_some(QueueTicket {
            inbox,
            ttl: settings.wait.ticket_ttl,
            grant_window: settings.wait.grant_window,
            max_waiters: settings.limits.max_waiters,
            place: None,
        });
        let plan = renewal(&options, ttl, settings)?;
        let resource = ResourceName::new(resource)?;
        let mut metadata = metadata(options.metadata, about)?;
        let span = AcquireSpan::new(&options.caller, (&resource, token, mode));
        if let Some(trace) = span.traceparent() {
            // A caller may have told one.
            Arc::make_mut(&mut metadata).entry(TRACEPARENT.to_owned()).or_insert(trace);
        }
        let acquisition = Acquisition {
            hold: Hold { resource, token, owner },
            mode,
            reentrant,
            ttl,
            lock_delay: options.lock_delay,
            metadata,
            ticket,
        };
        Ok(Self {
            terms: LeaseTerms {
                acquisition: Arc::new(acquisition),
                plan,
                min_hold: options.min_hold,
                for_a_set: options.for_a_set,
                events: options.events,
                shutdown_alone: options.shutdown_alone,
                class,
            },
            wait,
            waits_by_default,
            give_up_early: options.give_up_early.unwrap_or(settings.wait.give_up_early),
            pauses,
            bound_to: options.bound_to,
            span,
        })
    }

    pub(crate) fn requested(&self, listeners: &Listeners) {
        listeners.tell(self.terms.about(), LockEvent::Requested(None));
    }

    /// Tells the listeners that it was requested at this moment, and is admitted.
    pub(crate) fn admitted(&self, at: Moment, listeners: &Listeners) {
        let Acquisition { hold, mode, .. } = &*self.terms.acquisition;
        let (resource, counts_attempts) = (&hold.resource, self.pauses.count_attempts());
        let admitted = Admitted { resource, mode: *mode, at, wait: self.wait, counts_attempts };
        listeners.tell(self.terms.about(), LockEvent::Requested(Some(admitted)));
    }

    /// Tells the listeners and its span its end, after so many attempts. `fence` is that of a grant.
    pub(crate) fn ended(
        &self,
        end: RequestEnd,
        (attempts, waited): (u32, Duration),
        fence: Option<Fence>,
        listeners: &Listeners,
    ) {
        let by_default = self.waits_by_default;
        listeners.tell(self.terms.about(), LockEvent::Ended { end, attempts, waited, by_default });
        self.span.ended(end.as_str(), (attempts, waited), fence);
    }
}

fn waiting(
    options: &Options,
    settings: &Settings,
    own: Option<&Pauses>,
) -> Result<(Duration, bool, Pauses), InvalidValue> {
    let pauses = options.pauses.as_ref().or(own).cloned().unwrap_or(Pauses::BuiltIn(settings.backoff));
    let pauses = match options.attempts {
        Some(attempts) => pauses.attempts(attempts)?,
        None => pauses,
    };
    // A limited number of attempts ends the wait by itself.
    let asked_to_count = options.attempts.is_some() || options.pauses.is_some();
    let counts = pauses.count_attempts() && (asked_to_count || settings.wait.timeout.is_zero());
    let wait = match options.wait {
        Some(Wait::Forever) => FOREVER,
        Some(Wait::AtMost(wait)) => {
            in_range("wait", wait, Duration::ZERO, settings.limits.max_wait)?;
            wait
        }
        None if counts => settings.limits.max_wait,
        None => settings.wait.timeout,
    };
    Ok((wait, options.wait.is_none() && !counts, pauses))
}

pub(crate) fn renewal(of: &Options, ttl: Duration, settings: &Settings) -> Result<RenewalPlan, InvalidValue> {
    let Options { no_renew, renew_every, max_renewals, max_hold, heartbeat, in_step, min_hold, .. } = *of;
    for (field, is_given) in [
        ("renew_every", renew_every.is_some()),
        ("max_renewals", max_renewals.is_some()),
        ("heartbeat", heartbeat.is_some()),
    ] {
        ensure(!(no_renew && is_given), field, "given together with no_renew", "one of the two")?;
    }
    ensure(max_renewals != Some(0), "max_renewals", 0, "1 or more; use no_renew for none")?;
    if let Some(every) = renew_every.filter(|every| every.is_zero() || *every >= ttl / 2) {
        let allowed = format!("more than zero, and less than half of ttl ({})", exact(ttl));
        return Err(InvalidValue::new("renew_every", exact(every), allowed));
    }
    ensure(heartbeat != Some(Duration::ZERO), "heartbeat", "0s", "more than zero")?;
    if let Some(most) = max_hold.filter(|most| most.is_zero() || *most < min_hold) {
        let allowed = format!("more than zero, and at least min_hold ({})", exact(min_hold));
        return Err(InvalidValue::new("max_hold", exact(most), allowed));
    }
    let interval = renew_every.unwrap_or_else(|| settings.lease.renewal_interval_of(ttl));
    Ok(RenewalPlan { interval: (!no_renew).then_some(interval), max_renewals, max_hold, heartbeat, in_step })
}

fn metadata(told: Metadata, about: &Arc<Metadata>) -> Result<Arc<Metadata>, InvalidValue> {
    if told.is_empty() {
        return Ok(Arc::clone(about));
    }
    ensure_short(told.iter())?;
    let mut metadata = Metadata::clone(about);
    metadata.extend(told);
    Ok(Arc::new(metadata))
}
