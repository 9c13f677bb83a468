//! The spans of requests and leases, as OpenTelemetry gets them: who is in which trace, and who is linked to whom.
//!
//! Spans are exported into memory. On the memory store, in virtual time.

use std::time::Duration;

use actix::Addr;
use leasehold::{Acquire, AcquireAll, AcquireError, Lease, LockManager, Settings};
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::trace::{InMemorySpanExporter, Sampler, SdkTracerProvider, SpanData};
use support::{
    log::keep_events,
    virtual_time::{World, in_virtual_time, millis, secs},
};
use tokio::time::sleep;
use tracing::{Span, info_span, subscriber::DefaultGuard};
use tracing_subscriber::{Registry, layer::SubscriberExt};

/// The spans that have ended, of everything on this thread.
struct Traces {
    exporter: InMemorySpanExporter,
    guard: Option<DefaultGuard>,
    /// Forgets all spans when it is dropped.
    _provider: SdkTracerProvider,
}

impl Traces {
    fn start() -> Self {
        Self::sampled_by(Sampler::AlwaysOn)
    }

    fn sampled_by(sampler: Sampler) -> Self {
        keep_events();
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_sampler(sampler);
        let provider = provider.with_simple_exporter(exporter.clone()).build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        let guard = tracing::subscriber::set_default(Registry::default().with(layer));
        Self { exporter, guard: Some(guard), _provider: provider }
    }

    /// No longer sees what others make on this thread.
    fn stand_back(&mut self) {
        self.guard = None;
    }

    /// The ended spans of this name, in the order in which they ended.
    fn ended(&self, name: &str) -> Vec<SpanData> {
        let spans = self.exporter.get_finished_spans().unwrap();
        spans.into_iter().filter(|span| span.name == name).collect()
    }

    fn only(&self, name: &str) -> SpanData {
        let ended = self.ended(name);
        let [span] = &ended[..] else { panic!("{name}: {ended:?}") };
        span.clone()
    }
}

fn attribute(span: &SpanData, key: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == key);
    found.map(|attribute| attribute.value.to_string())
}

fn outcome(span: &SpanData) -> String {
    attribute(span, "outcome").unwrap_or_default()
}

fn is_linked(from: &SpanData, to: &SpanData) -> bool {
    from.links.iter().any(|link| {
        (link.span_context.trace_id(), link.span_context.span_id())
            == (to.span_context.trace_id(), to.span_context.span_id())
    })
}

/// Takes a lock within a span of the caller.
async fn take(locks: &Addr<LockManager>, handler: Span, wait: Duration) -> Result<Lease, AcquireError> {
    let ask = handler.in_scope(|| Acquire::new("r").wait(wait));
    locks.send(ask).await.unwrap()
}

#[test]
fn a_waiter_is_linked_to_the_trace_of_its_holder() {
    for strict in [true, false] {
        in_virtual_time(|| async move {
            let traces = Traces::start();
            let world = World::new();
            // Two processes, or one in which the waiter asks no store.
            let first = if strict { world.strict_manager() } else { world.manager() };
            let second = if strict { world.strict_manager() } else { first.clone() };
            let lease = take(&first, info_span!("first"), secs(9)).await.unwrap();
            let waits = actix_rt::spawn(async move {
                take(&second, info_span!("second"), secs(60)).await.unwrap().release().await.unwrap();
            });
            sleep(secs(2)).await;
            let (token, fence) = (lease.token().prefix().to_string(), lease.fence().unwrap().to_string());
            lease.release().await.unwrap();
            waits.await.unwrap();
            let acquires = traces.ended("acquire");
            let [holder, waiter] = &acquires[..] else { panic!("{acquires:?}") };
            assert!(is_linked(waiter, holder), "{:?}", waiter.links);
            assert!(waiter.links.len() == 1 && holder.links.is_empty(), "{:?}", holder.links);
            for (span, handler) in [(holder, "first"), (waiter, "second")] {
                let handler = traces.only(handler);
                assert_eq!(span.span_context.trace_id(), handler.span_context.trace_id());
                assert_eq!(span.parent_span_id, handler.span_context.span_id());
                assert_eq!(
                    (outcome(span), attribute(span, "resource")),
                    ("granted".into(), Some("r".into()))
                );
            }
            assert_eq!((attribute(holder, "token"), attribute(holder, "fence")), (Some(token), Some(fence)));
            assert_eq!(attribute(holder, "wait_seconds").unwrap(), "0");
            assert_eq!(attribute(waiter, "wait_seconds").unwrap(), "2");
            let leases = traces.ended("lease");
            assert_eq!(leases.len(), 2);
            for (lease, acquire) in leases.iter().zip(&acquires) {
                assert_eq!(lease.span_context.trace_id(), acquire.span_context.trace_id());
                assert_eq!(
                    (outcome(lease), attribute(lease, "mode")),
                    ("released".into(), attribute(acquire, "mode"))
                );
            }
        });
    }
}

