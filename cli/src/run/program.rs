//! The program of a command, which is looked for before its lock is asked for.

use std::{
    env,
    ffi::OsStr,
    fs, io,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::Path,
};

use rustix::io::Errno;

/// The directories of programs where the environment names none, as execvp(3) has it.
const USUAL_PATH: &str = "/bin:/usr/bin";

/// Fails if a program certainly cannot be started. Where that is not certain the kernel decides, once the lock is held.
pub(super) fn look_for(program: &OsStr) -> io::Result<()> {
    if program.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    if program.as_bytes().contains(&b'/') {
        return look_at(Path::new(program));
    }
    let mut missed = io::ErrorKind::NotFound.into();
    for directory in env::split_paths(&env::var_os("PATH").unwrap_or_else(|| USUAL_PATH.into())) {
        match look_at(&directory.join(program)) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => missed = error,
            // It is in another directory, or nowhere.
            Err(_) => {}
        }
    }
    Err(missed)
}

fn look_at(file: &Path) -> io::Result<()> {
    match fs::metadata(file) {
        Ok(found) if found.is_file() && found.permissions().mode() & 0o111 != 0 => Ok(()),
        Ok(_) => Err(Errno::ACCESS.into()),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Err(io::ErrorKind::NotFound.into()),
            io::ErrorKind::PermissionDenied => Err(error),
            _ => Ok(()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_started_is_told_from_what_is_not_there() {
        for (program, expected) in [
            ("sh", None),
            ("/bin/sh", None),
            ("", Some(io::ErrorKind::NotFound)),
            ("nowhere-to-be-found", Some(io::ErrorKind::NotFound)),
            ("/nowhere/to-be-found", Some(io::ErrorKind::NotFound)),
            ("/etc/passwd/x", Some(io::ErrorKind::NotFound)),
            ("/etc/passwd", Some(io::ErrorKind::PermissionDenied)),
            ("/etc", Some(io::ErrorKind::PermissionDenied)),
        ] {
            assert_eq!(look_for(OsStr::new(program)).err().map(|it| it.kind()), expected, "{program}");
        }
    }
}
