//! Registers: compare-and-set, repeats, and the time of the store.

use super::*;
use leasehold::{
    Token,
    store::{Register, RegisterVerdict, RegisterWrite},
};

fn write(expected: Option<Token>, value: &str) -> RegisterWrite {
    let revision = SystemRandom.token();
    RegisterWrite { expected, revision, value: value.to_owned(), not_before: Duration::ZERO }
}

async fn register(scene: &Scene, write: Option<&RegisterWrite>) -> Register {
    scene.store.register(&scene.name, write).await.unwrap()
}

async fn verdict(scene: &Scene, asked: &RegisterWrite) -> RegisterVerdict {
    register(scene, Some(asked)).await.verdict
}

pub async fn a_register_is_empty_until_it_is_written(scene: Scene) {
    let empty = register(&scene, None).await;
    assert_eq!((empty.verdict, empty.revision, &*empty.value), (RegisterVerdict::Read, None, ""));
    for value in ["{\"a\": 1}", "", "two words\nand\0more: ü"] {
        let asked = write(register(&scene, None).await.revision, value);
        let written = register(&scene, Some(&asked)).await;
        assert_eq!((written.verdict, written.revision), (RegisterVerdict::Written, Some(asked.revision)));
        let read = register(&scene, None).await;
        assert_eq!((read.revision, &*read.value), (Some(asked.revision), value));
        assert_eq!((written.value, read.verdict), (read.value, RegisterVerdict::Read));
    }
}

pub async fn of_two_writes_to_what_both_have_read_one_succeeds(scene: Scene) {
    let [first, second] = ["first", "second"].map(|value| write(None, value));
    let (one, two) = futures_util::join!(register(&scene, Some(&first)), register(&scene, Some(&second)));
    let written = [&one, &two].map(|answer| answer.verdict == RegisterVerdict::Written);
    assert!(written == [true, false] || written == [false, true], "{one:?}, {two:?}");
    assert_eq!((one.revision, &one.value), (two.revision, &two.value), "the other one learns what is there");
    let stranger = write(Some(SystemRandom.token()), "stranger");
    assert_eq!(verdict(&scene, &stranger).await, RegisterVerdict::Changed);
    assert_eq!(register(&scene, None).await.value, one.value);
}

pub async fn a_repeated_write_is_answered_as_the_first_until_somebody_else_writes(scene: Scene) {
    let first = write(None, "first");
    for _ in 0..3 {
        assert_eq!(verdict(&scene, &first).await, RegisterVerdict::Written);
    }
    let second = write(Some(first.revision), "second");
    assert_eq!(verdict(&scene, &second).await, RegisterVerdict::Written);
    assert_eq!(verdict(&scene, &first).await, RegisterVerdict::Changed);
    assert_eq!(register(&scene, None).await.value, "second");
}

pub async fn a_register_is_not_written_before_its_time(scene: Scene) {
    let now = register(&scene, None).await.now;
    let later = RegisterWrite { not_before: now + secs(60), ..write(None, "later") };
    let early = register(&scene, Some(&later)).await;
    assert_eq!((early.verdict, early.revision), (RegisterVerdict::Early, None));
    scene.pass(secs(61)).await;
    let written = register(&scene, Some(&later)).await;
    assert_eq!(written.verdict, RegisterVerdict::Written);
    assert!(written.now >= later.not_before, "{written:?}");
}

pub async fn registers_are_listed_apart_from_locks(scene: Scene) {
    let [locked, free] = ["locked", "free"].map(|name| format!("{}/{name}", scene.name));
    let names = [free, locked].map(|name| ResourceName::new(name).unwrap());
    for name in &names {
        scene.store.register(name, Some(&write(None, "{}"))).await.unwrap();
    }
    let mut holder = scene.exclusive();
    holder.hold.resource = names[1].clone();
    scene.granted(&holder).await;
    let mut registers = Walk::new(scene.name.as_bytes(), 10);
    registers.names = Names::Registers;
    let listing = scene.store.list(&registers).await.unwrap();
    assert_eq!((&*listing.resources, listing.complete), (&names[..], true));
    registers.after = names[0].as_bytes().to_vec();
    assert_eq!(scene.store.list(&registers).await.unwrap().resources, names[1..]);
    assert_eq!(scene.store.list(&Walk::new(scene.name.as_bytes(), 10)).await.unwrap().resources, names[1..]);
}

pub async fn a_register_outlives_locks_of_its_name_and_is_none(scene: Scene) {
    let asked = write(None, "kept");
    assert_eq!(verdict(&scene, &asked).await, RegisterVerdict::Written);
    assert_eq!(scene.store.list(&Walk::new(scene.name.as_bytes(), 10)).await.unwrap().resources, []);
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    assert_eq!(scene.release(&holder).await, Released::Freed);
    // Each look keeps it for a year.
    for days in [2, 364, 364] {
        scene.pass(secs(3_600 * 24 * days)).await;
        assert_eq!(register(&scene, None).await.value, "kept");
    }
    scene.pass(secs(3_600 * 24 * 367)).await;
    assert_eq!(register(&scene, None).await.revision, None);
}
