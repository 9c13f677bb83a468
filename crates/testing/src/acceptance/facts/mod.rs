//! The facts about stores, each a function of its name.

mod batches;
mod capacity;
mod dead;
mod described;
mod ends;
mod exclusive;
mod fences;
mod hand_over;
mod heads;
mod inspection;
mod leaving;
mod names;
mod next;
mod notices;
mod numbers;
mod overtaking;
mod passing;
mod permits;
mod queue;
mod reentry;
mod registers;
mod shared;
mod textbook;
mod together;
mod waiters;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use leasehold::{
    Fence, Holder, HolderState, Inspection, Mode, ResourceName, StoreError, TokenPrefix,
    env::{Random, SystemRandom},
    store::{
        Acquired, AcquiredAll, Acquisition, Grant, HandedOff, Inbox, Names, Notification, Refusal, Released,
        Renewal, Renewed, Walk,
    },
};

use super::{
    ears::{next, next_of_waiters, subscribed, unheard},
    heard::Heard,
    scene::{Scene, TICKET_TTL, TTL, WINDOW, assert_about, elsewhere, owned, secs, tokens},
    unique,
};

pub use self::{
    batches::*, capacity::*, dead::*, described::*, ends::*, exclusive::*, fences::*, hand_over::*, heads::*,
    inspection::*, leaving::*, names::*, next::*, notices::*, numbers::*, overtaking::*, passing::*,
    permits::*, queue::*, reentry::*, registers::*, shared::*, textbook::*, together::*, waiters::*,
};
