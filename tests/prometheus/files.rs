//! What the files of `deploy/` have to say together: each alert a test and a runbook entry, each metric a place on the
//! dashboard, and nothing that the library does not have.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use leasehold::LossReason;

use crate::prometheus::{
    server::promtool,
    words::{
        alerts, metric_of, metrics_in, metrics_of_the_console, metrics_of_the_library, recommended_buckets,
        sections, text, words_of,
    },
};

#[test]
fn promtool_accepts_the_configuration_and_the_rules() {
    // With the token that everybody makes an own one of; promtool looks whether all files are there.
    let etc = tempfile::tempdir().unwrap();
    for file in ["prometheus.yml", "alerts.yaml"] {
        fs::write(etc.path().join(file), text(&format!("deploy/{file}"))).unwrap();
    }
    fs::write(etc.path().join("token"), "0123456789abcdef").unwrap();
    let config = etc.path().join("prometheus.yml");
    assert_eq!(promtool(&["check", "config", config.to_str().unwrap()], ""), Ok(()));
    assert_eq!(promtool(&["check", "rules", "deploy/alerts.yaml"], ""), Ok(()));
}

#[test]
fn promtool_tells_what_it_does_not_like() {
    let told = promtool(&["check", "metrics"], "# TYPE leasehold_losses counter\nleasehold_losses 1\n");
    assert!(told.is_err_and(|said| said.contains("leasehold_losses")));
    let told = promtool(&["check", "rules", "deploy/compose.yaml"], "");
    assert!(told.is_err_and(|said| said.contains("compose.yaml")));
}

/// The files of the project that the volumes of the compose file name, and the addresses at which its services listen.
#[test]
fn the_compose_file_names_files_and_addresses_that_there_are() {
    let (compose, scraped) = (text("deploy/compose.yaml"), text("deploy/prometheus.yml"));
    let deploy = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join("deploy");
    let mounted: Vec<_> =
        compose.lines().filter_map(|line| line.trim().strip_prefix("- ./")?.split(':').next()).collect();
    assert!(mounted.len() > 3, "only {mounted:?} were found");
    for file in mounted {
        assert!(deploy.join(file).exists(), "{file} is not in deploy/");
    }
    let target = scraped.split_once("targets: [\"").and_then(|(_, rest)| rest.split_once('"')).unwrap().0;
    let (service, port) = target.split_once(':').unwrap();
    assert!(compose.contains(&format!("\n  {service}:\n")), "{service} is no service of the compose file");
    assert!(compose.contains(&format!("\"0.0.0.0:{port}\"")), "nothing listens at the port of {target}");
    // The rest is known to Docker alone, and few machines that run tests have it.
    let docker = |arguments: &[&str]| {
        Command::new("docker").arg("compose").args(arguments).current_dir(&deploy).output()
    };
    if docker(&["version"]).is_ok_and(|end| end.status.success()) {
        let end = docker(&["--file", "compose.yaml", "config", "--quiet"]).unwrap();
        assert!(end.status.success(), "{}", String::from_utf8_lossy(&end.stderr));
    } else {
        println!("docker compose is not here: its own check of the file was left out");
    }
}

#[test]
fn each_alert_comes_when_it_should() {
    assert_eq!(promtool(&["test", "rules", "deploy/alerts_test.yaml"], ""), Ok(()));
    let tests = text("deploy/alerts_test.yaml");
    for alert in alerts(&text("deploy/alerts.yaml")) {
        let told = format!("alertname: {}\n        exp_alerts:\n", alert.name);
        assert!(tests.contains(&told), "no test expects {} to come", alert.name);
    }
}

