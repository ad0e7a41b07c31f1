//! Workers that begin together or not at all.

use crate::house::{House, is_there, pid_in, sh};
use consort_agent::launch::Sight;
use consort_types::{Cause, Input, Outcome};

#[test]
fn nobody_begins_before_everybody_is_there() {
    let mut house = House::new();
    let file = house.path("seen");
    // Each worker counts the shims that have taken their slots when it begins.
    let records = house.record_dir();
    let id = house.start(
        4,
        sh(&format!(
            "grep -l started {}/*.w* | wc -l >> {}; echo $RANK of $WORLD_SIZE",
            records.display(),
            file.display()
        )),
    );
    house.started(id);
    assert_eq!(house.ended(id), Outcome::Succeeded);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "4\n4\n4\n4\n");
    assert_eq!(house.log(id, 3), "3 of 4\n");
}

#[test]
fn one_that_cannot_start_takes_the_others_back() {
    let mut house = House::new();
    let file = house.path("ran");
    let id = house.store(3, sh(&format!("touch {}", file.display())));
    // A file stands where the folder of the second worker should be.
    let folder = house.slot(id, 1).folder().to_owned();
    std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
    std::fs::write(folder, "").unwrap();
    house.want(id, 3);
    let why = house.refused(id);
    assert!(why.contains("w1") || why.contains("ended before"), "{why}");
    assert!(!file.exists());
    for rank in [0, 2] {
        let sight = house.slot(id, rank).look().unwrap();
        assert!(matches!(sight, Sight::Exited(_) | Sight::Void), "{sight:?}");
    }
    assert!(!house.seen.contains(&Input::Started(id)));
}

#[test]
fn the_first_to_fail_stops_the_others() {
    let mut house = House::new();
    let file = house.path("pid");
    let text = format!(
        "if [ $RANK = 1 ]; then while [ ! -e {0} ]; do sleep 0.01; done; exit 3; fi; \
         [ $RANK = 0 ] && {{ echo $$ > {0}.new; mv {0}.new {0}; }}; exec sleep 60",
        file.display()
    );
    let id = house.start(3, sh(&text));
    assert_eq!(house.ended(id), Outcome::Failed { code: 3, cause: Cause::Exit });
    assert!(!is_there(pid_in(&file)));
}

#[test]
fn a_gang_that_is_stopped_is_stopped() {
    let mut house = House::new();
    for _ in 0..5 {
        let id = house.start(4, sh("exec sleep 60"));
        house.stop(id);
        assert_eq!(house.ended(id), Outcome::Stopped);
    }
    let id = house.start(4, sh("exec sleep 60"));
    house.started(id);
    house.stop(id);
    assert_eq!(house.ended(id), Outcome::Stopped);
}

#[test]
fn a_gang_whose_folder_is_removed_before_all_have_begun_has_failed() {
    let mut house = House::new();
    let held = house.path("held");
    // The second shim is held up while it waits for the word, until the first worker has removed the folder.
    house.shim_script(&format!(
        r#"case "$1" in */w0)
             while ! pid=$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' {}/*.w1 2> /dev/null | grep .); do sleep 0.01; done
             kill -STOP $pid; echo $pid > {held};;
           esac
           exec $SHIM "$1""#,
        house.record_dir().display(),
        held = held.display(),
    ));
    let text = r#"[ $RANK != 0 ] || { rm -rf "$(dirname "$CONSORT_SLOT")"; kill -CONT $(cat HELD); }"#;
    let id = house.start(2, sh(&text.replace("HELD", &held.display().to_string())));
    assert_eq!(house.ended(id), Outcome::Failed { code: 126, cause: Cause::NotRun });
}
