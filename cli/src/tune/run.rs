//! `leasehold tune run`: a workload on a real server, by several processes.

use std::{path::PathBuf, process::ExitCode};

use leasehold_tuning::servers::Run;

use super::{input::SettingChanges, own_server::OwnServer, simulate::ReportShown};
use crate::Failure;

/// Runs a workload on a real server, with as many processes as it says, and shows what was measured
#[derive(clap::Args)]
#[command(after_help = "Example:\n  leasehold tune run --workload sale.toml")]
pub(crate) struct Options {
    /// The workload, with the settings that are tried on it
    #[arg(long, value_name = "FILE")]
    workload: PathBuf,
    /// The address of the server, or of a quorum [default: servers of our own on this machine]
    ///
    /// It should be a server for trials. Its locks are below a prefix of their own, and the members of a quorum are taken for
    /// new ones.
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    #[command(flatten)]
    changes: SettingChanges,
    #[command(flatten)]
    shown: ReportShown,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let workload = options.changes.read(&options.workload)?;
    options.shown.check()?;
    if options.store.is_some() && workload.slow_server.is_some() {
        eprintln!(
            "slow_server is left out: only servers of our own can be slowed down, so leave out --store"
        );
    }
    let nodes = if options.store.is_some() { 0 } else { workload.nodes };
    let servers = (0..nodes).map(|_| OwnServer::start()).collect::<Result<Vec<_>, _>>()?;
    let processes: Vec<_> = servers.iter().map(OwnServer::id).collect();
    let report = Run {
        workload: &workload,
        file: &options.workload,
        set: options.changes.set(),
        url: &options.store.clone().unwrap_or_else(|| url_of(&servers)),
        servers: &processes,
        worker: &["tune", "worker"],
    }
    .report()?;
    options.shown.show(&[&report])?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the address of all of these servers.
fn url_of(servers: &[OwnServer]) -> String {
    match servers {
        [one] => one.url(),
        several => format!("quorum://[{}]", several.iter().map(OwnServer::url).collect::<Vec<_>>().join(",")),
    }
}
