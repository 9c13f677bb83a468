//! Servers that run and cannot be reached: the packets from and to their ports are dropped. Needs `nft` and its rights.

use std::{
    io::Write,
    process::{self, Command, Stdio},
};

use leasehold_testing::servers::RedisServer;

/// The distance from the port of a cluster's node to the one for its peers.
const BUS: u16 = 10_000;

/// The addresses of everybody.
pub(super) const ALL: &str = "127.0.0.0/8";

/// A cut, until this value is gone.
pub(super) struct Cut(String);

impl Cut {
    /// Cuts servers off from those who connect from these addresses, and everybody off from those addresses that they connect
    /// from themselves. Both are lists with commas; the latter may be empty.
    pub(super) fn between(servers: &[RedisServer], peers: &str, own: &str) -> Self {
        let table = format!("leasehold-{}-{}", process::id(), servers[0].port());
        let ports: Vec<_> = servers.iter().flat_map(|it| [it.port(), it.port() + BUS]).collect();
        let ports = ports.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let mut dropped = vec![
            format!("ip saddr {{ {peers} }} tcp dport {{ {ports} }}"),
            format!("ip daddr {{ {peers} }} tcp sport {{ {ports} }}"),
        ];
        if !own.is_empty() {
            dropped.extend([format!("ip saddr {{ {own} }}"), format!("ip daddr {{ {own} }}")]);
        }
        let rules: String = dropped.iter().map(|packets| format!("{packets} drop\n")).collect();
        nft(&format!("table inet {table} {{ chain cut {{ type filter hook input priority 0;\n{rules}}}\n}}"));
        Self(table)
    }
}

impl Drop for Cut {
    fn drop(&mut self) {
        nft(&format!("delete table inet {}", self.0));
    }
}

fn nft(script: &str) {
    let mut nft =
        Command::new("nft").args(["-f", "-"]).stdin(Stdio::piped()).spawn().expect("nft of nftables");
    nft.stdin.take().expect("its input").write_all(script.as_bytes()).expect("it reads");
    assert!(nft.wait().expect("its end").success(), "nft needs the rights of root: {script}");
}
