//! What every world must do, written once.
//!
//! A world has kept its contract when all cases pass against the real thing: real processes, a real Slurm, a real API
//! server; the simulator included. The cases know nothing of any world. They see it through a [`Stage`], which opens
//! it, prepares what jobs will do in it, and lets time pass.
//!
//! | read | for |
//! |---|---|
//! | [`stage`] | what a new world has to provide |
//! | [`play`] | a real scheduler in a loop like the daemon's, which can crash at any moment |
//! | [`cases`] | the cases: running, telling, stopping, resizing, returning after a crash, losing something in it, fencing |
//!
//! A new world gets all of them with one line in a test: `consort_contract::contract!(MyStage::new());`.
//!
//! Whatever the case, these hold in every turn of the loop: news speaks only of what was desired; it is accepted, or
//! stale; an ending is told only when no worker is left, and once; no attempt ever has more workers than its gang is
//! wide, nor begins any of them twice; no ask has workers of two attempts; `audit` has nothing to say. And when all is over, the journal, applied again,
//! gives the same state.

pub mod cases;
mod news;
pub mod play;
pub mod stage;

pub use play::{Play, perform};
pub use stage::{Crew, Part, Stage};

/// Makes a test of every case. The expression is evaluated once for each: a fresh stage.
#[macro_export]
macro_rules! contract {
    ($stage:expr) => {
        $crate::contract!(@ $stage;
            running {
                a_job_runs_and_succeeds
                a_failure_keeps_its_status_and_is_tried_again
                the_last_failure_ends_the_job
                a_gang_starts_whole
                a_bag_may_be_wider_than_the_cluster
                what_cannot_start_is_refused_in_words
                a_gang_that_cannot_start_leaves_nobody
                many_at_once_are_not_mixed_up
            }
            telling {
                desires_told_twice_change_nothing
                all_desires_told_again_change_nothing
            }
            stopping {
                what_is_starting_can_be_stopped
                devices_are_reused_only_when_they_are_free
                a_stop_that_meets_the_end_gives_one_ending
                a_successor_never_overlaps
                what_is_paused_can_be_resumed
                what_is_cancelled_is_gone
            }
            resizing {
                a_wide_gang_gives_way
                a_gang_grows_into_what_is_free
                what_is_being_resized_can_be_cancelled
                a_crash_in_the_middle_of_a_resize
            }
            leaving {
                what_leaves_in_peace_when_asked_is_not_done
            }
            returning {
                what_was_starting
                what_was_running
                what_was_stopping
                what_ended_meanwhile
                what_failed_meanwhile
                twice_in_a_row
                what_nobody_desires_is_gone
            }
            losing {
                an_ending_that_was_not_written_down
                a_failure_that_was_not_written_down
                a_stop_that_was_not_written_down
                a_start_that_was_not_written_down
                a_refusal_that_was_not_written_down
                desires_that_were_not_told
                an_ending_that_was_not_settled
                old_news_does_no_harm
                something_in_every_turn
            }
            fencing {
                what_was_running_on_it
                what_was_starting_on_it
                what_was_running_on_it_before_a_crash
                what_is_cancelled_meanwhile
            }
        );
    };
    (@ $stage:expr; $($module:ident { $($case:ident)* })*) => {$(
        mod $module {
            #[allow(unused_imports, reason = "the expression may need none of it")]
            use super::*;
            $(
                #[test]
                fn $case() {
                    $crate::perform($stage, $crate::cases::$module::$case);
                }
            )*
        }
    )*};
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_case_is_left_out_of_the_list() {
        let list = include_str!("lib.rs");
        let cases = [
            include_str!("cases/running.rs"),
            include_str!("cases/telling.rs"),
            include_str!("cases/stopping.rs"),
            include_str!("cases/returning.rs"),
            include_str!("cases/losing.rs"),
            include_str!("cases/fencing.rs"),
            include_str!("cases/leaving.rs"),
            include_str!("cases/resizing.rs"),
        ];
        for line in cases.iter().flat_map(|text| text.lines()) {
            let name = line.strip_prefix("pub fn ").and_then(|rest| rest.split('<').next());
            let is_listed = |name: &str| list.lines().any(|line| line.trim() == name);
            assert!(name.is_none_or(is_listed), "{name:?} is never played");
        }
    }
}
