//! `/metrics`: what the manager of this process counts, and what the console sees of the store, for Prometheus.

use actix_web::{Error, HttpRequest, HttpResponse, web::Data};
use leasehold_console::{Console, Contention};
use metrics::{Unit, describe_gauge, gauge};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use crate::Failure;

const STORE_UP: &str = "leasehold_console_store_up";
const RESOURCES: &str = "leasehold_console_contended_resources";
const WAITERS: &str = "leasehold_console_waiters";
const COMPLETE: &str = "leasehold_console_complete";
const OBSERVED: &str = "leasehold_console_observed_seconds";

/// The recorder of this process.
pub(super) struct Metrics(PrometheusHandle);

impl Metrics {
    /// Installs the recorder.
    pub(super) fn install() -> Result<Self, Failure> {
        let handle = PrometheusBuilder::new().install_recorder()?;
        describe_gauge!(
            STORE_UP,
            "1 if the store answered the last look, 0 if not; NaN before the first one."
        );
        let unknown = "NaN while the store does not say.";
        describe_gauge!(RESOURCES, format!("Resources that somebody waits for. {unknown}"));
        describe_gauge!(WAITERS, format!("Waiters for the resources that were looked at. {unknown}"));
        describe_gauge!(COMPLETE, "1 if all contended resources were looked at, else 0.");
        describe_gauge!(OBSERVED, Unit::Seconds, "Time for which the console has looked at the store.");
        Ok(Self(handle))
    }
}

/// Answers with all metrics, in the text format of Prometheus.
pub(super) async fn metrics(
    request: HttpRequest,
    metrics: Data<Metrics>,
    console: Data<Console>,
) -> Result<HttpResponse, Error> {
    console.check(&request)?;
    let Contention { store_up, resources, waiters, complete, observed_for, .. } = console.contention();
    let known = |count: Option<u64>| count.map_or(f64::NAN, |count| count as f64);
    gauge!(STORE_UP).set(store_up.map_or(f64::NAN, |up| if up { 1.0 } else { 0.0 }));
    gauge!(RESOURCES).set(known(resources));
    gauge!(WAITERS).set(known(waiters));
    gauge!(COMPLETE).set(if complete { 1.0 } else { 0.0 });
    gauge!(OBSERVED).set(observed_for.as_secs_f64());
    metrics.0.run_upkeep();
    Ok(HttpResponse::Ok().content_type("text/plain; version=0.0.4").body(metrics.0.render()))
}
