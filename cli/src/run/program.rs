//! The program of a command, which is looked for before its lock is asked for.

use std::{
    env,
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Access, AtFlags, CWD, accessat},
    io::Errno,
};

/// The directories of programs where the environment names none, as execvp(3) has it.
const USUAL_PATH: &str = "/bin:/usr/bin";

/// Returns the file of a program. Fails if it certainly cannot be started. Where that is not certain the kernel decides, once the
/// lock is held.
pub(super) fn look_for(program: &OsStr) -> io::Result<PathBuf> {
    if program.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    if program.as_bytes().contains(&b'/') {
        return look_at(Path::new(program)).map(|()| program.into());
    }
    let mut missed = io::ErrorKind::NotFound.into();
    for directory in env::split_paths(&env::var_os("PATH").unwrap_or_else(|| USUAL_PATH.into())) {
        let file = Path::new(".").join(directory).join(program);
        match look_at(&file) {
            Ok(()) => return Ok(file),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => missed = error,
            // It is in another directory, or nowhere.
            Err(_) => {}
        }
    }
    Err(missed)
}

/// Returns true if a file that the kernel does not execute is a script, which a shell executes as execvp(3) does. The file of a
/// program for another machine is none: a shell would run whatever it takes for words.
pub(super) fn is_script(file: &Path) -> bool {
    const ENOUGH: usize = 128;
    let mut start = [0; ENOUGH];
    let read = File::open(file).and_then(|mut file| file.read(&mut start));
    read.is_ok_and(|length| !start[..length].contains(&0))
}

fn look_at(file: &Path) -> io::Result<()> {
    match fs::metadata(file) {
        Ok(found) if !found.is_file() => Err(Errno::ACCESS.into()),
        // The kernel knows more than its mode: whose it is, who asks, and from where it was mounted.
        Ok(_) => match accessat(CWD, file, Access::EXEC_OK, AtFlags::EACCESS) {
            Err(Errno::ACCESS) => Err(Errno::ACCESS.into()),
            _ => Ok(()),
        },
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Err(io::ErrorKind::NotFound.into()),
            io::ErrorKind::PermissionDenied => Err(error),
            _ => Ok(()),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::Permissions,
        os::unix::fs::{PermissionsExt, chown},
        thread,
    };

    use nix::unistd::{Uid, setfsuid};

    use super::*;

    #[test]
    fn a_script_is_told_from_a_program_of_another_machine() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (text, expected) in [("echo x\n", true), ("", true), ("\u{7f}ELF\u{2}\u{1}\0", false)] {
            fs::write(&file, text).unwrap();
            assert_eq!(is_script(file.path()), expected, "{text:?}");
        }
        assert!(!is_script(Path::new("/nowhere")));
    }

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

    #[test]
    fn a_program_that_others_may_start_and_this_user_may_not_is_refused() {
        const NOBODY: u32 = 65_534;
        let directory = tempfile::tempdir().unwrap();
        let (mine, others) = (directory.path().join("mine"), directory.path().join("others"));
        fs::set_permissions(&directory, Permissions::from_mode(0o755)).unwrap();
        for (file, mode) in [(&mine, 0o100), (&others, 0o011)] {
            fs::write(file, "").unwrap();
            fs::set_permissions(file, Permissions::from_mode(mode)).unwrap();
            if Uid::effective().is_root() {
                chown(file, Some(NOBODY), None).unwrap();
            }
        }
        // The first user may start what anybody may, so this thread is another one if it can be.
        let looked = thread::spawn(move || {
            setfsuid(Uid::from_raw(NOBODY));
            [mine, others].map(|file| look_for(file.as_os_str()).err().map(|error| error.kind()))
        });
        assert_eq!(looked.join().unwrap(), [None, Some(io::ErrorKind::PermissionDenied)]);
    }
}
