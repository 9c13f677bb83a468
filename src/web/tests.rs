//! The texts and the headers that each error tells a client, and the secrets that none of them tells.

use std::time::Duration;

use actix_web::{
    HttpResponse, ResponseError,
    body::to_bytes,
    http::header::{CONTENT_TYPE, RETRY_AFTER},
};
use futures_util::FutureExt;
use serde_json::Value;

use super::errors::AsProblem;
use crate::{
    core::{Fence, InvalidValue, LossReason, Mode, Owner, ResourceName, Token},
    fenced::{HEADER, StaleFenceError},
    lease::{LeaseLostError, ReleaseError, ReleaseSetError, RenewError},
    manager::with_lock::WithLockError,
    request::{AcquireError, InspectError, RevokeError},
    store::{Holder, HolderState, StoreError},
};

/// Texts that nobody outside may read: where the store is, its password, and who holds what.
const SECRETS: [&str; 7] = ["10.0.0.1", "hunter2", "redis", "web-7", "4711", "deadbeef", "payroll"];

fn name() -> ResourceName {
    ResourceName::new("payroll").unwrap()
}

fn held(remaining: Duration, expected_wait: Option<Duration>) -> AcquireError {
    let metadata = [("host", "web-7"), ("pid", "4711"), ("purpose", "payroll")];
    let by = Holder {
        token: Token::from_bits(0xdead_beef << 96).prefix(),
        mode: Mode::Exclusive,
        state: HolderState::Holding,
        owner: Some(Owner::new("payroll").unwrap()),
        fence: None,
        remaining,
        held_for: None,
        metadata: metadata.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
    };
    let by = Box::new(by);
    AcquireError::Held { by, remaining, ahead: None, attempts: 1, waited: Duration::ZERO, expected_wait }
}

fn unavailable() -> StoreError {
    StoreError::unavailable("redis://user:hunter2@10.0.0.1:6379: connection refused")
}

fn unknown() -> StoreError {
    StoreError::TimedOut { within: Duration::from_secs(1), server: Some("10.0.0.1:6379".into()) }
}

fn denied() -> StoreError {
    StoreError::Denied { reason: "redis://user:hunter2@10.0.0.1 denies the user".to_owned() }
}

fn invalid(field: &str) -> InvalidValue {
    InvalidValue::new(field, "payroll", "something else")
}

fn lost() -> LeaseLostError {
    LeaseLostError { resource: name(), reason: LossReason::Expired }
}

fn of_set(errors: impl IntoIterator<Item = ReleaseError>) -> ReleaseSetError {
    ReleaseSetError { failed: errors.into_iter().map(|error| (name(), error)).collect() }
}

/// Reads a response: the status, the kind, and the seconds after which the client may try again.
fn told(response: HttpResponse) -> (u16, String, Option<u64>) {
    let (status, headers) = (response.status(), response.headers());
    assert_eq!(headers.get(CONTENT_TYPE).unwrap(), "application/problem+json");
    let after = headers.get(RETRY_AFTER).map(|after| after.to_str().unwrap().parse().unwrap());
    let said = format!("{headers:?}");
    let body = to_bytes(response.into_body()).now_or_never().unwrap().unwrap();
    let body = str::from_utf8(&body).unwrap();
    for secret in SECRETS {
        assert!(!body.contains(secret) && !said.contains(secret), "{secret:?} is in {said} {body}");
    }
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["status"], status.as_u16());
    assert_eq!(body["title"], status.canonical_reason().unwrap());
    (status.as_u16(), body["kind"].as_str().unwrap().to_owned(), after)
}

