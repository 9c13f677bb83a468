//! What a configuration may say, and the exact words with which the rest is refused.

use std::{fs, sync::Arc, time::Duration};

use actix::Addr;
use leasehold::{
    Acquire, AcquireError, Backoff, Config, ConfigError, Durability, Jitter, Layout, Lease, LockManager,
    MemoryStore, SetTuning, Settings, Tuning,
};
use leasehold_testing::waiting::PATIENCE;
use leasehold_tuning::tuner::Tuner;

fn refused(text: &str, variables: &[(&str, &str)]) -> ConfigError {
    match Config::from_sources("my.toml", text, variables.iter().copied()) {
        Ok(config) => panic!("accepted {text:?} {variables:?}: {config:?}"),
        Err(error) => error,
    }
}

fn with_variables(text: &str, variables: &[(&str, &str)]) -> Config {
    Config::from_sources("my.toml", text, variables.iter().copied()).unwrap()
}

#[test]
fn the_embedded_file_says_what_the_code_assumes() {
    assert_eq!(Config::default().settings(), Settings::default());
    assert_eq!(Config::from_toml("").unwrap(), Config::default());
    assert_eq!(Config::from_toml(Config::DEFAULT_TOML).unwrap(), Config::default());
}

#[test]
fn every_key_is_explained_right_above_it() {
    let lines: Vec<&str> = Config::DEFAULT_TOML.lines().collect();
    let is_key = |line: &str| {
        let name = line.trim_start_matches("# ").split_once(" = ").map(|(name, _)| name);
        name.is_some_and(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
    };
    let keys: Vec<usize> = (0..lines.len()).filter(|&at| is_key(lines[at])).collect();
    assert_eq!(keys.len(), 44, "{keys:?}");
    for at in keys {
        let above = lines[at - 1];
        assert!(
            above.starts_with("# ") && above.ends_with('.') && !is_key(above),
            "no comment above {}",
            lines[at]
        );
    }
}

#[test]
fn every_key_that_is_commented_out_can_be_set() {
    let (mut section, mut out) = ("", Vec::new());
    for line in Config::DEFAULT_TOML.lines() {
        let keys = ["preset = ", "attempts = ", "renewal_interval = ", "response_timeout = "];
        match line.strip_prefix("# ") {
            Some(line) if keys.iter().any(|key| line.starts_with(key)) => out.push((section, line)),
            _ if line.starts_with('[') => section = line,
            _ => {}
        }
    }
    assert_eq!(out.len(), 4);
    for (section, line) in out {
        let set = Config::from_toml(&format!("{section}\n{line}")).unwrap();
        assert_ne!(set, Config::default(), "{line}");
    }
}

/// Returns another value than this one, as TOML.
fn another(key: &str, value: &toml::Value) -> toml::Value {
    let text = match (key, value) {
        (_, toml::Value::Boolean(value)) => return (!value).into(),
        (_, toml::Value::Integer(value)) => return (value + 1).into(),
        (_, toml::Value::Float(value)) => return (value + 0.5).into(),
        ("url", _) => "memory://other".to_owned(),
        ("layout", _) => "plain".to_owned(),
        ("jitter", _) => "full".to_owned(),
        ("preset", _) => "flash_sale".to_owned(),
        (_, toml::Value::String(text)) => {
            let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            match (text[..digits].parse::<u64>(), &text[digits..]) {
                (Ok(0), unit) => format!("1{unit}"),
                (Ok(1), "s") => "900ms".to_owned(),
                (Ok(1), "h") => "59m".to_owned(),
                (Ok(number), unit) => format!("{}{unit}", number - 1),
                (Err(_), _) => "other".to_owned(),
            }
        }
        (key, value) => panic!("{key} = {value}"),
    };
    text.into()
}

#[test]
fn every_key_can_be_set_by_a_variable() {
    let (mut section, mut tried) = ("", 0);
    for line in Config::DEFAULT_TOML.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
            continue;
        }
        let Ok(table) = line.trim_start_matches("# ").parse::<toml::Table>() else { continue };
        for (key, value) in table {
            let value = another(&key, &value);
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let variable = format!("LEASEHOLD_{section}_{key}").to_uppercase();
            let set = with_variables("", &[(&variable, &text)]);
            assert_eq!(set, with_variables(&format!("{section}.{key} = {value}"), &[]), "{variable}={text}");
            assert_ne!(set, Config::default(), "{variable}={text}");
            tried += 1;
        }
    }
    assert_eq!(tried, 44);
}