#[test]
fn each_alert_has_a_runbook_entry_and_each_entry_an_alert() {
    let (rules, document) = (text("deploy/alerts.yaml"), text("docs/runbook.md"));
    let (alerts, entries) = (alerts(&rules), sections(&document, "Leasehold"));
    assert!(alerts.len() > 10, "only {} alerts were found", alerts.len());
    for alert in &alerts {
        let name = alert.name.as_str();
        assert_eq!(alert.runbook, format!("runbook.md#{}", name.to_lowercase()), "{name}");
        let entry = entries.get(name).unwrap_or_else(|| panic!("{name} has no entry in docs/runbook.md"));
        for part in ["**What may be believed.**", "**Look.**", "**Do.**"] {
            assert!(entry.contains(part), "the entry of {name} lacks {part}");
        }
    }
    let names: BTreeSet<_> = alerts.iter().map(|alert| alert.name.as_str()).collect();
    assert_eq!(entries.keys().copied().collect::<BTreeSet<_>>(), names, "an entry belongs to an alert");
}

#[test]
fn rules_and_dashboard_name_metrics_that_there_are() {
    let mut all = metrics_of_the_library();
    all.extend(metrics_of_the_console().into_iter().map(|name| (name, false)));
    for path in ["deploy/alerts.yaml", "deploy/alerts_test.yaml", "deploy/grafana/leasehold.json"] {
        let text = text(path);
        let unknown: Vec<_> =
            metrics_in(&text).into_iter().filter(|name| metric_of(name, &all).is_none()).collect();
        assert!(unknown.is_empty(), "{path} names metrics that there are not: {unknown:?}");
    }
}

#[test]
fn every_metric_of_the_console_is_in_its_document() {
    let document = text("docs/console.md");
    for name in metrics_of_the_console() {
        assert!(document.contains(&format!("\n| `{name}` | ")), "{name} is not in docs/console.md");
    }
}

#[test]
fn rules_and_dashboard_name_reasons_and_outcomes_that_there_are() {
    use LossReason::{
        Expired, Forced, HeartbeatMissed, MaxHold, MaxRenewals, NotHeld, Released, RenewerDied, ShutDown,
    };
    let reasons =
        [Expired, Forced, HeartbeatMissed, MaxHold, MaxRenewals, NotHeld, Released, RenewerDied, ShutDown];
    let reasons = reasons.map(LossReason::as_str);
    // Those of requests, of renewals, and of calls to the store.
    let outcomes = [
        "granted",
        "refused",
        "cancelled",
        "invalid",
        "queue_full",
        "busy",
        "confirmed",
        "missed",
        "ok",
        "error",
    ];
    for path in ["deploy/alerts.yaml", "deploy/grafana/leasehold.json"] {
        let text = text(path);
        assert!(!words_of("reason", &text).is_empty() && words_of("outcome", &text).len() > 5, "{path}");
        for (label, known) in [("reason", &reasons[..]), ("outcome", &outcomes[..])] {
            let unknown: Vec<_> =
                words_of(label, &text).into_iter().filter(|word| !known.contains(word)).collect();
            assert!(unknown.is_empty(), "{path} compares {label} with {unknown:?}");
        }
    }
}

#[test]
fn every_histogram_has_recommended_buckets() {
    let of_library =
        metrics_of_the_library().into_iter().filter_map(|(name, is_histogram)| is_histogram.then_some(name));
    let documented = recommended_buckets(&text("docs/observability.md"));
    assert_eq!(
        documented.iter().map(|(name, _)| name.clone()).collect::<BTreeSet<_>>(),
        of_library.collect()
    );
    for (name, bounds) in documented {
        assert!(bounds.is_sorted() && bounds.len() > 5, "{name}: {bounds:?}");
    }
}

#[test]
fn every_metric_of_the_library_is_on_the_dashboard() {
    let (all, dashboard) = (metrics_of_the_library(), text("deploy/grafana/leasehold.json"));
    let shown: BTreeSet<_> =
        metrics_in(&dashboard).into_iter().filter_map(|name| metric_of(name, &all)).collect();
    assert_eq!(shown, all.keys().map(String::as_str).collect());
}
