use super::*;

#[test]
fn numbers_in_every_shape() {
    let read = |cpus: &str| {
        let text = format!(r#"{{"nodes": [{{"name": "n1", "cpus": {cpus}}}]}}"#);
        Answer::read(text.as_bytes()).unwrap().nodes().unwrap()[0].cpus
    };
    assert_eq!(read("8"), 8);
    assert_eq!(read("null"), 0);
    assert_eq!(read("\"8\""), 8);
    assert_eq!(read("-2"), 0);
    assert_eq!(read("8.0"), 8);
    assert_eq!(read(r#"{"set": true, "infinite": false, "number": 8}"#), 8);
    assert_eq!(read(r#"{"number": 8, "set": false, "infinite": false}"#), 0);
    assert_eq!(read(r#"{"set": true, "infinite": true, "number": 0, "new": [1]}"#), 0);
    assert_eq!(read("[1]"), 0);
}

#[test]
fn states_in_every_shape() {
    let read = |fields: &str| {
        let text = format!(r#"{{"nodes": [{{{fields}}}], "jobs": [{{{fields}}}]}}"#);
        let answer = Answer::read(text.as_bytes()).unwrap();
        (answer.clone().nodes().unwrap().remove(0), answer.jobs().unwrap().remove(0))
    };
    let old =
        read(r#""state": "mixed", "state_flags": ["DRAIN"], "features": "a,b", "job_state": "RUNNING""#);
    assert!(old.0.is(&["MIXED"]) && old.0.is(&["DRAIN"]) && !old.0.is(&["DOWN"]));
    assert_eq!(old.0.features, ["a", "b"]);
    assert!(old.1.is(&["RUNNING"]));
    let new = read(
        r#""state": ["IDLE", "DRAIN"], "features": ["a", "b"], "job_state": ["COMPLETING", "FAILED"], "comment": {"job": "tag"}"#,
    );
    assert!(new.0.is(&["IDLE"]) && new.0.is(&["DRAIN"]));
    assert_eq!(new.0.features, ["a", "b"]);
    assert!(new.1.is(&["COMPLETING"]));
    assert_eq!(new.1.comment, "tag");
    assert!(read(r#""state": "idle+drain""#).0.is(&["DRAIN"]));
}

#[test]
fn ends_in_every_shape() {
    let read = |exit: &str| {
        let text = format!(r#"{{"jobs": [{{"job_id": 1, "exit_code": {exit}}}]}}"#);
        Answer::read(text.as_bytes()).unwrap().jobs().unwrap()[0].code()
    };
    assert_eq!(read("0"), 0);
    assert_eq!(read("768"), 3);
    assert_eq!(read("15"), 143);
    assert_eq!(read("null"), 0);
    let new = |code: u32, signal: u32| {
        read(&format!(
            r#"{{"status": ["X"], "return_code": {{"set": true, "infinite": false, "number": {code}}}, "signal": {{"id": {{"set": true, "infinite": false, "number": {signal}}}, "name": ""}}}}"#
        ))
    };
    assert_eq!((new(3, 0), new(0, 9)), (3, 137));
    assert_eq!(read(r#"{"status": "ERROR", "return_code": 3, "signal": {"signal_id": 0}}"#), 3);
}

#[test]
fn missing_and_new_fields_do_no_harm() {
    let empty = Answer::read(b"{}").unwrap();
    assert_eq!(empty, Answer::default());
    let odd = br#"{"nodes": null, "jobs": {}, "errors": null, "novelty": {"a": [1, {"b": null}]}, "meta": {"Slurm": {"release": "22.05.8"}}}"#;
    let odd = Answer::read(odd).unwrap();
    assert_eq!(odd.clone().nodes().unwrap_err(), "Slurm's answer has no list of nodes");
    assert_eq!(odd.clone().jobs().unwrap_err(), "Slurm's answer has no list of jobs");
    assert_eq!(odd.meta.slurm.release, "22.05.8");
    let odd = br#"{"meta": null, "status": "UP", "errors": 3, "nodes": "n[1-2]", "jobs": true}"#;
    assert_eq!(Answer::read(odd).unwrap(), Answer::default());
    for bad in ["", "null", "[]", "{\"nodes\": [", "<html>502 Bad Gateway</html>"] {
        let told = Answer::read(bad.as_bytes()).unwrap_err();
        assert!(told.starts_with("cannot parse Slurm's answer: "), "{told}");
    }
}

#[test]
fn complaints_are_sentences() {
    let read = |text: &str| serde_json::from_str::<Complaint>(text).unwrap().words();
    assert_eq!(
        read(
            r#"{"description": "Unable to find JobId=9", "error_number": 2017, "error": "Invalid job id specified"}"#
        ),
        "Invalid job id specified (Unable to find JobId=9)"
    );
    assert_eq!(read(r#"{"error_code": 9001, "error": "Failure during parsing"}"#), "Failure during parsing");
    assert_eq!(read(r#"{"error_number": 5}"#), "error 5");
}

#[test]
fn an_odd_row_harms_no_other() {
    let good = |id: u64| format!(r#"{{"job_id": {id}, "job_state": "RUNNING", "comment": "a, ]}} \" b"}}"#);
    let odd: [&[u8]; 8] = [
        b"7",
        b"null",
        br#"{"job_id": 7, "comment": "a", "comment": "b"}"#,
        b"{\"job_id\": 7, \"comment\": \"caf\xe9 \xff\"}",
        b"{\"job_id\": 7, \"comment\": \"two\nlines \x01\"}",
        br#"{"job_id": 7, "comment": "\ud800"}"#,
        br#"{"job_id": 7 7}"#,
        br#""job_id""#,
    ];
    for row in odd {
        let text = [
            b"{\"jobs\": [",
            good(1).as_bytes(),
            b", ",
            row,
            b", ",
            good(2).as_bytes(),
            b"], \"meta\": {\"Slurm\": {\"release\": \"22.05.8\"}}}",
        ]
        .concat();
        let told = String::from_utf8_lossy(&text).into_owned();
        let answer = Answer::read(&text).unwrap_or_else(|why| panic!("{told}: {why}"));
        assert_eq!(answer.meta.slurm.release, "22.05.8");
        let (jobs, skipped) = answer.numbered_jobs().unwrap();
        let ids: Vec<u64> = jobs.iter().map(|job| job.id).collect();
        assert!(
            ids == [1, 2] && skipped == 1 || ids == [1, 7, 2] && skipped == 0,
            "{told}: {ids:?} {skipped}"
        );
        assert!(jobs.iter().filter(|job| job.id != 7).all(|job| job.comment == "a, ]} \" b"));
    }
    let nothing = Answer::read(br#"{"jobs": [7, null]}"#).unwrap().numbered_jobs();
    assert_eq!(nothing.unwrap_err(), "none of the 2 rows of Slurm's answer can be parsed");
    assert_eq!(Answer::read(br#"{"jobs": []}"#).unwrap().numbered_jobs(), Ok((vec![], 0)));
}

/// Whatever is damaged within one row, and as long as its brackets and quotes stay balanced, all others are read.
#[test]
fn random_damage_to_one_row_leaves_the_others() {
    let mut dice = crate::dice::Dice(5);
    let mut read = 0;
    for _ in 0..3_000 {
        let row = |id: usize| {
            format!(r#"{{"job_id": {id}, "job_state": ["RUNNING"], "comment": "tag {id}"}}"#).into_bytes()
        };
        let mut rows: Vec<Vec<u8>> = (1..=4).map(row).collect();
        let hit = dice.below(4);
        // Within the text of the comment: quotes and backslashes would move the frame.
        let mut text = b"free text".to_vec();
        dice.damage(&mut text);
        text.retain(|byte| !b"\"\\".contains(byte));
        let at = rows[hit].len() - 3;
        rows[hit].splice(at..at, text);
        let answer = [b"{\"jobs\": [", &rows.join(&b", "[..])[..], b"]}"].concat();
        let (jobs, _) = Answer::read(&answer).unwrap().numbered_jobs().unwrap();
        for id in (1..=4).filter(|&id| id != hit as u64 + 1) {
            assert!(jobs.iter().any(|job| job.id == id && job.comment == format!("tag {id}")), "{id}");
        }
        read += jobs.len();
    }
    assert!(read >= 3 * 3_000);
}

/// Any damage anywhere: what is read is read, and nothing panics.
#[test]
fn random_damage_anywhere_is_survived() {
    let mut dice = crate::dice::Dice(17);
    let whole = br#"{"nodes": [{"name": "n1", "cpus": {"set": true, "number": 8}, "gres": "gpu:a100:4"}], "jobs": [{"job_id": 7, "comment": {"job": "x"}}, {"job_id": 8}], "errors": [], "meta": null}"#;
    for _ in 0..5_000 {
        let mut bytes = whole.to_vec();
        dice.damage(&mut bytes);
        if let Ok(answer) = Answer::read(&bytes) {
            let _ = (answer.clone().named_nodes(), answer.numbered_jobs());
        }
    }
}