#[test]
fn who_follows_a_waiter_without_an_answer_yet_is_linked_when_it_comes() {
    in_virtual_time(|| async {
        let traces = Traces::start();
        let world = World::new();
        let (locks, other) = (world.manager(), world.manager());
        let held = other.send(Acquire::new("r")).await.unwrap().unwrap();
        let asks = [1, 2].map(|_| locks.send(Acquire::new("r").wait(secs(9))));
        let [leads, follows] = asks.map(actix_rt::spawn);
        sleep(secs(1)).await;
        held.release().await.unwrap();
        drop(leads.await.unwrap().unwrap().unwrap());
        drop(follows.await.unwrap().unwrap().unwrap());
        let acquires = traces.ended("acquire");
        let [holder, leader, follower] = &acquires[..] else { panic!("{acquires:?}") };
        assert!(is_linked(leader, holder) && is_linked(follower, holder), "{:?}", follower.links);
    });
}

#[test]
fn a_caller_with_a_subscriber_of_its_own_has_its_spans_there() {
    in_virtual_time(|| async {
        let of_the_manager = Traces::start();
        let locks = World::new().manager();
        // To the manager's subscriber this number would be another span, or none.
        let _another = info_span!("another");
        let mut own = Traces::start();
        let (_, handler) = (info_span!("one more"), info_span!("first"));
        let ask = handler.in_scope(|| Acquire::new("r"));
        drop(handler);
        own.stand_back();
        locks.send(ask).await.unwrap().unwrap().release().await.unwrap();
        let (first, acquire, lease) = (own.only("first"), own.only("acquire"), own.only("lease"));
        assert_eq!(acquire.parent_span_id, first.span_context.span_id());
        assert_eq!(lease.span_context.trace_id(), first.span_context.trace_id());
        assert_eq!((outcome(&acquire), outcome(&lease)), ("granted".into(), "released".into()));
        assert!(of_the_manager.ended("acquire").is_empty() && of_the_manager.ended("lease").is_empty());
    });
}

#[test]
fn who_is_refused_is_told_the_trace_of_the_holder() {
    in_virtual_time(|| async {
        let traces = Traces::start();
        let world = World::new();
        let (locks, other) = (world.manager(), world.manager());
        let _lease = take(&locks, info_span!("first"), secs(0)).await.unwrap();
        let refused = take(&other, info_span!("second"), secs(0)).await.unwrap_err();
        let AcquireError::Held { by, .. } = refused else { panic!("{refused}") };
        let acquires = traces.ended("acquire");
        let holder = &acquires[0].span_context;
        assert_eq!(by.metadata["traceparent"], format!("00-{}-{}-01", holder.trace_id(), holder.span_id()));
        assert!(by.metadata.contains_key("pid"), "{:?}", by.metadata);
        assert_eq!(outcome(&acquires[1]), "refused");
        let told = Acquire::new("s").metadata("traceparent", "of the application");
        let _told = locks.send(told).await.unwrap().unwrap();
        let refused = other.send(Acquire::new("s")).await.unwrap().unwrap_err();
        let AcquireError::Held { by, .. } = refused else { panic!("{refused}") };
        assert_eq!(by.metadata["traceparent"], "of the application");
        assert!(traces.ended("acquire").last().unwrap().links.is_empty());
    });
}

