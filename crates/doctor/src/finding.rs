//! A finding: the observation, its place, its severity, and the advice.

use std::fmt;

use serde::Serialize;

/// The names of all checks, as used in [`Finding::check`], in alphabetical order. A name keeps its meaning. Later
/// versions may add names.
pub const CHECKS: &[&str] = &[
    "clock-offset",
    "cluster-state",
    "disk",
    "even-quorum",
    "eviction",
    "failover",
    "failover-time",
    "fresh-start",
    "hand-overs",
    "memory-full",
    "memory-only",
    "min-replicas",
    "no-replica",
    "persistence",
    "plain-layout",
    "refused",
    "replicas-ack",
    "rights",
    "role",
    "round-trip",
    "same-server",
    "sentinels",
    "slots",
    "trial",
    "unchecked",
    "unknown-command",
    "unreachable",
    "version",
    "votes",
    "wrong-mode",
];

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// Good to know; nothing has to be done.
    Notice,
    /// Locks work, but a likely event takes them away or stops them.
    Warning,
    /// Locks do not work, or are lost in normal operation.
    Critical,
}

impl Severity {
    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The severity of the finding.
    pub severity: Severity,
    /// The name of the check that found it: one of [`CHECKS`].
    pub check: &'static str,
    /// The address of the server, without user and password; `None` if the finding is about the deployment as a whole.
    pub server: Option<String>,
    /// The observation, and its effect.
    pub found: String,
    /// The advice.
    pub advice: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { severity, check, server, found, advice } = self;
        let at = server.as_ref().map(|server| format!(" at {server}")).unwrap_or_default();
        write!(f, "{severity}: {check}{at}: {found}; {advice}")
    }
}

/// The findings so far.
#[derive(Debug, Default)]
pub(crate) struct Findings(Vec<Finding>);

/// A finding that still needs its text.
#[must_use]
pub(crate) struct Wordless<'a> {
    findings: &'a mut Findings,
    severity: Severity,
    check: &'static str,
    server: Option<&'a str>,
}

impl Findings {
    pub(crate) fn notice<'a>(&'a mut self, check: &'static str, server: Option<&'a str>) -> Wordless<'a> {
        self.add(Severity::Notice, check, server)
    }

    pub(crate) fn warning<'a>(&'a mut self, check: &'static str, server: Option<&'a str>) -> Wordless<'a> {
        self.add(Severity::Warning, check, server)
    }

    pub(crate) fn critical<'a>(&'a mut self, check: &'static str, server: Option<&'a str>) -> Wordless<'a> {
        self.add(Severity::Critical, check, server)
    }

    pub(crate) fn add<'a>(
        &'a mut self,
        severity: Severity,
        check: &'static str,
        server: Option<&'a str>,
    ) -> Wordless<'a> {
        debug_assert!(CHECKS.contains(&check), "{check} is not in the list");
        Wordless { findings: self, severity, check, server }
    }

    /// Returns true if one of these was found.
    pub(crate) fn any(&self, is_it: impl Fn(&Finding) -> bool) -> bool {
        self.0.iter().any(is_it)
    }

    /// Returns all of them, the worst first.
    pub(crate) fn sorted(mut self) -> Vec<Finding> {
        self.0.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        self.0
    }
}

impl Wordless<'_> {
    pub(crate) fn because(self, found: impl Into<String>, advice: impl Into<String>) {
        let Self { findings, severity, check, server } = self;
        let server = server.map(str::to_owned);
        findings.0.push(Finding { severity, check, server, found: found.into(), advice: advice.into() });
    }
}
