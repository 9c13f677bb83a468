# The commands of this project. `just` lists them; CI is `.ci/run`.

_default:
    @just --list

# Runs the lottery in this process, without a server.
run *arguments:
    cargo run --locked --example lottery -- {{ arguments }}

# Runs all tests, or those that the arguments of `cargo test` name.
test *arguments:
    tests/run {{ arguments }}

# Measures leasehold beside other locks, for instance `just bench --only hot --seconds 1`.
bench *arguments:
    cargo run --locked --release -p leasehold-bench -- {{ arguments }}

# Runs what takes too long for each change: `just long --list`.
long *arguments:
    tests/long {{ arguments }}

# Simulates random worlds for a given time: `just worlds 2h quorum`.
worlds *arguments:
    tests/worlds {{ arguments }}

# Checks formatting, warnings and dependencies, as CI does.
lint:
    cargo fmt --all --check
    cargo clippy --locked --all-targets --all-features -- -D warnings
    cargo clippy --locked --all-targets --no-default-features -- -D warnings
    for package in console doctor testing tuning bench; do cargo clippy --locked -p "leasehold-$package" --all-targets -- -D warnings; done
    cargo clippy --locked -p leasehold-cli --all-targets -- -D warnings
    if command -v cargo-deny >/dev/null; then cargo deny --locked --all-features check bans licenses sources; fi

# Builds the documentation; a broken link is an error.
docs *arguments:
    RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --all-features -p leasehold -p leasehold-console -p leasehold-doctor -p leasehold-testing -p leasehold-tuning {{ arguments }}

# Checks everything that must hold before a change goes in.
ci:
    .ci/run
