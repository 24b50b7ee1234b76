//! Answers that tell whether their question was asked.

/// The answer to a question that costs reading and is not always asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked<T> {
    /// The question was not asked.
    NotAsked,
    /// It was asked, and there is no answer.
    Nothing,
    /// It was asked, and this is the answer.
    Found(T),
}

impl<T> Asked<T> {
    /// The answer, if it was asked and there is one.
    #[must_use]
    pub fn found(&self) -> Option<&T> {
        match self {
            Self::Found(answer) => Some(answer),
            Self::NotAsked | Self::Nothing => None,
        }
    }
}

impl<T> From<Option<T>> for Asked<T> {
    /// The answer to a question that was asked.
    fn from(answer: Option<T>) -> Self {
        answer.map_or(Self::Nothing, Self::Found)
    }
}

impl<T> Asked<Vec<T>> {
    /// The answer to a question that was asked; no items are no answer.
    pub(crate) fn list(items: Vec<T>) -> Self {
        if items.is_empty() { Self::Nothing } else { Self::Found(items) }
    }

    /// The items of the answer; none if it was not asked.
    #[must_use]
    pub fn items(&self) -> &[T] {
        self.found().map_or(&[], Vec::as_slice)
    }
}
