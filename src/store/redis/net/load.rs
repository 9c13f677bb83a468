//! The load of a server, read from `INFO`.

use std::time::Duration;

use crate::store::{
    ServerLoad, StoreError,
    redis::net::{
        connection::Connection,
        incarnation::{Question, senseless, table},
        info::Table,
    },
};

/// Asks the server behind a connection, with one question: the time of its answer is taken for the latency.
pub(crate) async fn ask(connection: &Connection) -> Result<ServerLoad, StoreError> {
    let cpu = table(connection.send(&Question::CPU).await?.value)?;
    busy(&cpu).map(ServerLoad::new).ok_or_else(|| senseless("no processor time"))
}

/// Returns the processor time of the thread that serves commands; before version 7 that of all threads.
fn busy(cpu: &Table) -> Option<Duration> {
    let seconds = |name: &str| -> Option<f64> { cpu.get(name)?.parse().ok() };
    let sum =
        |end: &str| Some(seconds(&format!("used_cpu_sys{end}"))? + seconds(&format!("used_cpu_user{end}"))?);
    Duration::try_from_secs_f64(sum("_main_thread").or_else(|| sum(""))?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::redis::net::info;

    #[test]
    fn the_thread_that_serves_counts_and_else_all_of_them() {
        let text = "# CPU\r\nused_cpu_sys:2.5\r\nused_cpu_user:1.5\r\nused_cpu_sys_children:9.0\r\n";
        assert_eq!(busy(&info::table(text)), Some(Duration::from_secs(4)));
        let newer = format!("{text}used_cpu_sys_main_thread:1.0\r\nused_cpu_user_main_thread:0.25\r\n");
        assert_eq!(busy(&info::table(&newer)), Some(Duration::from_millis(1_250)));
        assert_eq!(busy(&info::table("used_cpu_sys:-7\nused_cpu_user:1")), None);
        assert_eq!(busy(&info::table("used_cpu_sys:NaN\nused_cpu_user:1")), None);
    }
}
