//! Why something that was asked for is not given.

/// Why something that was asked for is not given.
#[derive(Debug, thiserror::Error)]
pub enum ServeRefusal {
    /// The requested thing does not exist, or cannot be understood.
    #[error("{what}")]
    Unknown {
        /// The requested settings.
        what: String,
        /// A hint for the user.
        hint: Option<String>,
    },
    /// Too much is asked for at once.
    #[error("too many requests at once; try again in a moment")]
    Busy,
    /// The store can't be read.
    #[error(transparent)]
    Store(#[from] plumb_store::StoreError),
    /// Something that cannot happen has happened.
    #[error("{0}; this is a bug in plumb, please report it")]
    Bug(String),
}

impl ServeRefusal {
    /// Something is not there.
    pub(crate) fn unknown(what: impl Into<String>) -> Self {
        Self::Unknown { what: what.into(), hint: None }
    }

    /// With what to try.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        match self {
            Self::Unknown { what, .. } => Self::Unknown { what, hint: Some(hint.into()) },
            other => other,
        }
    }
}
