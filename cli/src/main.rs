//! The program `leasehold`.

use std::process::ExitCode;

fn main() -> ExitCode {
    leasehold_cli::main()
}
