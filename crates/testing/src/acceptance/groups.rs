//! The facts in their groups, and the macros that stamp a test for each of them.

/// Stamps a test for each fact about stores, against one [`World`](crate::acceptance::World).
///
/// `leasehold_testing::acceptance!(mine: MyWorld);` makes a module `mine` with all of them but those of `several` and `textbook`.
/// `leasehold_testing::acceptance!(mine: MyWorld, exclusive, shared);` chooses groups. There is an example
/// [with the suite](mod@crate::acceptance).
///
/// # Groups
/// * For every store: `exclusive`, `reentry`, `shared`, `ends`, `inspection`, `names`, `batches`.
/// * `permits`, and `numbered`: permits that have numbers, and whose capacity can be set; and a queue: `queue`, `leaving`, `hand_over`, `heads`, `next`, `dead`, `passing`, `overtaking`.
/// * Several resources: `together`, and `at_one_moment` if all of them are taken at one moment.
/// * `notices`: a store that can [notify holders](leasehold::store::Store::notify_holders).
/// * [`QuorumNode`](leasehold::store::QuorumNode): `fences`, `lives`.
/// * `registers`: what schedules need.
/// * `several`: `batches` and `together`, for a store that has neither permits nor a queue.
/// * `textbook`: a store that has exclusive holders only, without owners, fences and a queue.
#[macro_export]
macro_rules! acceptance {
    ($store:ident: $world:ty) => {
        $crate::acceptance!($store: $world, exclusive, reentry, shared, permits, ends, inspection, names, queue, leaving, hand_over, heads, next, dead, batches, passing, overtaking, together, at_one_moment, numbered, notices, registers, fences, lives);
    };
    ($store:ident: $world:ty, $($group:ident),+) => {
        mod $store {
            #[allow(unused_imports, reason = "the world may be named by a whole path")]
            use super::*;
            $($crate::__acceptance_group!($group: $world);)+
        }
    };
}

