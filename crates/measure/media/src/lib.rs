//! Media: what a target directory lies on, built for a run and gone with it.
//!
//! A *medium* is a stack of *layers*, written from below: `ram+ext4+fscrypt`. A layer is a file in `layers/` with its
//! manual next to it; `medium.rs` says which stacks can be. One process builds a medium and holds it (`worker.rs`): it
//! mounts in a separate mount namespace, which its users enter, and its loop devices clear themselves. So
//! when it ends, however it ends, the kernel takes all of that away.

mod building;
mod layer;
mod layers;
mod medium;
mod needs;
mod room;
mod worker;

pub use building::{DIR, INDEX, MEDIUM, ZRAM};
pub use layer::MediumLayer;
pub use layers::LAYERS;
pub use medium::{Medium, named};
pub use needs::MissingNeed;
pub use worker::WORKER;
