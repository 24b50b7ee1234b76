//! Panics in a second thread, as a bug in plumb might.
#![expect(clippy::print_stdout, reason = "it is a part of a test")]

fn main() {
    plumb_cli::exit_on_panic();
    let worker = std::thread::spawn(|| panic!("a bug"));
    let _ = worker.join();
    println!("still running");
}
