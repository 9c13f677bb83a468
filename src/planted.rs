//! Points for bugs that a test plants on purpose; no feature of the crate leads to them.

/// Returns true if the bug of this name is planted: never, except in a build with `--cfg planted`.
#[cfg(not(planted))]
#[doc(hidden)]
#[macro_export]
macro_rules! planted {
    ($bug:literal) => {
        false
    };
}

/// Returns true if `LEASEHOLD_PLANTED` names this bug.
#[cfg(planted)]
#[doc(hidden)]
#[macro_export]
macro_rules! planted {
    ($bug:literal) => {{
        static PLANTED: std::sync::LazyLock<bool> =
            std::sync::LazyLock::new(|| std::env::var("LEASEHOLD_PLANTED").is_ok_and(|bug| bug == $bug));
        *PLANTED
    }};
}
