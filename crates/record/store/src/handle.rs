//! A store as everybody holds it, whatever database is behind it.

use std::ops::Deref;
use std::path::Path;

use crate::answers::StoreInfo;
use crate::backend::Backend;
use crate::error::StoreError;
use crate::sqlite::Sqlite;

/// A store, opened. What it can do is [`Backend`].
#[derive(Debug)]
pub struct Store(Box<dyn Backend>);

impl Store {
    /// Opens a store for reading and writing; makes it, and its folder, when there is none.
    ///
    /// # Errors
    /// When the file is something else, damaged, newer, locked or cannot be written.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Ok(Self(Box::new(Sqlite::open(path.as_ref())?)))
    }

    /// Opens a store for reading only; also on a medium that cannot be written.
    ///
    /// # Errors
    /// When there is none, or the file is something else, damaged, newer or locked.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Ok(Self(Box::new(Sqlite::open_read_only(path.as_ref())?)))
    }
}

impl Deref for Store {
    type Target = dyn Backend;

    fn deref(&self) -> &Self::Target {
        self.0.as_ref()
    }
}

/// How the store at this path is, without writing to it.
///
/// # Errors
/// When there is none or it cannot be read.
pub fn info(path: impl AsRef<Path>) -> Result<StoreInfo, StoreError> {
    Store::open_read_only(path)?.info()
}