#[test]
fn an_address_in_a_foreign_variable_is_passed_over_only_if_the_store_is_named() {
    let foreign = [("LEASEHOLD_URL", "redis://other"), ("LEASEHOLD_PORT", "tcp://10.0.0.1:6379")];
    let named = with_variables("store.url = 'redis://mine'", &foreign);
    assert_eq!(named.store.url.reveal(), "redis://mine");
    let named = with_variables("", &[foreign[0], foreign[1], ("LEASEHOLD_STORE_URL", "redis://mine")]);
    assert_eq!(named.store.url.reveal(), "redis://mine");
    assert_eq!(with_variables("", &foreign[1..]), Config::default());
}

#[test]
fn an_address_in_the_wrong_setting_shows_no_password() {
    let addresses = [
        "redis://u:hunter2@h",
        "redis://:hunter2",
        "redis+unix:///s?pass=hunter2",
        "redis://u:hun\\\"ter2, expected hunter2@h",
        "quorum://[redis://u:hunter2@a,redis://u:hunter2@b]",
    ];
    let keys = ["prefix", "layout", "replicas_ack", "tls_ca", "connect_timeout", "fresh_start"];
    let keys = keys.map(|key| format!("store.{key}"));
    let others =
        ["lease.ttl", "backoff.jitter", "backoff.preset", "limits.max_waiters", "tuner.enabled", "lease"];
    for setting in keys.into_iter().chain(others.map(str::to_owned)) {
        for address in addresses {
            let text = format!("store.url = 'rediss://h'\n{setting} = \"{address}\"");
            let error = refused(&text, &[]);
            let variable = format!("LEASEHOLD_{}", setting.replace('.', "_").to_uppercase());
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("hunter2") && !shown.contains("ter2"), "{setting}: {shown}");
            if setting.contains('.') {
                let url = ("LEASEHOLD_STORE_URL", "rediss://h");
                let error = refused("", &[url, (&variable, address)]);
                let shown = format!("{error} {error:?}");
                assert!(!shown.contains("hunter2") && !shown.contains("ter2"), "{variable}: {shown}");
            }
        }
    }
    let shown = refused("lease.ttl = 'redis://u:hunter2@h'", &[]).to_string();
    assert!(shown.contains("\"redis://…\", expected a duration"), "{shown}");
    let key = refused("lease.\"redis://u:hunter2@h\" = 1", &[]).to_string();
    assert!(!key.contains("hunter2"), "{key}");
}

#[test]
fn a_text_changes_what_it_says_and_nothing_else() {
    let config = Config::from_toml(
        "[lease]\nttl = '1m 30s'\n[backoff]\njitter = 'full'\nattempts = 4\nmultiplier = 3",
    )
    .unwrap();
    let mut expected = Config::default();
    expected.lease.ttl = Duration::from_secs(90);
    let backoff = Backoff::default().jitter(Jitter::Full);
    expected.backoff = backoff.attempts(4).unwrap().multiplier(3.0).unwrap();
    assert_eq!(config, expected);
}

#[test]
fn a_variable_wins_over_the_text_whatever_its_type() {
    let text = "[lease]\nttl = '20s'\n[store]\nprefix = 'shop'";
    let config = with_variables(
        text,
        &[
            ("LEASEHOLD_LEASE_TTL", "40s"),
            ("LEASEHOLD_LEASE_RENEWAL_INTERVAL", "4s"),
            ("LEASEHOLD_STORE_URL", "redis://host"),
            ("LEASEHOLD_STORE_PREFIX", "42"),
            ("LEASEHOLD_BACKOFF_MULTIPLIER", "3"),
            ("LEASEHOLD_BACKOFF_ATTEMPTS", "7"),
            ("LEASEHOLD_BACKOFF_JITTER", "none"),
            ("LEASEHOLD_LIMITS_MAX_PENDING", "5"),
            ("PATH", "/bin"),
            ("leasehold_other", "not ours"),
        ],
    );
    assert_eq!(config.lease.ttl, Duration::from_secs(40));
    assert_eq!(config.lease.renewal_interval(), Duration::from_secs(4));
    assert_eq!(config.store.url.reveal(), "redis://host");
    assert_eq!(config.store.prefix, "42");
    let backoff = Backoff::default().multiplier(3.0).unwrap().attempts(7).unwrap();
    assert_eq!(config.backoff, backoff.jitter(Jitter::None));
    assert_eq!(config.limits.max_pending, 5);
}

