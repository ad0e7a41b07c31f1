//! A shim on its own: the shipped binary does the same when it is called as `consort shim`.

fn main() {
    consort_agent::shim::main(std::env::args_os().skip(1))
}
