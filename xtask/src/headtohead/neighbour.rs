//! A process that burns one core in bursts, as another tenant or a browser would.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use plumb_stats::rng::Rng;

/// The word that starts this binary as the neighbour.
pub const ROLE: &str = "--neighbour";

/// Mean length of a burst and of a pause, in seconds; both are exponential.
pub const MEAN: f64 = 0.2;

/// The neighbour, which goes when this does.
pub struct Neighbour(Child);

impl Neighbour {
    /// Starts this binary again.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn start(seed: u64) -> Result<Self, String> {
        let me = std::env::current_exe().map_err(|error| format!("this binary: {error}"))?;
        let mut command = Command::new(me);
        command.args(["headtohead", ROLE, &seed.to_string()]).stdin(Stdio::piped());
        command.spawn().map(Self).map_err(|error| format!("the neighbour: {error}"))
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        _ = self.0.wait();
    }
}

/// Burns and pauses until standard input ends, which it does however the parent ended.
pub fn burn(seed: u64) {
    let (end, ended) = channel::<()>();
    std::thread::spawn(move || {
        _ = std::io::stdin().read_to_end(&mut Vec::new());
        drop(end);
    });
    let mut rng = Rng::new(seed);
    loop {
        let [burst, pause] = [0, 1].map(|_| Duration::from_secs_f64(MEAN * rng.exponential()));
        if spin(burst, &ended) || is_over(&ended, pause) {
            return;
        }
    }
}

/// Whether the end came meanwhile.
fn spin(burst: Duration, ended: &Receiver<()>) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < burst {
        if is_over(ended, Duration::ZERO) {
            return true;
        }
        for _ in 0..10_000 {
            std::hint::spin_loop();
        }
    }
    false
}

fn is_over(ended: &Receiver<()>, wait: Duration) -> bool {
    use std::sync::mpsc::RecvTimeoutError::Disconnected;
    ended.recv_timeout(wait) == Err(Disconnected)
}
