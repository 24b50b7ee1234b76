//! What all connections know.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio::sync::Semaphore;

use super::guard::ReaderToken;
use super::limits::HttpLimits;
use crate::follow::FollowedRuns;
use crate::page_cache::PageCache;

/// What all connections know.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) address: SocketAddr,
    /// What readers must know; None if only this machine can connect.
    pub(super) token: Option<ReaderToken>,
    pub(super) limits: HttpLimits,
    pub(super) page_cache: PageCache,
    pub(super) followed: Arc<FollowedRuns>,
    /// Whether the server stays when a run is over.
    pub(super) stays: bool,
    pub(super) stops: AtomicBool,
    /// A permit a connection,
    pub(super) connections: Arc<Semaphore>,
    /// and one a connection on which a run is followed.
    pub(super) followers: Arc<Semaphore>,
}
