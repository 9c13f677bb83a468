//! The bugs, and who must catch each.

use Finder::{OneStore, Quorum, Test};

use crate::planted_bugs::programs::{TUNING, UNIT_TESTS};

/// The tests that simulate worlds.
pub(crate) const ONE_STORE: &str = "every_seed_keeps_every_promise";
pub(crate) const QUORUM: &str = "every_seed_of_a_quorum_keeps_every_promise";

/// The simulations of loads that a tuner answers.
const SHIFTING: &str =
    "laboratory::model::shifting::a_tuner_follows_a_load_that_shifts_and_does_not_oscillate";
const POLLED: &str =
    "laboratory::model::adapting::a_server_that_is_loaded_is_polled_less_until_it_is_idle_again";
const IN_VAIN: &str =
    "laboratory::model::adapting::waits_become_shorter_while_most_are_in_vain_and_longer_again";

/// A bug.
pub(crate) struct Bug {
    /// The name at its point in the sources.
    pub(crate) name: &'static str,
    pub(crate) finder: Finder,
}

/// The test that must catch a bug.
pub(crate) enum Finder {
    /// The simulation on one store, by one of these properties.
    OneStore(&'static [&'static str]),
    /// The simulation on quorums, by one of these properties.
    Quorum(&'static [&'static str]),
    /// A test of what no simulated client can see: the program, and its name there.
    Test(&'static str, &'static str),
}

impl Bug {
    /// Returns the program and the test that must catch it, unless the simulation does.
    pub(crate) const fn test(&self) -> Option<(&'static str, &'static str)> {
        match self.finder {
            Test(program, test) => Some((program, test)),
            OneStore(_) | Quorum(_) => None,
        }
    }
}

const fn bug(name: &'static str, finder: Finder) -> Bug {
    Bug { name, finder }
}