#[test]
fn a_held_lock_is_423_with_the_expected_wait_or_else_the_time_that_the_holder_has_left() {
    for (remaining, expected, after) in [
        (0, None, 1),
        (300, None, 1),
        (1_000, None, 1),
        (1_001, None, 2),
        (59_500, None, 60),
        (86_400_000, None, 60),
        (30_000, Some(3), 1),
        (30_000, Some(1_400), 2),
        (30_000, Some(7_000), 7),
        (30_000, Some(3_600_000), 60),
    ] {
        let error = held(Duration::from_millis(remaining), expected.map(Duration::from_millis));
        for error in [error.clone(), error.of(&name())] {
            assert_eq!(error.status_code(), 423);
            for response in [error.error_response(), WithLockError::from(error).error_response()] {
                assert_eq!(
                    told(response),
                    (423, "held".to_owned(), Some(after)),
                    "{remaining} ms, {expected:?}"
                );
            }
        }
    }
}

#[test]
fn every_other_error_has_its_status_its_kind_and_a_time_to_try_again_unless_its_outcome_is_unknown() {
    let assert_all_tell = |errors: &[&dyn ResponseError], status: u16, kind: &str, after: Option<u64>| {
        for error in errors {
            assert_eq!(error.status_code(), status);
            assert_eq!(told(error.error_response()), (status, kind.to_owned(), after), "{error}");
        }
    };
    let too_many: [&dyn ResponseError; 2] =
        [&AcquireError::QueueFull { waiters: 10 }, &AcquireError::Busy { pending: 10 }];
    assert_all_tell(&too_many, 429, "busy", Some(1));

    let no_answer: [&dyn ResponseError; 10] = [
        &unavailable(),
        &AcquireError::from(unavailable()),
        &AcquireError::from(unknown()),
        &AcquireError::TooLate { ttl: Duration::from_secs(1) },
        &AcquireError::Restarted,
        &WithLockError::from(AcquireError::from(unavailable())),
        &ReleaseError::from(unknown()),
        &RenewError::from(unavailable()),
        &InspectError::from(unknown()),
        &RevokeError::from(unavailable()),
    ];
    assert_all_tell(&no_answer, 503, "unavailable", Some(1));

    assert_all_tell(
        &[&AcquireError::ShuttingDown, &WithLockError::ManagerGone],
        503,
        "shutting_down",
        Some(1),
    );

    let unknown_outcome: [&dyn ResponseError; 6] = [
        &lost(),
        &WithLockError::from(lost()),
        &ReleaseError::Lost { reason: LossReason::NotHeld },
        &RenewError::Lost { reason: LossReason::Expired },
        &RevokeError::from(unknown()),
        &of_set([unavailable().into(), ReleaseError::Lost { reason: LossReason::Expired }]),
    ];
    assert_all_tell(&unknown_outcome, 503, "outcome_unknown", None);

    let not_held: [&dyn ResponseError; 3] =
        [&ReleaseError::NotHolder, &RenewError::NotFound, &of_set([ReleaseError::NotHolder])];
    assert_all_tell(&not_held, 409, "not_holder", None);

    assert_all_tell(&[&StaleFenceError::new(Fence::new(7), None)], 412, "stale_fence", None);

    let mistakes_of_the_client: [&dyn ResponseError; 5] = [
        &invalid("owner"),
        &invalid(HEADER),
        &AcquireError::from(ResourceName::new("").unwrap_err()),
        &InspectError::from(invalid("resource")),
        &ReleaseError::from(invalid("resource")),
    ];
    assert_all_tell(&mistakes_of_the_client, 400, "invalid", None);

    let mistakes_of_the_program: [&dyn ResponseError; 4] = [
        &invalid("ttl"),
        &AcquireError::from(invalid("wait")),
        &AcquireError::from(denied()),
        &RevokeError::from(denied()),
    ];
    assert_all_tell(&mistakes_of_the_program, 500, "internal", None);
}

#[test]
fn a_health_check_knows_nothing_but_503() {
    for (error, kind) in [
        (AcquireError::from(denied()), "unavailable"),
        (unavailable().into(), "unavailable"),
        (AcquireError::Busy { pending: 1 }, "busy"),
        (AcquireError::ShuttingDown, "shutting_down"),
    ] {
        let (status, told, _) = told(error.problem().of_health().response(&error));
        assert_eq!((status, told.as_str()), (503, kind));
    }
}