#[test]
fn a_lease_is_a_span_for_as_long_as_it_lives_and_keeps_no_other_one_open() {
    in_virtual_time(|| async {
        let traces = Traces::start();
        let locks = World::new().manager();
        let ask = info_span!("first").in_scope(|| Acquire::new("r").ttl(secs(1)).no_renew());
        let lease = locks.send(ask).await.unwrap().unwrap();
        assert_eq!((traces.ended("first").len(), traces.ended("lease").len()), (1, 0));
        lease.lost().await;
        // The holder knows by its clock; the manager ends the span when it looks.
        sleep(secs(1)).await;
        assert_eq!(outcome(&traces.only("lease")), "expired");
        drop(lease);
        sleep(millis(10)).await;
        assert_eq!(outcome(&traces.only("lease")), "expired");
    });
}

#[test]
fn every_request_of_a_set_has_its_spans() {
    in_virtual_time(|| async {
        let traces = Traces::start();
        let world = World::new();
        let (locks, other) = (world.manager(), world.manager());
        let held = other.send(Acquire::new("b")).await.unwrap().unwrap();
        let refused = locks.send(AcquireAll::new(["a", "b"])).await.unwrap();
        assert!(refused.is_err());
        held.release().await.unwrap();
        let both = locks.send(AcquireAll::new(["a", "b"])).await.unwrap().unwrap();
        both.release().await.unwrap();
        let outcomes: Vec<_> = traces.ended("acquire").iter().map(outcome).collect();
        assert_eq!(outcomes, ["granted", "refused", "refused", "granted", "granted"]);
        assert_eq!(traces.ended("lease").len(), 3);
    });
}

#[test]
fn a_set_whose_first_try_failed_says_so_and_one_that_is_not_admitted_has_no_span() {
    in_virtual_time(|| async {
        let traces = Traces::start();
        let world = World::new();
        let mut settings = Settings::default();
        settings.limits.max_pending = 1;
        let locks = world.builder().settings(settings).start_here().unwrap();
        world.store.fail_next(1);
        let both = locks.send(AcquireAll::new(["a", "b"]).wait(secs(9))).await.unwrap().unwrap();
        let waits = actix_rt::spawn(locks.send(Acquire::new("a").wait(secs(1))));
        sleep(millis(100)).await;
        assert!(matches!(locks.send(Acquire::new("c")).await.unwrap(), Err(AcquireError::Busy { .. })));
        let all = AcquireAll::new(["c", "d"]);
        assert!(matches!(locks.send(all).await.unwrap(), Err(AcquireError::Busy { .. })));
        assert!(waits.await.unwrap().unwrap().is_err());
        let outcomes: Vec<_> = traces.ended("acquire").iter().map(outcome).collect();
        assert_eq!(outcomes, ["unavailable", "unavailable", "granted", "granted", "timed_out"]);
        both.release().await.unwrap();
    });
}

#[test]
fn a_caller_that_goes_and_one_that_waits_too_long_end_their_spans() {
    in_virtual_time(|| async {
        let traces = Traces::start();
        let locks = World::new().manager();
        let _held = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        take(&locks, info_span!("second"), secs(1)).await.unwrap_err();
        let goes = actix_rt::spawn({
            let locks = locks.clone();
            async move { take(&locks, info_span!("third"), secs(9)).await.map(drop) }
        });
        sleep(millis(100)).await;
        goes.abort();
        sleep(millis(100)).await;
        let outcomes: Vec<_> = traces.ended("acquire").iter().map(outcome).collect();
        assert_eq!(outcomes, ["granted", "timed_out", "cancelled"]);
    });
}

#[test]
fn without_a_subscriber_or_with_a_trace_that_is_not_sampled_a_holder_reports_none() {
    for sampler in [None, Some(Sampler::AlwaysOff)] {
        in_virtual_time(|| async {
            let _traces = sampler.map(Traces::sampled_by);
            let locks = World::new().manager();
            let _lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
            let refused = locks.send(Acquire::new("r")).await.unwrap().unwrap_err();
            let AcquireError::Held { by, .. } = refused else { panic!("{refused}") };
            assert!(!by.metadata.contains_key("traceparent"), "{:?}", by.metadata);
        });
    }
}
