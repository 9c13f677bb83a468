//! The Redis store and the memory store, side by side: whatever is done to both, they answer the same.
//!
//! Time passes by jumps of whole seconds, and whatever ends by itself ends half a second beside them; so it does not matter
//! that the server's clock also runs while a case runs. The cases are always the same ones. With `PROPTEST_CASES` so many
//! random ones are tried.

pub(crate) mod answers;
pub(crate) mod case;
pub(crate) mod pair;
pub(crate) mod told;

use std::{env, time::Instant};

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use leasehold_testing::servers::RedisServer;

use self::{
    answers::{Found, SLACK},
    case::{Case, cases},
    pair::Pair,
};

/// Runs a case; again if the machine was so busy that the server's own clock blurred it.
async fn compare(server: &RedisServer, case: &Case) -> Found {
    const TRIES: usize = 20;
    let mut found = Ok(());
    for _ in 0..TRIES {
        let started = Instant::now();
        found = Pair::new(server).await.run(case).await;
        if found.is_ok() || started.elapsed() < SLACK {
            break;
        }
    }
    found
}

#[test]
fn the_redis_store_answers_as_the_memory_store_does() {
    const CASES: u32 = 2_000;
    let mut config = Config { failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(config.clone());
    if env::var_os("PROPTEST_CASES").is_none() {
        // Always the same ones.
        config.cases = CASES;
        runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    }
    let server = RedisServer::with_clock();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let tried =
        runner.run(&cases(), |case| runtime.block_on(compare(&server, &case)).map_err(TestCaseError::fail));
    match tried {
        Ok(()) => {}
        Err(TestError::Fail(found, case)) => panic!("{found}\n{case:?}"),
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}