#[test]
fn what_is_not_set_follows_what_is() {
    let millis = Duration::from_millis;
    let config =
        with_variables("", &[("LEASEHOLD_LEASE_TTL", "10s"), ("LEASEHOLD_STORE_URL", "redis://host")]);
    assert_eq!(config.lease.ttl, millis(10_000));
    assert_eq!(config.lease.renewal_interval(), millis(10_000) / 3);
    assert_eq!(config.response_timeout(), millis(500));

    let config = with_variables("store.url = 'redis://host'", &[("LEASEHOLD_LEASE_TTL", "900ms")]);
    assert_eq!((config.lease.renewal_interval(), config.response_timeout()), (millis(300), millis(300)));
    let mut config = Config::from_toml("store.url = 'redis://host'").unwrap();
    config.lease.ttl = millis(900);
    config.check().unwrap();
    assert_eq!(config.response_timeout(), millis(300), "also what code has set is followed");

    let config = Config::from_toml("limits.max_ttl = '20s'\nwait.grant_window = '30s'").unwrap();
    assert_eq!((config.lease.ttl, config.wait.ticket_ttl), (millis(20_000), millis(30_000)));
    let config = Config::from_toml("backoff.initial = '2s'\nsupervision.restart_pause = '3s'").unwrap();
    assert_eq!(config.backoff, Backoff::new(millis(2_000), millis(2_000)).unwrap());
    assert_eq!(config.supervision.max_restart_pause, millis(3_000));
    let config = Config::from_toml("backoff.max = '20ms'\nsupervision.max_restart_pause = '3ms'").unwrap();
    assert_eq!(config.backoff, Backoff::new(millis(20), millis(20)).unwrap());
    assert_eq!(config.supervision.restart_pause, millis(3));
}

#[test]
fn variables_of_others_do_not_stop_the_start() {
    let foreign = [
        ("LEASEHOLD_SERVICE_HOST", "10.0.0.1"),
        ("LEASEHOLD_SERVICE_PORT", "6379"),
        ("LEASEHOLD_PORT", "tcp://10.0.0.1:6379"),
        ("LEASEHOLD_PORT_6379_TCP", "tcp://10.0.0.1:6379"),
        ("LEASEHOLD_PORT_6379_TCP_ADDR", "10.0.0.1"),
        ("LEASEHOLD_STORE_PORT", "tcp://10.0.0.1:6379"),
        ("LEASEHOLD_DEBUG", "1"),
        ("LEASEHOLD_", "1"),
        ("LEASEHOLD_CONFIG", "/read/by/load.toml"),
    ];
    assert_eq!(with_variables("", &foreign), Config::default());
}

#[test]
fn a_preset_replaces_what_earlier_sources_said_of_the_pauses() {
    let config = Config::from_toml("backoff.preset = 'scheduled_job'").unwrap();
    assert_eq!(config.backoff, Backoff::SCHEDULED_JOB);

    let config = with_variables("backoff.max = '2s'", &[("LEASEHOLD_BACKOFF_PRESET", "flash_sale")]);
    assert_eq!(config.backoff, Backoff::FLASH_SALE);
}

#[test]
fn the_layout_and_the_replicas_of_a_store_are_set_by_name() {
    let text = "store.url = 'redis://host'\nstore.layout = 'plain'\nstore.prefix = ''";
    let config = with_variables(text, &[("LEASEHOLD_STORE_REPLICAS_ACK", "2")]);
    assert_eq!((config.store.layout, config.store.replicas_ack), (Layout::Plain, 2));
    assert_eq!(config.open_store().unwrap().durability(), Durability::Replicated { replicas: 2 });
    assert_eq!(Config::default().open_store().unwrap().durability(), Durability::OneCopy);
}

#[test]
fn a_file_is_read_and_a_missing_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.toml");
    fs::write(&path, "lease.ttl = '25s'").unwrap();
    assert_eq!(Config::from_file(&path).unwrap().lease.ttl, Duration::from_secs(25));

    let missing = folder.path().join("missing.toml");
    let error = Config::from_file(&missing).unwrap_err();
    let told = "(LEASEHOLD_CONFIG can name another file)";
    assert_eq!(error.to_string(), format!("cannot read the configuration {} {told}", missing.display()));
    assert!(matches!(error, ConfigError::Io { .. }));

    fs::write(&path, "[leasehold.lease]\nttl = '20s'\n[lease]\nof = 'houses'").unwrap();
    assert_eq!(Config::from_file(&path).unwrap().lease.ttl, Duration::from_secs(20));
    fs::write(&path, "lease.tlt = '20s'").unwrap();
    let error = Config::from_file(&path).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{} {told}: lease.tlt: unknown field", path.display())), "{error}");
}

