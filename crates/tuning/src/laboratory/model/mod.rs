//! The simulation: the real manager and the store in memory, in virtual time, with a server between them.

mod clockwork;
mod server;
mod timed;

use std::{panic::resume_unwind, sync::Arc, thread, time::Duration};

use actix::Addr;
use futures_util::future::join_all;
use leasehold::{
    Config, ConfigError, Layout, LockManager, QuorumOptions, QuorumStore, Shutdown, Stats,
    env::RuntimeClock,
    store::{QuorumNode, Store},
};
use tokio::task::LocalSet;

use self::{clockwork::Clockwork, server::SimulatedServer, timed::TimedStore};
use super::{
    chance::{Chance, SeededRandom},
    changes,
    drive::{Served, drive, warm_up},
    profile::ServerProfile,
    report::{Report, Spent},
    workload::Workload,
};

/// The parts of the seed: numbers below belong to the callers.
const MANAGERS: u64 = 1 << 40;
const CONNECTIONS: u64 = 1 << 41;
const TIMERS: u64 = 1 << 42;

/// Predicts how a workload runs on a server with this profile. The same workload, seed and profile lead to the same report.
///
/// It blocks the thread until it has finished: about a second for each 100,000 requests that meet nobody. It may be called
/// anywhere, also inside of a runtime.
///
/// # Errors
/// [`ConfigError`] when the configuration of the workload or the profile is wrong.
pub fn simulate(workload: &Workload, profile: &ServerProfile) -> Result<Report, ConfigError> {
    let run = run(workload, profile)?;
    Ok(Report::new(workload, &run.served, &run.spent))
}

fn run(workload: &Workload, profile: &ServerProfile) -> Result<SimulatedRun, ConfigError> {
    profile.check()?;
    let config = workload.config()?;
    // A thread of its own has neither a runtime nor an actix system.
    thread::scope(|scope| {
        let simulation = scope.spawn(|| in_virtual_time(workload, profile, &config));
        simulation.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

fn in_virtual_time(
    workload: &Workload,
    profile: &ServerProfile,
    config: &Config,
) -> Result<SimulatedRun, ConfigError> {
    let clockwork = Clockwork::default();
    let runtime = clockwork.runtime().map_err(leasehold::StartError::Arbiter)?;
    let world = async {
        let simulation = Simulation::start(workload, profile, config, &clockwork)?;
        simulation.run(workload, config).await
    };
    let tasks = LocalSet::new();
    runtime.block_on(clockwork.watch(tasks.run_until(world)))
}

/// A run of a workload.
struct SimulatedRun {
    served: Vec<Served>,
    spent: Spent,
}

/// The managers of a simulated fleet, and its servers.
struct Simulation {
    clockwork: Clockwork,
    servers: Vec<Arc<SimulatedServer>>,
    managers: Vec<Addr<LockManager>>,
    profile: ServerProfile,
}

impl Simulation {
    fn start(
        workload: &Workload,
        profile: &ServerProfile,
        config: &Config,
        clockwork: &Clockwork,
    ) -> Result<Self, ConfigError> {
        let clock = Arc::new(RuntimeClock::start());
        let is_plain = config.store.layout == Layout::Plain;
        let server =
            |_| Arc::new(SimulatedServer::new(profile.clone(), clock.clone(), clockwork.clone(), is_plain));
        let servers: Vec<_> = (0..workload.nodes).map(server).collect();
        let mut managers = Vec::new();
        for process in 0..u64::from(workload.processes) {
            let connect = |(node, server): (u64, &Arc<SimulatedServer>)| {
                let chance = Chance::of(workload.seed, CONNECTIONS + process * 64 + node);
                Arc::new(TimedStore::new(Arc::clone(server), chance, config.response_timeout()))
            };
            let mut nodes: Vec<_> = (0..).zip(&servers).map(connect).collect();
            let store: Arc<dyn Store> = match nodes.pop() {
                Some(only) if nodes.is_empty() => only,
                last => Arc::new(quorum(nodes.into_iter().chain(last), config, &clock)?),
            };
            let random = SeededRandom::new(Chance::of(workload.seed, MANAGERS + process));
            let builder = LockManager::builder(store).settings(config.settings()).clock(clock.clone());
            managers.push(builder.random(Arc::new(random)).start_here()?);
        }
        Ok(Self { clockwork: clockwork.clone(), servers, managers, profile: profile.clone() })
    }

    async fn run(self, workload: &Workload, config: &Config) -> Result<SimulatedRun, ConfigError> {
        for manager in &self.managers {
            // Nothing fails here but a workload with a very short wait, which then begins cold.
            let _ = warm_up(manager).await;
        }
        let before = self.attempts().await;
        let served_before: Vec<_> = self.servers.iter().map(|server| server.spent()).collect();
        let (profile, mut chance) = (self.profile.clone(), Chance::of(workload.seed, TIMERS));
        let pace = Arc::new(self.clockwork.pace(move || profile.lateness(&mut chance)));
        let started = tokio::time::Instant::now();
        for (server, slow) in self.servers.iter().zip(workload.slow_server.iter().cycle()) {
            server.be_slow(slow.clone());
        }
        let changes = changes::start((0..).zip(&self.managers), &config.tuner)?;
        let drives =
            (0..).zip(&self.managers).map(|(process, locks)| drive(workload, process, locks, pace.clone()));
        let served = join_all(drives).await.concat();
        let elapsed = started.elapsed();
        let mut spent = Spent { attempts: self.attempts().await - before, elapsed, ..Spent::default() };
        for (server, (commands, busy)) in self.servers.iter().zip(served_before) {
            let (all_commands, all_busy) = server.spent();
            spent.commands += all_commands - commands;
            spent.server_time += all_busy - busy + elapsed.mul_f64(server.idle());
        }
        let shutdowns = self.managers.iter().map(|locks| locks.send(Shutdown { drain: Duration::ZERO }));
        // A manager that has ended needs no farewell.
        let _ = join_all(shutdowns).await;
        spent.changes = changes.since(started);
        Ok(SimulatedRun { served, spent })
    }

    /// Returns the attempts of all managers since their start.
    async fn attempts(&self) -> u64 {
        let stats = join_all(self.managers.iter().map(|locks| locks.send(Stats))).await;
        stats.into_iter().flatten().map(|stats| stats.attempts).sum()
    }
}

fn quorum(
    nodes: impl Iterator<Item = Arc<TimedStore>>,
    config: &Config,
    clock: &Arc<RuntimeClock>,
) -> Result<QuorumStore, ConfigError> {
    let named = (0..).zip(nodes).map(|(number, node)| {
        let node: Arc<dyn QuorumNode> = node;
        (format!("node {number}"), node)
    });
    let options = QuorumOptions {
        node_timeout: config.store.node_timeout,
        connect_timeout: config.store.connect_timeout,
        max_ttl: config.limits.max_ttl,
        fresh_start: true,
    };
    Ok(QuorumStore::with_clock(named, options, clock.clone())?)
}

#[cfg(test)]
mod adapting;
#[cfg(test)]
mod shifting;
#[cfg(test)]
mod tests;
