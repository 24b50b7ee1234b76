//! What every database must do to be a store: checks that go through the trait alone. A new one gets a
//! [`StoreRoom`] and a line at the end of this file.

mod counters;
mod facts;
mod merging;
mod records;
pub mod series;
mod told;
mod updates;

use plumb_store::{Backend, Store};

use crate::events::{fold, id};
use told::write;

/// Where a database keeps the stores of a check.
pub trait StoreRoom {
    /// A fresh room.
    fn new() -> Self
    where
        Self: Sized;

    /// The store of this name, made when there is none.
    fn store(&self, name: &str) -> Store;
}

/// A folder with a file a store.
struct StoreFiles(tempfile::TempDir);

impl StoreRoom for StoreFiles {
    fn new() -> Self {
        Self(crate::folder::in_memory())
    }

    fn store(&self, name: &str) -> Store {
        Store::open(self.0.path().join(name)).unwrap()
    }
}

/// A test a check, for one kind of room.
macro_rules! checks {
    ($room:ty; one: $($file:ident { $($check:ident),+ $(,)? })+; several: $($of:ident { $($of_several:ident),+ $(,)? })+) => {
        $($(
            #[test]
            fn $check() {
                let room = <$room as super::StoreRoom>::new();
                super::$file::$check(&*super::StoreRoom::store(&room, "plumb.db"));
            }
        )+)+
        $($(
            #[test]
            fn $of_several() {
                super::$of::$of_several(&<$room as super::StoreRoom>::new());
            }
        )+)+
    };
}

/// Instantiates every check for one kind of store.
macro_rules! every_check {
    ($room:ty) => {
        checks! {
            $room;
            one:
                records {
                    gives_back_what_it_was_told,
                    every_event_is_readable_at_once,
                    unknown_runs_are_named,
                    summaries_tell_runs_apart,
                    impossible_batches_are_refused,
                    a_run_goes_on_after_its_writer_died,
                    a_run_is_running_while_its_owner_lives,
                    events_that_cannot_be_are_refused_as_a_bug,
                }
                series {
                    ends_and_names_are_read_without_records,
                    what_is_derived_comes_back_while_it_is_true,
                    a_long_history_is_read_at_once,
                }
                updates {
                    what_is_heard_bit_by_bit_is_what_is_heard_at_once,
                    what_was_cut_off_is_not_current_for_ever,
                    another_run_is_not_heard_and_an_unknown_one_is_an_error,
                }
                counters {
                    amounts_and_readings_come_back,
                    an_excluded_invocation_counts_nowhere,
                    nobody_is_excluded_who_never_started,
                }
                facts {
                    a_baseline_is_what_was_said_last,
                    the_first_baseline_of_a_name_is_known_until_it_is_removed,
                    audits_are_of_a_machine,
                    targets_are_read_without_samples,
                    hosts_are_kept,
                    files_are_kept_of_runs_and_only_of_those_that_are_named,
                };
            several:
                merging {
                    a_merge_brings_what_is_missing_once,
                    a_run_that_was_resumed_twice_keeps_both_ways,
                    a_run_told_as_events_is_imported_once_and_whole_or_not_at_all,
                    kept_files_come_with_their_runs,
                }
        }
        proptest::proptest! {
            #![proptest_config(proptest::prelude::ProptestConfig { cases: 60, ..Default::default() })]

            #[test]
            fn a_record_is_what_its_events_say(
                ops in proptest::collection::vec(crate::ops::op(), 0..30),
                ended: bool,
            ) {
                let room = <$room as super::StoreRoom>::new();
                super::a_record_is_what_its_events_say(&*super::StoreRoom::store(&room, "plumb.db"), &ops, ended);
            }
        }
    };
}

fn a_record_is_what_its_events_say(store: &dyn Backend, ops: &[crate::ops::Op], ended: bool) {
    let events = crate::ops::play(id(1), ops, ended);
    write(store, &events);
    assert_eq!(store.record(id(1)).unwrap(), fold(&events));
}

mod sqlite {
    every_check!(super::StoreFiles);
}
