//! Ports that no other test takes, not even while nobody listens on them.

use std::{env, fs::File, net::TcpListener};

/// Returns a port that nobody listens on at this moment.
pub fn free_port() -> u16 {
    Port::reserve().number()
}

/// A port that is reserved for as long as this value is there, in all test programs that run on this machine.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _lock: File,
}

impl Port {
    /// Reserves a port that nobody listens on. No outgoing connection takes it while its server is down, because the system
    /// gives those higher ports. The same is true of the bus port of a cluster's node, which is 10,000 higher.
    pub fn reserve() -> Self {
        let numbers = std::iter::repeat_with(|| rand::random_range(11_000..21_000));
        numbers.take(1000).find_map(Self::reserved).expect("a free port")
    }

    /// The number of the port.
    pub const fn number(&self) -> u16 {
        self.number
    }

    fn reserved(number: u16) -> Option<Self> {
        let path = env::temp_dir().join(format!("leasehold-port-{number}"));
        // That of another user cannot be opened.
        let lock = File::options().create(true).truncate(false).write(true).open(path).ok()?;
        lock.try_lock().ok()?;
        let _free = TcpListener::bind(("127.0.0.1", number)).ok()?;
        Some(Self { number, _lock: lock })
    }
}
