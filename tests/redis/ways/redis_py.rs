//! leasehold and redis-py's `Lock` fight for one resource.

use std::{
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use leasehold::{Acquire, Backoff, LockManager};
use redis::Value;

use crate::redis::ways::plain::store;
use leasehold_testing::servers::RedisServer;
use support::pypi;

const PACKAGE: &str = "redis==8.1.0";
const TURNS: u64 = 100;
const GIVE_UP: Duration = Duration::from_secs(60);

/// What each party does while it holds the lock: nobody else may be inside.
const WORK: &str = "
    if redis.call('INCR', 'inside') > 1 then redis.call('INCR', 'overlaps') end
    return redis.call('INCR', 'turns:' .. ARGV[1])";
const LEAVE: &str = "return redis.call('DECR', 'inside')";

const PYTHON: &str = "
import sys, time, redis
port, work, leave, enough = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
server = redis.Redis(port=port)
while True:
    with server.lock('orders/42', timeout=10, sleep=0.003):
        turns = server.eval(work, 0, 'python')
        time.sleep(0.002)
        server.eval(leave, 0)
    if turns >= enough and int(server.get('turns:rust') or 0) >= enough:
        break
    time.sleep(0.001)
";

#[actix::test]
async fn leasehold_and_redis_py_exclude_each_other_and_both_get_on() {
    let python = pypi::python(&pypi::environment(PACKAGE));
    let server = RedisServer::start();
    let theirs = Command::new(python)
        .args(["-c", PYTHON, &server.port().to_string(), WORK, LEAVE, &TURNS.to_string()])
        .stdin(Stdio::null())
        .spawn();
    let mut theirs = Theirs(theirs.expect("the python of the environment"));
    let locks = LockManager::builder(Arc::new(store(&server))).start().unwrap();
    let pauses = Backoff::new(Duration::from_millis(2), Duration::from_millis(5)).unwrap();
    let give_up = Instant::now() + GIVE_UP;
    let number = |key: &str| redis::from_redis_value::<Option<u64>>(server.command(&["GET", key])).unwrap();
    loop {
        let ask = Acquire::new("orders/42").wait(GIVE_UP).backoff(pauses);
        let lease = locks.send(ask).await.unwrap().unwrap();
        let work = async {
            let Value::Int(turns) = server.command(&["EVAL", WORK, "0", "rust"]) else { panic!("no number") };
            tokio::time::sleep(Duration::from_millis(2)).await;
            server.command(&["EVAL", LEAVE, "0"]);
            turns as u64
        };
        let turns = lease.run(work).await.unwrap();
        lease.release().await.unwrap();
        if turns >= TURNS && number("turns:python").unwrap_or(0) >= TURNS {
            break;
        }
        assert!(Instant::now() < give_up, "{turns} turns against {:?}", number("turns:python"));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(theirs.0.wait().unwrap().success());
    assert_eq!((number("overlaps"), number("inside")), (None, Some(0)));
    println!("turns: {:?} of leasehold, {:?} of redis-py", number("turns:rust"), number("turns:python"));
}

struct Theirs(Child);

impl Drop for Theirs {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
