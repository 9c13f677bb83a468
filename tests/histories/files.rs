//! Files of histories: the judge says no where it has judged nothing.

use std::{fs, path::PathBuf, time::Duration};

use leasehold::{Fence, ResourceName, env::Moment};
use leasehold_sim::files::judge;
use leasehold_testing::history::{
    Held,
    lines::{Request, Transcript},
};
use tempfile::TempDir;

const TTL: Duration = Duration::from_secs(10);

fn at(secs: u64) -> Moment {
    Moment::since_origin(Duration::from_secs(secs))
}

fn lease(fence: Option<Fence>) -> Held {
    let known = [at(1), at(2), at(5)];
    Held { fence, ..Held::exclusive(ResourceName::new("r").unwrap(), Fence::new(7), TTL, known) }
}

fn of(fence: Option<Fence>) -> Transcript {
    Transcript::of([(0, &lease(fence))])
}

/// Returns what the judge says of these files.
fn verdict(files: &[(&str, &Transcript)]) -> Result<bool, String> {
    let folder = TempDir::new().unwrap();
    for (name, transcript) in files {
        fs::write(folder.path().join(name), transcript.to_lines()).unwrap();
    }
    judge(&[PathBuf::from(folder.path())]).map_err(|error| error.to_string())
}

#[test]
fn a_scenario_that_has_fences_and_cannot_be_judged_is_an_error() {
    let good = of(Some(Fence::new(7)));
    assert_eq!(verdict(&[("a-1.jsonl", &good)]), Ok(true));
    // The store may forget all that is there.
    let forgotten = Transcript { may_forget: Some((at(0), at(9))), ..good.clone() };
    let unjudged = verdict(&[("a-1.jsonl", &good), ("b-1.jsonl", &forgotten)]).unwrap_err();
    assert_eq!(unjudged, "fences, but nothing that could be judged: b");
    // One file of the scenario is enough.
    assert_eq!(verdict(&[("a-1.jsonl", &good), ("a-2.jsonl", &forgotten)]), Ok(true));
}

#[test]
fn files_of_which_nothing_can_be_judged_are_an_error() {
    let without_fences = of(None);
    assert_eq!(verdict(&[("a-1.jsonl", &without_fences)]).unwrap_err(), "nothing could be judged");
    let good = of(Some(Fence::new(7)));
    assert_eq!(verdict(&[("a-1.jsonl", &without_fences), ("b-1.jsonl", &good)]), Ok(true));
    assert_eq!(verdict(&[]).unwrap_err(), "there is no history");
}

#[test]
fn a_history_with_a_refusal_of_what_is_free_is_refused() {
    let Held { resource, mode, owner, ttl, .. } = lease(None);
    let request = Request { resource, mode, owner, ttl, asked: at(100), answered: at(101) };
    let refused = vec![(0, request)];
    let of_all = Transcript { refused, complete: true, ..of(Some(Fence::new(7))) };
    assert_eq!(verdict(&[("a-1.jsonl", &of_all)]), Ok(false));
    assert_eq!(verdict(&[("a-1.jsonl", &Transcript { complete: false, ..of_all })]), Ok(true));
}
