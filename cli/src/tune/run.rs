//! `leasehold tune run`: a workload on a real server, by several processes.

use std::{path::PathBuf, process::ExitCode};

use super::{
    fleet::Run,
    input::{Changes, Source},
    own_server::OwnServer,
    simulate::Shown,
};
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
    changes: Changes,
    #[command(flatten)]
    shown: Shown,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let (source, set) = (Source::File(options.workload.clone()), options.changes.set());
    let workload = source.read(&set)?;
    options.shown.check()?;
    let report = match &options.store {
        Some(url) => {
            if workload.slow_server.is_some() {
                eprintln!(
                    "slow_server is left out: only servers of our own can be slowed down, so leave out --store"
                );
            }
            Run { workload: &workload, source: &source, set: &set, url, servers: &[] }.report()?
        }
        None => {
            let (servers, url) = own_servers(workload.nodes)?;
            Run { workload: &workload, source: &source, set: &set, url: &url, servers: &servers }.report()?
        }
    };
    options.shown.show(&[&report])?;
    Ok(ExitCode::SUCCESS)
}

/// Starts as many servers as a workload has, and returns the address of all of them.
pub(crate) fn own_servers(nodes: u32) -> Result<(Vec<OwnServer>, String), Failure> {
    let servers = (0..nodes).map(|_| OwnServer::start()).collect::<Result<Vec<_>, _>>()?;
    let urls: Vec<_> = servers.iter().map(OwnServer::url).collect();
    let url = match &urls[..] {
        [one] => one.clone(),
        several => format!("quorum://[{}]", several.join(",")),
    };
    Ok((servers, url))
}
