//! The network of the soak: a namespace of its own, whose packets are lost and delayed by the port of a server. It has its own
//! processes too, which end with the soak however that ends.
//!
//! Without the right to have one (`unshare`, `ip`, `tc`, `nft`) the soak goes on without these faults, and says so.

use std::{
    env,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
};

/// Set for a process that is in a namespace of its own.
const INSIDE: &str = "LEASEHOLD_SOAK_INSIDE";

/// What `unshare` gives it.
const OWN: [&str; 5] = ["--net", "--pid", "--fork", "--kill-child", "--mount-proc"];

/// How packets can be delayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delay {
    /// By a time, with `netem`.
    Netem,
    /// By the queue of a narrow link, with `htb`.
    Narrow,
}

/// The network of this namespace.
#[derive(Clone, Debug)]
pub(super) struct Network {
    pub(super) delay: Delay,
}

/// Becomes this program again in a namespace of its own, unless it is in one already, or may have none.
pub(super) fn enter() {
    if env::var_os(INSIDE).is_some() || !runs("unshare", &[&OWN[..], &["true"]].concat()) {
        return;
    }
    let mut command = Command::new("unshare");
    command.args(OWN).arg("--").arg(env::current_exe().unwrap()).args(env::args().skip(1));
    let error = command.env(INSIDE, "yes").exec();
    eprintln!("no network of its own: {error}");
}

impl Network {
    /// Prepares the network of this namespace; or says why it cannot be.
    pub(super) fn prepare() -> Result<Self, String> {
        if env::var_os(INSIDE).is_none() {
            return Err("no network namespace: unshare --net is not permitted here".to_owned());
        }
        ran("ip link set lo up")?;
        ran("tc qdisc add dev lo root handle 1: htb default 1 r2q 1000")?;
        ran("tc class add dev lo parent 1: classid 1:1 htb rate 10gbit")?;
        ran("nft add table inet soak")?;
        ran("nft add chain inet soak out { type filter hook output priority 0; }")?;
        ran("tc class add dev lo parent 1: classid 1:2 htb rate 10gbit")?;
        let netem = ran("tc qdisc add dev lo parent 1:2 netem delay 1ms");
        Ok(Self { delay: if netem.is_ok() { Delay::Netem } else { Delay::Narrow } })
    }

    /// Delays all packets from and to these ports. `number` is that of the topology.
    pub(super) fn slow(&self, number: usize, ports: &[u16]) -> Result<String, String> {
        let class = format!("1:{}", 10 + number);
        let words = match self.delay {
            Delay::Netem => {
                ran(&format!("tc class add dev lo parent 1: classid {class} htb rate 10gbit"))?;
                ran(&format!("tc qdisc add dev lo parent {class} netem delay 15ms 10ms"))?;
                "15 ms ± 10 ms each way"
            }
            Delay::Narrow => {
                let rate = "htb rate 3mbit burst 2k cburst 2k";
                ran(&format!("tc class add dev lo parent 1: classid {class} {rate}"))?;
                ran(&format!("tc qdisc add dev lo parent {class} pfifo limit 500"))?;
                "a link of 3 Mbit/s for all"
            }
        };
        for port in ports {
            for side in ["dport", "sport"] {
                ran(&format!(
                    "tc filter add dev lo parent 1: protocol ip pref {} u32 match ip {side} {port} 0xffff flowid {class}",
                    10 + number
                ))?;
            }
        }
        Ok(words.to_owned())
    }

    /// Ends the delay of a topology.
    pub(super) fn quicken(&self, number: usize) -> Result<(), String> {
        ran(&format!("tc filter del dev lo parent 1: protocol ip pref {}", 10 + number))?;
        ran(&format!("tc class del dev lo classid 1:{}", 10 + number))
    }

    /// Loses so many of 100 packets from and to these ports.
    pub(super) fn lose(&self, number: usize, ports: &[u16], percent: u32) -> Result<(), String> {
        ran(&format!("nft add chain inet soak t{number} {{ type filter hook output priority 0; }}"))?;
        let ports = ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
        for side in ["dport", "sport"] {
            let by_chance =
                if percent < 100 { format!("numgen random mod 100 < {percent}") } else { String::new() };
            ran(&format!("nft add rule inet soak t{number} tcp {side} {{ {ports} }} {by_chance} drop"))?;
        }
        Ok(())
    }

    /// Ends the loss of a topology.
    pub(super) fn find(&self, number: usize) -> Result<(), String> {
        ran(&format!("nft delete chain inet soak t{number}"))
    }
}

fn runs(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs a command, in words.
fn ran(words: &str) -> Result<(), String> {
    let mut parts = words.split(' ').filter(|part| !part.is_empty());
    let output = Command::new(parts.next().unwrap_or_default()).args(parts).output();
    let output = output.map_err(|error| format!("{words}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{words}: {}", said.trim())) }
}