/// Stamps a test for each fact of a group that most stores have.
#[doc(hidden)]
#[macro_export]
macro_rules! __acceptance_group {
    (exclusive: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            an_exclusive_holder_keeps_everybody_else_out
            of_many_at_once_one_is_granted
            a_release_opens_at_once
            a_stranger_can_neither_renew_nor_release
            a_repeated_acquisition_has_no_smaller_fence_and_a_new_end
            a_repeated_release_finds_nothing_and_harms_nobody
            releasing_what_was_never_granted_is_harmless
            a_renewal_counts_the_end_from_now
            a_refusal_changes_nothing
            a_refusal_names_who_is_in_the_way_and_for_how_long
            a_later_grant_has_the_larger_fence
            a_token_holds_only_where_it_was_granted
        }
    };
    (reentry: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            an_owner_enters_again_with_the_same_fence
            an_owner_leaves_as_often_as_it_entered
            each_hold_of_an_owner_ends_alone
            a_lost_hold_tells_how_many_its_owner_has_left
            nobody_else_enters_what_an_owner_holds
            a_repeated_re_entry_is_counted_once
            an_owner_that_does_not_re_enter_would_wait_for_itself
            an_upgrade_would_wait_for_itself
            an_owner_cannot_read_what_it_holds_exclusively
            an_owner_whose_lease_ended_does_not_wait_for_itself
            a_new_session_of_an_owner_has_a_larger_fence
            an_owner_re_enters_beside_its_own_closed_hold
        }
    };
    (shared: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            readers_hold_together_and_a_writer_waits_for_the_last
            a_writer_waits_for_the_lock_delay_of_the_last_reader
            each_reader_has_its_own_fence
            a_reader_that_died_ages_out_alone
            a_repeated_reader_is_one_reader
            an_owner_may_read_twice
            a_thousand_readers_hold_at_once
        }
    };
    (permits: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            permits_are_granted_up_to_the_capacity
            of_many_at_once_as_many_are_granted_as_fit
            a_large_request_waits_while_a_small_one_fits
            permits_come_back_with_a_release_and_with_an_end
            a_refusal_of_permits_names_the_first_end
            repeated_permits_are_taken_once
            of_two_capacities_in_use_the_smaller_one_counts
            a_smaller_capacity_waits_until_so_few_permits_are_taken
            a_capacity_is_in_use_until_its_last_holder_has_ended_and_opened
            a_third_capacity_waits_for_one_of_two
            permits_and_an_exclusive_holder_exclude_each_other
            no_permit_is_lost_in_a_hundred_turns
            a_free_resource_may_be_used_with_another_capacity
            readers_and_permits_do_not_mix
            a_lock_delay_keeps_permits_taken
            permits_that_open_later_stay_taken
            a_deadlock_names_all_that_the_owner_holds
        }
    };
    (ends: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            a_lease_ends_by_itself
            a_lock_delay_keeps_an_expired_resource_closed
            a_release_before_the_end_knows_no_lock_delay
            a_renewal_keeps_the_lock_delay
            an_expired_holder_is_no_holder_during_its_lock_delay
            a_lock_delay_of_a_reader_keeps_writers_out
            a_release_may_open_later
            a_closed_resource_is_closed_to_its_last_holder_too
            a_reader_that_opens_later_keeps_writers_out
            a_late_repeat_does_not_bring_a_closed_hold_back
            a_late_repeat_does_not_bring_back_a_hand_over_that_was_renewed
        }
    };
    (inspection: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            a_free_resource_has_no_holders
            holders_are_shown_in_order_of_their_end
            owner_and_metadata_read_back_whatever_their_bytes
            a_renewal_replaces_the_metadata_and_nothing_else
            each_of_several_holders_is_described_alone
            who_does_not_hold_describes_nobody
            a_forced_release_takes_from_all_and_opens
            a_forced_release_opens_what_is_closed
            a_list_has_what_is_not_free_in_order_of_name
            a_list_is_bounded_and_says_so
            a_list_goes_on_behind_a_name
            a_list_forgets_what_ended
        }
    };
    (queue: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            waiters_are_served_in_the_order_of_arrival
            of_many_at_once_one_is_granted_and_the_others_wait_in_a_row
            a_repeat_keeps_the_place
            a_position_is_the_number_of_those_ahead
            a_waiter_is_told_who_is_in_the_way
            a_try_is_refused_while_somebody_waits
            a_newcomer_waits_behind_those_who_wait_though_it_would_fit
            a_waiting_writer_holds_back_the_readers_behind_it
            a_writer_gets_in_though_readers_keep_coming
            a_full_queue_takes_nobody_more
            those_who_are_gone_do_not_fill_a_queue
            a_re_entry_passes_the_queue
            a_reader_whose_owner_reads_passes_the_queue
            a_late_repeat_of_a_closed_hold_does_not_wait
            a_thousand_waiters_are_served_in_order_with_two_verbs_each
            waiters_are_told_in_the_order_of_the_queue
            who_does_not_wait_any_more_is_not_told
            a_described_holder_is_waited_for_as_before
            of_many_waiters_the_first_are_told
            what_somebody_waits_for_is_listed
        }
    };
    (hand_over: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            a_release_hands_over_to_the_head_alone_and_tells_it_once
            a_hand_over_is_told_to_the_inbox_of_its_waiter
            a_hand_over_holds_for_its_grant_window
            who_takes_a_hand_over_up_holds_for_its_own_ttl
            a_hand_over_shows_who_it_is
            a_hand_over_that_nobody_takes_up_passes_to_the_next
            a_lock_delay_counts_only_after_a_hand_over_is_taken_up
            a_renewal_takes_a_hand_over_up
            a_hand_over_can_be_released_untaken
            an_inbox_may_be_listened_to_twice
            a_waiter_may_be_served_without_anybody_listening
        }
    };
    (leaving: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            a_try_of_a_waiter_gives_its_place_up
            a_waiter_that_does_not_repeat_is_gone_after_the_ttl_of_its_ticket
            a_waiter_that_is_gone_makes_room_for_those_behind_it
            a_repeat_refreshes_the_ticket
            a_waiter_that_leaves_makes_room_for_those_behind_it
            who_has_left_is_handed_nothing
            a_waiter_that_would_wait_for_itself_gives_its_place_up
            a_waiter_of_another_capacity_is_served_when_it_fits
        }
    };
    (heads: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            all_readers_at_the_head_are_handed_over_together
            permits_are_handed_to_as_many_heads_as_fit
            a_hold_that_opens_later_is_not_handed_over_before
            a_newcomer_hands_what_a_dead_holder_left_to_the_head
            a_stranger_that_releases_hands_what_a_dead_holder_left_to_the_head
            a_forced_release_hands_over
            a_forced_release_takes_a_hand_over_away
            an_owner_that_waits_twice_is_handed_both
            a_release_to_a_waiter_of_the_same_owner_leaves_nothing_held
            a_head_that_asks_is_granted_and_not_told
        }
    };
    (next: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            the_first_of_those_left_waiting_is_told_that_it_is_next
            nobody_is_next_when_nobody_is_left_waiting
            who_is_next_is_told_once_after_several_hand_overs
            who_asks_is_not_told_that_it_is_next
            a_head_that_asks_tells_nobody_who_is_next
            whoever_makes_room_tells_who_is_next
            a_waiter_whose_inbox_nobody_listens_to_is_skipped
            only_so_many_are_skipped
            who_asks_is_not_one_of_those_that_are_skipped
        }
    };
    (dead: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            the_dead_are_passed_over_at_once
            a_try_is_not_refused_because_of_the_dead
            the_dead_do_not_fill_a_queue
            who_was_taken_for_dead_stands_where_it_stood
            who_was_taken_for_dead_stands_before_who_came_later_in_the_same_call
            who_came_back_is_handed_over_though_nobody_hears_it
            those_who_vanished_cost_two_windows_however_many
            who_answers_the_roll_keeps_its_place
            the_roll_is_called_once_for_what_was_not_taken_up
            a_hand_over_that_was_taken_up_calls_no_roll
            the_last_is_told_too_if_it_is_elsewhere
            one_verb_hands_over_to_so_many_and_the_rest_go_on_at_once
        }
    };
    (batches: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            the_answers_of_a_batch_are_in_its_order
            waiters_of_a_batch_stand_in_its_order
            a_resource_may_be_named_twice_in_one_batch
            one_that_is_kept_out_of_a_batch_harms_no_neighbour
            a_batch_may_mix_modes
            each_of_a_batch_is_renewed_for_its_own_ttl
            each_of_a_batch_is_released_and_hands_over
            a_batch_of_nothing_is_answered
            a_batch_may_be_large
        }
    };
    (passing: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            a_pass_that_nobody_waits_for_grants_with_a_larger_fence
            a_pass_serves_those_who_wait_before
            a_pass_to_the_head_is_granted_and_not_told
            a_pass_to_who_does_not_wait_leaves_it_out
            a_pass_of_what_is_not_held_acquires_as_usual
            a_pass_of_a_place_gives_the_place_up
            a_pass_of_one_of_several_holds_frees_nothing
            a_pass_within_an_owner_re_enters
            a_pass_releases_though_the_acquisition_is_an_error
            a_pass_knows_no_lock_delay_of_the_one_and_keeps_that_of_the_other
            a_repeated_pass_grants_the_same_fence
        }
    };
    (overtaking: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            who_overtakes_is_granted_before_all_who_wait
            who_overtakes_gives_its_place_up
            who_overtakes_alone_leaves_nobody_waiting
            the_last_of_several_holds_may_be_passed_before_all_who_wait
            a_lost_hold_overtakes_nobody
            who_cannot_be_granted_does_not_overtake
        }
    };
    (together: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            all_are_granted_if_all_are_free
            if_one_is_in_the_way_none_is_granted
            one_that_can_never_be_granted_fails_alone_and_none_is_granted
            a_repeat_grants_all_again_with_the_same_fences
            who_asks_for_all_does_not_wait_and_overtakes_nobody
            a_place_that_is_given_up_for_nothing_goes_to_those_behind_it
            what_is_taken_back_is_handed_over_to_those_who_wait
            one_resource_named_twice_is_in_its_own_way
            a_re_entry_that_is_taken_back_leaves_the_first_hold
            as_many_as_may_be_are_granted_together
        }
    };
    ($group:ident: $world:ty) => {
        $crate::__acceptance_group_of_some!($group: $world);
    };
}
