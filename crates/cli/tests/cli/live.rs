//! Commands that ask a server, against one that says what it is told to say.

mod cluster;
mod server;
mod slurm;
mod work;

use super::*;
use server::{Answer, Server, acted, job};

/// A folder and a server that answers so.
fn with(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> (Folder, Server) {
    (Folder::new(), Server::start(answer))
}

impl Folder {
    /// The binary, told where the server is.
    fn ask(&self, server: &Server, line: &str) -> Ran {
        Ran::of(self.asking(server, line).output().unwrap())
    }

    fn asking(&self, server: &Server, line: &str) -> Command {
        let mut command = self.command(line);
        command.env("CONSORT_URL", &server.url).env("CONSORT_TOKEN", "secret");
        command
    }
}

#[test]
fn nobody_there_is_the_outside_and_says_how_to_start() {
    let folder = Folder::new();
    folder.run("jobs").refused(3, &["no server found", "consort up"]);
    folder.run("jobs --server http://127.0.0.1:1").refused(3, &["cannot reach the server at", "consort up"]);
    folder.run("jobs --server ftp://x").refused(2, &["`ftp://x` is not a server address"]);
    folder.write("job.yaml", "run: x");
    folder.run("submit job.yaml --server 127.0.0.1:1").refused(3, &["connection refused", "consort up"]);
}

#[test]
fn the_server_and_its_token_are_found_where_they_were_written() {
    let (folder, server) = with(|_| Answer::json(200, "[]"));
    std::fs::create_dir_all(folder.path("config/consort")).unwrap();
    folder.write("config/consort/server", &format!("{}\n", server.url));
    folder.write("config/consort/token", "from a file\n");
    assert_eq!(folder.run("jobs").done().out, "No pending or running jobs.\n");
    assert!(server.asked()[0].contains("authorization: Bearer from a file\r\n"), "{:?}", server.asked());
}

#[test]
fn filters_that_match_nothing_say_so_and_name_what_is_unknown() {
    let (folder, server) = with(|line| match line {
        line if line.contains("/v1/queues") => Answer::json(
            200,
            r#"[{"name": "default", "priority": 0, "strict": false, "tenants": [], "waiting": 0, "running": 0}]"#,
        ),
        _ => Answer::json(200, "[]"),
    });
    for filter in ["--state paused", "--state PD,R", "--queue default"] {
        let shown = folder.ask(&server, &format!("jobs {filter}")).done().out;
        assert!(shown.contains("matches these filters"), "{filter}: {shown}");
    }
    folder.ask(&server, "jobs --queue defalt").refused(2, &["unknown queue `defalt`", "`default`"]);
    folder.ask(&server, "devices --node n9").refused(2, &["unknown node `n9`"]);
}

#[test]
fn a_wrong_token_is_told_calmly() {
    let (folder, server) = with(|_| Answer::json(401, r#"{"error": "the token is wrong"}"#));
    folder.ask(&server, "jobs").refused(3, &["the token is wrong", "CONSORT_TOKEN"]);
}

#[test]
fn text_from_a_server_cannot_talk_to_the_terminal() {
    let odd = job(17, "waiting").replace("\"train\"", "\"a\\u001b[31m\\nb\"");
    let (folder, server) = with(move |_| Answer::json(200, &format!("[{odd}]")));
    let shown = folder.ask(&server, "jobs").done().out;
    assert!(!shown.contains('\u{1b}') && shown.lines().count() == 3, "{shown}");
}
