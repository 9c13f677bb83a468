//! The groups of facts about what only some stores have, and the names of any bytes.

/// Stamps a test for each fact of a group that is for some stores.
#[doc(hidden)]
#[macro_export]
macro_rules! __acceptance_group_of_some {
    // What `batches` and `together` have for stores without permits and without a queue.
    (several: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            the_answers_of_a_batch_are_in_its_order
            each_of_a_batch_is_renewed_for_its_own_ttl
            a_batch_of_nothing_is_answered
            a_batch_may_be_large
            all_are_granted_if_all_are_free
            if_one_is_in_the_way_none_is_granted
            a_repeat_grants_all_again_with_the_same_fences
            one_resource_named_twice_is_in_its_own_way
            a_re_entry_that_is_taken_back_leaves_the_first_hold
            as_many_as_may_be_are_granted_together
        }
    };
    (at_one_moment: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            what_a_token_held_before_is_left_to_it
        }
    };
    (numbered: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            permits_have_the_lowest_number_that_is_free
            a_hold_of_several_permits_has_one_number
            other_modes_have_no_number
            a_number_stays_with_its_hold
            a_number_is_free_when_its_permits_are
            a_hand_over_has_the_number_that_has_become_free
            permits_that_are_taken_together_have_numbers_and_those_taken_back_have_none
            of_many_numbers_the_lowest_one_is_found
            a_capacity_that_is_set_counts_in_place_of_those_that_are_named
            a_capacity_that_is_set_outlives_its_holders_until_it_is_removed
            a_larger_capacity_lets_waiters_in_at_once
            a_smaller_capacity_takes_nothing_from_anybody
            more_permits_than_are_set_are_an_error_and_block_nobody
            a_capacity_that_was_set_leaves_those_that_are_named_when_it_is_removed
            an_owner_may_hold_more_than_it_has_named_and_is_told_of_all
            a_capacity_is_of_permits_alone
        }
    };
    (notices: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            every_inbox_is_sent_a_notice_to_all_who_hold
            a_notice_to_some_reaches_those_of_them_who_hold
            a_question_without_a_notice_tells_nobody
            who_holds_no_more_is_not_notified
            of_many_readers_whose_time_is_over_none_is_notified
            a_forced_release_notifies_all_who_held
            one_verb_notifies_so_many_holders_and_says_that_there_are_more
        }
    };
    (registers: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            a_register_is_empty_until_it_is_written
            of_two_writes_to_what_both_have_read_one_succeeds
            a_repeated_write_is_answered_as_the_first_until_somebody_else_writes
            a_register_is_not_written_before_its_time
            a_register_outlives_locks_of_its_name_and_is_none
            registers_are_listed_apart_from_locks
        }
    };
    (fences: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            a_raised_fence_is_that_of_its_hold_and_later_ones_are_larger
            who_re_enters_has_the_raised_fence
            who_does_not_hold_raises_nothing
            each_of_a_batch_is_raised_to_its_own_fence
        }
    };
    (lives: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            a_life_keeps_its_name
        }
    };
    // What the plain layout has: one exclusive holder without owner, fence and queue.
    (textbook: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            a_textbook_lock_excludes_ends_and_opens
            a_textbook_lock_is_taken_again_by_its_own_token_alone
            a_textbook_lock_has_neither_fence_nor_queue
            a_textbook_lock_is_renewed_from_now
            a_textbook_lock_may_open_later
            a_textbook_lock_is_shown_and_taken_by_force
            what_a_textbook_lock_has_not_is_refused_and_harms_no_neighbour
            a_textbook_lock_is_passed_on
            several_textbook_locks_are_all_granted_or_none
            textbook_locks_of_any_name_are_listed
            of_many_at_once_one_is_granted
            a_release_opens_at_once
            releasing_what_was_never_granted_is_harmless
            a_refusal_changes_nothing
            a_token_holds_only_where_it_was_granted
            a_free_resource_has_no_holders
            a_list_is_bounded_and_says_so
            a_list_goes_on_behind_a_name
            the_answers_of_a_batch_are_in_its_order
            a_batch_of_nothing_is_answered
            strange_names_are_locks_of_their_own
            a_prefix_is_no_pattern
        }
    };
    (names: $world:ty) => {
        $crate::__acceptance_facts! { $world:
            strange_names_are_locks_of_their_own
            strange_names_work_with_every_verb_and_mode
            a_prefix_is_no_pattern
        }
    };
}
