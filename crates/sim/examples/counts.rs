//! `plan-scale` at a thousand nodes for callgrind, which `cargo xtask counts` starts it under.
//!
//! Callgrind counts inside `bench::scale::counted` and writes down what it has whenever `over` is entered; what is printed
//! here says which part that was and how often it did its work.

fn main() {
    // Enough pairs for a stable figure, few enough for a program that runs fifty times slower.
    consort_sim::bench::count(1_000, 1_000, &mut over);
}

#[inline(never)]
fn over(part: &str, times: u64) {
    println!("{part} {times}");
}
