//! Files that an overtaken holder cannot write, also through links.

use std::{fs, os::unix::fs::symlink};

use leasehold::{
    Fence,
    fenced::{FencedFile, FencedWriteError},
};

/// A directory, and a file in it that is not there yet.
fn fenced() -> (tempfile::TempDir, FencedFile) {
    let directory = tempfile::tempdir().unwrap();
    let file = FencedFile::new(directory.path().join("winners"));
    (directory, file)
}

#[test]
fn a_file_is_written_by_the_largest_fence_alone() {
    let (_directory, file) = fenced();
    file.write(Fence::new(9), "nine").unwrap();
    file.write(Fence::new(9), "nine again").unwrap();
    file.enter(Fence::new(10)).unwrap();
    let refused = file.write(Fence::new(9), "late").unwrap_err();
    assert_eq!(refused.to_string(), "fence 9 is stale: 10 is known");
    assert_eq!(fs::read_to_string(file.path()).unwrap(), "nine again");
    assert_eq!(file.largest().unwrap(), Some(Fence::new(10)));
}

#[test]
fn a_fence_that_cannot_be_read_lets_nobody_write() {
    let (directory, file) = fenced();
    assert_eq!(file.largest().unwrap(), None);
    fs::write(directory.path().join("winners.fence"), "torn").unwrap();
    assert!(matches!(file.write(Fence::new(9), "nine"), Err(FencedWriteError::Failed(_))));
    assert!(!file.path().exists());
}

#[test]
fn threads_beside_each_other_leave_the_content_of_the_largest_fence() {
    let (_directory, file) = fenced();
    std::thread::scope(|scope| {
        for number in (1..=50_u64).rev() {
            let file = &file;
            scope.spawn(move || match file.write(Fence::new(number), number.to_string()) {
                Ok(()) | Err(FencedWriteError::Stale(_)) => {}
                Err(error) => panic!("{error:?}"),
            });
        }
    });
    assert_eq!(fs::read_to_string(file.path()).unwrap(), "50");
}

#[test]
fn another_hard_link_keeps_its_content() {
    let (directory, file) = fenced();
    file.write(Fence::new(5), "five").unwrap();
    let backup = directory.path().join("backup");
    fs::hard_link(file.path(), &backup).unwrap();
    file.write(Fence::new(9), "nine").unwrap();
    assert_eq!(fs::read_to_string(backup).unwrap(), "five");
}

/// A directory with `data/winners`, and another one with links to it.
fn linked() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let below = |name: &str| directory.path().join(name);
    fs::create_dir(below("data")).unwrap();
    fs::create_dir(below("links")).unwrap();
    symlink(below("data/winners"), below("links/absolute")).unwrap();
    symlink("../data/winners", below("links/relative")).unwrap();
    symlink("relative", below("links/chain")).unwrap();
    symlink("../data", below("links/directory")).unwrap();
    directory
}

#[test]
fn a_link_and_its_file_share_one_fence_and_writes_leave_the_link_as_it_is() {
    for name in ["absolute", "relative", "chain", "directory/winners", "directory/../data/winners"] {
        for exists in [true, false] {
            let directory = linked();
            let file = FencedFile::new(directory.path().join("data/winners"));
            let link = FencedFile::new(directory.path().join("links").join(name));
            let led_to = fs::read_link(link.path()).ok();
            if exists {
                file.write(Fence::new(5), "five").unwrap();
            }
            link.write(Fence::new(9), "nine").unwrap();
            let refused = file.write(Fence::new(8), "late").unwrap_err();
            assert_eq!(refused.to_string(), "fence 8 is stale: 9 is known", "{name}");
            file.write(Fence::new(10), "ten").unwrap();
            assert!(matches!(link.write(Fence::new(9), "late"), Err(FencedWriteError::Stale(_))), "{name}");
            assert_eq!(link.largest().unwrap(), Some(Fence::new(10)), "{name}");
            assert_eq!(fs::read_to_string(link.path()).unwrap(), "ten", "{name}");
            assert_eq!(fs::read_to_string(file.path()).unwrap(), "ten", "{name}");
            assert_eq!(fs::read_link(link.path()).ok(), led_to, "{name}");
            let links = fs::read_dir(directory.path().join("links")).unwrap();
            assert_eq!(links.count(), 4, "{name}: nothing is written beside the links");
        }
    }
}

#[test]
fn links_in_a_circle_are_an_error() {
    let directory = tempfile::tempdir().unwrap();
    symlink("b", directory.path().join("a")).unwrap();
    symlink("a", directory.path().join("b")).unwrap();
    let failed = FencedFile::new(directory.path().join("a")).write(Fence::new(9), "nine").unwrap_err();
    let FencedWriteError::Failed(cause) = failed else { panic!("{failed}") };
    assert!(cause.to_string().contains("too many symbolic links"), "{cause}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
}