#[test]
fn a_configuration_knows_its_sources_and_no_values_of_them() {
    let variables = [
        ("LEASEHOLD_STORE_URL", "redis://:hunter2@host"),
        ("LEASEHOLD_LEASE_TTL", "10s"),
        ("LEASEHOLD_OTHER", "1"),
        ("LEASEHOLD_CONFIG", "/read/by/load.toml"),
    ];
    let mut config = with_variables("lease.ttl = '9s'", &variables);
    assert_eq!(config.sources(), ["my.toml", "LEASEHOLD_LEASE_TTL", "LEASEHOLD_STORE_URL"]);
    config.add_source("--store");
    assert_eq!(config.sources().last().unwrap(), "--store");
    assert!(!format!("{config:?}").contains("hunter2"));
    assert!(Config::default().sources().is_empty());
    assert_eq!(with_variables("", &variables).sources().len(), 3);
}

#[test]
fn a_value_out_of_its_bounds_is_told_with_the_source_that_gave_it() {
    let short = ("LEASEHOLD_LEASE_TTL", "1ms");
    for (text, variables, source) in [
        ("lease.ttl = '1ms'", &[][..], "my.toml"),
        ("lease.ttl = '10s'", &[short], "LEASEHOLD_LEASE_TTL"),
        // The default of the other setting is what is refused.
        ("backoff.max = '0s'", &[], "my.toml"),
        ("leasehold.lease.ttl = '1ms'", &[], "my.toml: [leasehold]"),
    ] {
        let error = refused(text, variables);
        assert!(matches!(&error, ConfigError::OutOfBounds { origin, .. } if origin == source), "{error}");
        assert!(error.to_string().starts_with(&format!("{source}: invalid ")), "{error}");
    }
}

#[test]
fn no_server_is_needed_to_open_a_store() {
    let config = with_variables("", &[("LEASEHOLD_STORE_URL", "redis://127.0.0.1:1")]);
    config.open_store().unwrap();
    Config::default().open_store().unwrap();
}

/// Asks for `r` once, without waiting.
async fn asks(locks: &Addr<LockManager>) -> Result<Lease, AcquireError> {
    locks.send(Acquire::new("r")).await.unwrap()
}

#[actix::test]
async fn managers_of_one_process_share_the_memory_of_one_name() {
    let start = |text: &str| Config::from_toml(text).unwrap().start().unwrap();
    let first = start("store.url = 'memory://shared'");
    let lease = asks(&first).await.unwrap();
    let second = start("store.url = 'memory://shared'");
    assert!(matches!(asks(&second).await, Err(AcquireError::Held { .. })));

    let elsewhere = ["memory://other", "memory://shared'\nstore.prefix = 'other"];
    for store in elsewhere {
        let lease = asks(&start(&format!("store.url = '{store}'"))).await.unwrap();
        lease.release().await.unwrap();
    }
    let of_its_own = LockManager::builder(Arc::new(MemoryStore::default())).start().unwrap();
    asks(&of_its_own).await.unwrap().release().await.unwrap();

    lease.release().await.unwrap();
    asks(&second).await.unwrap().release().await.unwrap();
}

#[actix::test]
async fn the_memory_without_a_name_is_one_store_too() {
    let first = asks(&Config::default().start().unwrap()).await.unwrap();
    let second = asks(&Config::default().start().unwrap()).await;
    assert!(matches!(second, Err(AcquireError::Held { .. })), "{second:?}");
    first.release().await.unwrap();
}

#[test]
fn who_misspells_an_address_is_told_all_kinds_of_addresses() {
    let error = refused("store.url = 'memory:/'", &[]).to_string();
    assert!(
        error.starts_with("my.toml: invalid store.url: ") && error.contains("(allowed: memory://, redis://"),
        "{error}"
    );
}

