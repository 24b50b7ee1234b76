//! Between a channel and the pipes of a program, at either end.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::channel::{Channel, FrameKind, LONGEST};

/// What is read here and sent as frames of a kind, its end as one without bytes.
#[derive(Debug)]
pub(crate) struct PipeSource {
    kind: FrameKind,
    /// None once it has ended.
    pipe: Option<OwnedFd>,
}

impl PipeSource {
    pub(crate) fn of(kind: FrameKind, pipe: OwnedFd) -> Self {
        Self { kind, pipe: Some(pipe) }
    }

    /// Sends what there is.
    fn forward(&mut self, channel: &mut Channel) -> io::Result<()> {
        let Some(pipe) = &self.pipe else { return Ok(()) };
        let mut some = [0; LONGEST];
        let read = match rustix::io::read(pipe, &mut some) {
            Ok(read) => read,
            Err(Errno::INTR | Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if read == 0 {
            self.pipe = None;
        }
        channel.send(self.kind, &some[..read])
    }
}

/// Why nothing is carried any more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CarryEnd<T> {
    /// Whoever takes the frames has what it wants.
    Taken(T),
    /// All sources have ended.
    SourcesEnded,
    /// The other end has closed the channel.
    Closed,
}

/// Sends what sources give and hands over each frame that comes, until that is over. Where `goes_on`, the end of all sources is no
/// reason.
///
/// # Errors
/// When the other end is gone, or whoever takes the frames says so.
pub(crate) fn carry<T>(
    channel: &mut Channel,
    sources: &mut [PipeSource],
    goes_on: bool,
    mut take: impl FnMut(FrameKind, &[u8]) -> io::Result<ControlFlow<T>>,
) -> io::Result<CarryEnd<T>> {
    let mut is_open = true;
    loop {
        // The last frames may have come with the end.
        while let Some((kind, bytes)) = channel.received()? {
            if let ControlFlow::Break(taken) = take(kind, &bytes)? {
                return Ok(CarryEnd::Taken(taken));
            }
        }
        if !is_open {
            return Ok(CarryEnd::Closed);
        }
        if !goes_on && sources.iter().all(|source| source.pipe.is_none()) {
            return Ok(CarryEnd::SourcesEnded);
        }
        let (has_come, filled) = wait(channel, sources)?;
        for (source, _) in sources.iter_mut().zip(filled).filter(|(_, is_filled)| *is_filled) {
            source.forward(channel)?;
        }
        is_open = !has_come || channel.take_in()?;
    }
}

/// Waits until there is something: whether it is of the channel, and of which sources.
fn wait(channel: &Channel, sources: &[PipeSource]) -> io::Result<(bool, Vec<bool>)> {
    let open = sources.iter().filter_map(|source| source.pipe.as_ref());
    let mut all = vec![PollFd::new(channel, PollFlags::IN)];
    all.extend(open.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
    match poll(&mut all, None) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut has = all.iter().map(|polled| !polled.revents().is_empty());
    let has_come = has.next().unwrap_or(false);
    let filled = sources.iter().map(|source| source.pipe.is_some() && has.next().unwrap_or(false));
    Ok((has_come, filled.collect()))
}
