//! The result of an examination.

use std::fmt;

use leasehold::text::counted;
use serde::Serialize;

use crate::{Finding, Severity, finding::Findings};

/// The findings of an examination of a deployment. Its [`Display`](fmt::Display) is a table for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Diagnosis {
    /// The URL of the store, without user and password.
    pub deployment: String,
    /// The addresses of the examined servers, including those that did not answer, without sentinels.
    pub servers: Vec<String>,
    /// The findings, the worst first. Empty if there is nothing to do.
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    pub(crate) fn new(deployment: String, servers: Vec<String>, findings: Findings) -> Self {
        Self { deployment, servers, findings: findings.sorted() }
    }

    /// Returns the severity of the worst finding; `None` if there is none.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// Returns the number of findings of this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { deployment, servers, findings } = self;
        write!(f, "{deployment}: {} looked at", counted(servers.len() as u64, "server"))?;
        if findings.is_empty() {
            return writeln!(f, ", nothing found");
        }
        let counts = [
            format!("{} critical", self.count(Severity::Critical)),
            counted(self.count(Severity::Warning) as u64, "warning"),
            counted(self.count(Severity::Notice) as u64, "notice"),
        ];
        writeln!(f, ", {}", counts.join(", "))?;
        let widest = findings.iter().map(|finding| finding.check.len()).max().unwrap_or_default();
        for Finding { severity, check, server, found, advice } in findings {
            let server = server.as_deref().unwrap_or("the deployment");
            writeln!(
                f,
                "\n{severity:<8}  {check:<widest$}  {server}\n          {found}\n          → {advice}"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnosis_reads_as_a_table_with_the_worst_first() {
        let mut findings = Findings::default();
        findings.notice("plain-layout", None).because("no fences", "use another");
        findings.critical("eviction", Some("h:1")).because("locks are evicted", "set noeviction");
        let diagnosis = Diagnosis::new("redis://h:1".to_owned(), vec!["h:1".to_owned()], findings);
        assert_eq!(diagnosis.worst(), Some(Severity::Critical));
        let expected = "redis://h:1: 1 server looked at, 1 critical, 0 warnings, 1 notice\n\n\
                        critical  eviction      h:1\n          locks are evicted\n          → set noeviction\n\n\
                        notice    plain-layout  the deployment\n          no fences\n          → use another\n";
        assert_eq!(diagnosis.to_string(), expected);
        assert_eq!(
            diagnosis.findings[0].to_string(),
            "critical: eviction at h:1: locks are evicted; set noeviction"
        );
    }
}