#[test]
fn a_quorum_is_opened_from_its_address() {
    let config =
        Config::from_toml("store.url = 'quorum://[redis://:hunter2@a:1, redis://b,redis+unix:///c]'")
            .unwrap();
    let shown = format!("{:?}", config.open_store().unwrap());
    for node in ["redis://a:1", "redis://b", "redis+unix:///c"] {
        assert!(shown.contains(node) && !shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn an_address_of_a_quorum_that_cannot_be_right_is_refused_with_the_reason() {
    for (url, reason) in [
        ("redis://a,redis://b", "quorum:// without [ and ]"),
        ("[]", "the node "),
        ("[redis://:hunter2@a]", "a quorum of 1"),
        ("[redis://a,redis://b,redis://a]", "redis://a twice"),
        ("[redis://a,memory://]", "the node memory://"),
        ("[redis://a,quorum://[redis://b,redis://c]]", "the node quorum://"),
        ("[redis://a,redis://:hunter2]", "redis://"),
    ] {
        let error = refused(&format!("store.url = 'quorum://{url}'"), &[]).to_string();
        assert!(error.contains(": invalid store.url: ") && error.contains(reason), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    let error =
        refused("store.url = 'quorum://[redis://a,redis://b]'\nstore.node_timeout = '0s'", &[]).to_string();
    assert!(error.contains(": invalid store.node_timeout: "), "{error}");
}

#[test]
fn values_that_code_put_in_are_checked_too() {
    let mut config = Config::default();
    config.lease.ttl = Duration::ZERO;
    let error = config.check().unwrap_err();
    assert!(matches!(&error, ConfigError::Invalid(invalid) if invalid.field == "lease.ttl"), "{error}");
    assert!(config.settings().check().is_err());
}

#[test]
fn everything_that_is_wrong_is_refused_with_these_words() {
    // Two lines a case: a text (`↵` is a line break) or variables, and below it the error.
    let table: Vec<&str> = include_str!("refused.txt").lines().collect();
    assert!(table.len().is_multiple_of(2) && table.len() >= 100, "{} lines", table.len());
    for case in table.chunks(2) {
        let (wrong, expected) = (case[0], case[1]);
        let (text, variables) = wrong.split_at(wrong.find("LEASEHOLD_").unwrap_or(wrong.len()));
        let variables: Vec<_> = variables.split_whitespace().filter_map(|set| set.split_once('=')).collect();
        let error = refused(&text.replace('↵', "\n"), &variables);
        assert_eq!(error.to_string(), expected.trim_start(), "for {wrong}");
    }
}

#[test]
fn no_password_is_ever_shown() {
    let wrong = [
        "url = redis://:hunter2@host",
        "url = 'redis://:hunter2@host",
        "url = 'redis://:hunter2@host' 5",
        "url = \"redis://:\\hunter2@host\"",
        "url 'redis://:hunter2@host'",
        "url = ['redis://:hunter2@host']",
        "url = { 'redis://:hunter2@host' = 1 }",
        "uri = 'redis://:hunter2@host'",
        "url = 'http://:hunter2@host'",
        "url = 'http://:hunter2'",
        "url = ':hunter2@host'",
        "url = 'redis://:hunter2@host'\nresponse_timeout = '1h'",
    ];
    for text in wrong {
        let error = refused(&format!("[store]\n{text}"), &[]);
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
    let right = Config::from_toml("store.url = 'redis://user:hunter2@host:6379/1'").unwrap();
    let shown = format!("{right:?} {} {:?}", right.store.url, right.open_store());
    assert!(shown.contains("redis://host:6379/1") && !shown.contains("hunter2"), "{shown}");
}

async fn tuning(locks: &Addr<LockManager>) -> Tuning {
    locks.send(SetTuning::default()).await.unwrap().unwrap()
}

/// Starts a manager and its tuner, and has 20 wait for a lock that is held.
async fn crowded(config: &Config) -> (Addr<LockManager>, Lease) {
    let locks = config.start().unwrap();
    Tuner::builder(&locks).settings(config.tuner.clone()).start().unwrap();
    let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
    for _ in 0..20 {
        let waits = locks.send(Acquire::new("r"));
        actix::spawn(async move { waits.await.map(drop) });
    }
    (locks, lease)
}

#[actix::test]
async fn a_tuner_changes_settings_if_the_configuration_enables_it_and_not_else() {
    let config = |enabled: bool| {
        let text = format!(
            "store.url = 'memory://tuned-{enabled}'\nwait.timeout = '1h'\ntuner.enabled = {enabled}\ntuner.window = '100ms'"
        );
        Config::from_toml(&text).unwrap()
    };
    let (fixed, _lease) = crowded(&config(false)).await;
    let before = tuning(&fixed).await;
    let (tuned, _lease) = crowded(&config(true)).await;
    let sheds = async {
        while tuning(&tuned).await.max_waiters == before.max_waiters {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, sheds).await.expect("nobody sheds a queue that stays");
    assert_eq!(tuning(&fixed).await, before);
}

#[test]
fn no_manager_starts_outside_of_an_actix_system() {
    let error = Config::default().start().unwrap_err();
    assert!(matches!(error, ConfigError::Start(_)), "{error}");
}

#[actix::test]
async fn a_manager_starts_without_a_server() {
    let config = Config::from_toml("store.url = 'redis://127.0.0.1:1'").unwrap();
    assert!(config.start().unwrap().connected());
}