pub(crate) const BUGS: &[Bug] = &[
    // The validity of a lease.
    bug("validity counted from the reply to an acquisition", OneStore(&["P1", "P10", "P11"])),
    bug("validity counted from the reply to a renewal", OneStore(&["P1", "P10", "P11"])),
    bug("a loss that is told late", OneStore(&["P1", "P10", "P11"])),
    bug("a grant that comes too late is handed out", OneStore(&["P1", "P10", "P11"])),
    bug("a renewer that goes on after the release", OneStore(&["P15"])),
    bug(
        "a renewer that died is not started again",
        Test(
            "manager",
            "supervision::a_renewer_that_panics_at_every_second_draw_keeps_its_lease_for_100_renewals",
        ),
    ),
    // What is left in the store.
    bug("the grant of a caller that went away is kept", OneStore(&["P18"])),
    bug("a waiter that gives up keeps its place", OneStore(&["P18"])),
    bug("the first release is the last word", OneStore(&["P18"])),
    bug("a release is not repeated after an unknown answer", OneStore(&["P18"])),
    bug(
        "an unknown attempt is forgotten with its lease",
        Test(
            UNIT_TESTS,
            "core::engine::acquisition::tests::release::a_lost_lease_is_over_unless_an_attempt_may_still_be_executed",
        ),
    ),
    bug(
        "a reclaimed token cuts its lock delay short",
        Test(
            "manager",
            "keeping_closed::a_lock_delay_holds_also_while_an_unknown_attempt_may_still_be_executed",
        ),
    ),
    bug(
        "an ungranted part of a set is kept closed",
        Test(
            "manager",
            "keeping_closed::the_parts_of_a_set_that_was_not_granted_open_at_once_whatever_their_minimum_hold",
        ),
    ),
    // A panic of the manager.
    bug("a waiter is forgotten when the manager restarts", OneStore(&["P14", "P16", "P18", "sums"])),
    bug("what has happened is forgotten in a panic", OneStore(&["P18"])),
    bug(
        "what was in hand is forgotten in a panic",
        Test("manager", "supervision::a_lease_is_released_also_if_the_manager_panics_over_its_release"),
    ),
    // The waiters of one process.
    bug("a resource is passed on without a limit", OneStore(&["P9"])),
    bug(
        "a hand-off beside an unknown attempt",
        Test(
            UNIT_TESTS,
            "core::engine::acquisition::tests::release::nothing_is_handed_off_while_an_earlier_attempt_may_still_be_executed",
        ),
    ),
    bug(
        "news that come during an attempt are forgotten",
        Test(
            UNIT_TESTS,
            "core::engine::acquisition::tests::news_while_an_attempt_is_in_flight_is_followed_by_another_attempt",
        ),
    ),
    // More work than the store can do.
    bug(
        "what is over is sent all the same",
        Test("manager", "overload::a_request_that_is_over_before_it_was_sent_never_reaches_the_store"),
    ),
    bug(
        "a hand-over is taken up behind all other attempts",
        Test("manager", "overload::an_attempt_that_takes_up_a_hand_over_is_not_behind_all_others"),
    ),
    bug(
        "what has stalled makes room for more",
        Test("manager", "overload::what_is_on_the_wire_is_bounded_while_the_store_stalls"),
    ),
    bug(
        "what is over and unanswered does not count",
        Test("manager", "overload::what_is_over_and_unanswered_counts_as_pending"),
    ),
    bug(
        "a flood of messages has the thread alone",
        Test("manager", "overload::a_flood_of_messages_leaves_turns_to_all_else_on_its_thread"),
    ),
    bug(
        "calls outside of batches are not bounded",
        Test(
            "manager",
            "overload::questions_go_to_the_store_a_bounded_number_at_a_time_and_none_whose_caller_has_gone",
        ),
    ),
    // The expected wait.
    bug(
        "readers are expected to be served one after the other",
        Test(
            "manager",
            "misleading_waits::a_writer_does_not_give_up_because_of_readers_that_are_granted_together",
        ),
    ),
    // The store.
    bug("a release of any token", OneStore(&["P1", "P6", "P12"])),
    bug("a renewal of any token", OneStore(&["P12"])),
    bug("a retry that counts twice", OneStore(&["P5"])),
    bug("a reader beside a writer", OneStore(&["P6"])),
    bug("the larger of two capacities counts", OneStore(&["P7"])),
    bug("a fence that expires", OneStore(&["P2"])),
    bug("a hand-over without a new fence", OneStore(&["P2"])),
    bug("last come, first served", OneStore(&["P9"])),
    bug("a newcomer overtakes", OneStore(&["P9"])),
    bug("a release hands nothing over", OneStore(&["P8"])),
    bug("the dead are handed over one after the other", OneStore(&["P16"])),
    // Locks that are taken by plain commands.
    bug(
        "others may come between plain commands",
        Test("redis", "store::thin::a_fence_that_is_older_than_the_grant_of_another_is_not_given_out"),
    ),
    bug(
        "plain commands do not ask whose hold it is",
        Test(
            "redis",
            "store::thin::a_lock_that_was_ended_by_force_before_its_holder_heard_of_it_is_taken_anew",
        ),
    ),
    bug(
        "plain commands overtake whoever waits",
        Test("redis", "store::thin::a_waiter_whose_holder_died_comes_before_plain_commands"),
    ),
    bug(
        "a counter of fences that was set back is added to",
        Test("redis", "store::thin::fences_grow_though_their_counter_is_lost_or_set_back"),
    ),
    bug(
        "the work of a script on the counter counts on another connection",
        Test(
            "redis",
            "store::thin::a_connection_that_was_opened_after_the_last_script_says_nothing_of_the_counter",
        ),
    ),
    bug(
        "a resource in use is asked for by plain commands again",
        Test("redis", "store::thin::a_lock_that_was_found_held_is_asked_for_by_scripts"),
    ),
    // Quorums.
    bug("a majority of half", Quorum(&["P1", "P6"])),
    bug("a node votes as soon as it is up", Quorum(&["P1", "P6"])),
    bug("a node is as old as its own clock says", Quorum(&["P1", "P6"])),
    bug("the largest fence is not written back", Quorum(&["P2"])),
    bug("what a node grants to a failed attempt is left there", Quorum(&["P18"])),
    bug("what a node grants late to a failed attempt is left there", Quorum(&["P18"])),
    bug("a node that lost the lease counts for its renewal", Quorum(&["P12"])),
    bug(
        "a node that may still release a lease counts for its renewal",
        Test("quorum", "repair::a_node_with_a_release_in_flight_does_not_count_for_a_renewal"),
    ),
    bug(
        "nobody is told whom a majority names",
        Test(
            "quorum",
            "queues::waiters_of_several_clients_are_woken_once_each_in_the_order_of_their_arrival",
        ),
    ),
    bug(
        "a release of an earlier attempt takes the place of a later one",
        Test("quorum", "queues::a_release_of_an_earlier_attempt_leaves_the_ticket_of_a_later_one"),
    ),
    bug("nobody gives way in a split", Test("quorum", "queues::a_split_is_resolved_at_once")),
    bug(
        "a place is kept on a node that answers late",
        Test("quorum", "queues::who_gives_up_leaves_the_queues_of_all_nodes_also_of_those_that_answer_late"),
    ),
    bug(
        "a node that forgot fences votes",
        Test("quorum", "forgotten::a_node_that_forgot_fences_counts_for_nothing_until_it_is_taught"),
    ),
    bug(
        "a hold that is handed off stays where a node failed",
        Test("quorum", "hand_offs::a_hold_that_is_handed_off_is_released_later_where_a_node_failed"),
    ),
    bug(
        "a hand-off is decided before its release is",
        Test("quorum", "hand_offs::a_hand_off_is_not_decided_before_its_release_is"),
    ),
    bug("a raise lowers a fence", Test("quorum", "forgotten::a_smaller_fence_is_not_written")),
    bug(
        "the largest epoch counts per question",
        Test(
            UNIT_TESTS,
            "store::redis::net::belief::tests::an_older_epoch_is_not_believed_while_one_that_knows_better_may_be_missing",
        ),
    ),
    bug(
        "a shared hold is handed off",
        Test(
            UNIT_TESTS,
            "core::engine::acquisition::tests::release::a_grant_that_nobody_receives_is_handed_off_or_released",
        ),
    ),
    // The tuner.
    bug("a queue that comes and goes is bounded as one that stays", Test(TUNING, SHIFTING)),
    bug("a queue that stays is not shed", Test(TUNING, SHIFTING)),
    bug("a queue stays bounded when the load has gone", Test(TUNING, SHIFTING)),
    bug(
        "a tuner changes its mind in each window",
        Test(TUNING, "tuner::tests::trial::a_setting_rests_after_a_change_whatever_the_figures_do"),
    ),
    bug("a loaded server is polled as before", Test(TUNING, POLLED)),
    bug("pauses stay long when the server is idle", Test(TUNING, POLLED)),
    bug("waits in vain stay as long", Test(TUNING, IN_VAIN)),
    bug(
        "a wait that was shortened stays short",
        Test(
            TUNING,
            "tuner::rules::wait::tests::a_wait_returns_when_what_made_it_short_is_over_though_it_is_too_short_for_some",
        ),
    ),
    bug(
        "a change that made a figure worse is kept",
        Test(TUNING, "tuner::tests::trial::a_change_after_which_a_figure_falls_is_taken_back_for_a_while"),
    ),
    bug(
        "a change is judged by demand that has gone",
        Test(TUNING, "tuner::tests::trial::a_change_is_not_taken_back_because_demand_has_gone"),
    ),
    // Elections.
    bug(
        "a singleton goes on after the validity of its lease",
        Test("election", "validity::in_the_first_100_runs_nothing_is_handled_after_the_validity"),
    ),
    bug(
        "the lead is given up before the work is finished",
        Test("election", "terms::the_lead_is_kept_until_the_recipients_have_finished"),
    ),
    bug(
        "a leader has no time to finish",
        Test("election", "terms::a_leader_steps_down_before_the_validity_ends_if_the_store_is_away"),
    ),
    // Partitions.
    bug(
        "members with other numbers of partitions agree",
        Test("partitions", "moves::two_members_that_disagree_from_the_beginning_never_both_own"),
    ),
    bug(
        "an owner gives up what nobody comes for",
        Test("partitions", "moves::an_owner_keeps_what_nobody_comes_for"),
    ),
    bug(
        "an owner keeps the share of another",
        Test("partitions", "chance::fleets_by_chance_never_have_two_owners_and_are_balanced_in_the_end"),
    ),
    // Schedules.
    bug(
        "a claim is not compared",
        Test("election", "schedules::a_tick_runs_once_though_two_believe_that_they_lead"),
    ),
    bug(
        "a process decides by its own clock",
        Test("election", "schedules::ticks_run_at_their_times_by_the_clock_of_the_store"),
    ),
    bug(
        "a tick is claimed after its work",
        Test(
            "election",
            "schedules::no_tick_runs_before_its_claim_is_certain_and_a_lost_answer_runs_it_once",
        ),
    ),
    bug(
        "calls stand still while the manager is down",
        Test("manager", "supervision::a_renewal_that_is_confirmed_while_the_manager_is_down_counts"),
    ),
];
