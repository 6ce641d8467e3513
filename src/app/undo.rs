//! Undo: the states a value has settled in. A drag of a slider passes through many values and is one
//! entry.

/// Most entries kept.
const MOST: usize = 256;

/// The past and, after an undo, the future of a value.
#[derive(Clone, Debug)]
pub struct History<T> {
    past: Vec<T>,
    settled: T,
    future: Vec<T>,
}

impl<T: Clone + PartialEq> History<T> {
    /// A history that begins with `value`.
    pub fn new(value: T) -> Self {
        Self { past: Vec::new(), settled: value, future: Vec::new() }
    }

    /// Takes note of the value as it is now. While `settled` is false (a slider is held, a number is
    /// being typed) nothing is recorded.
    pub fn note(&mut self, value: &T, settled: bool) {
        if !settled || *value == self.settled {
            return;
        }
        self.past.push(std::mem::replace(&mut self.settled, value.clone()));
        self.future.clear();
        if self.past.len() > MOST {
            self.past.remove(0);
        }
    }

    /// The value before the last change, if there is one.
    pub fn undo(&mut self) -> Option<T> {
        let before = self.past.pop()?;
        self.future.push(std::mem::replace(&mut self.settled, before));
        Some(self.settled.clone())
    }

    /// The value after the last undo, if nothing was changed since.
    pub fn redo(&mut self) -> Option<T> {
        let after = self.future.pop()?;
        self.past.push(std::mem::replace(&mut self.settled, after));
        Some(self.settled.clone())
    }

    /// Whether there is something to undo.
    pub fn can_undo(&self) -> bool {
        !self.past.is_empty()
    }

    /// Whether there is something to redo.
    pub fn can_redo(&self) -> bool {
        !self.future.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drag_is_one_entry() {
        let mut history = History::new(0);
        (1..100).for_each(|v| history.note(&v, false));
        history.note(&99, true);
        assert_eq!(history.undo(), Some(0));
        assert_eq!(history.undo(), None);
        assert_eq!(history.redo(), Some(99));
        assert_eq!(history.redo(), None);
    }

    #[test]
    fn a_change_after_an_undo_ends_the_future() {
        let mut history = History::new(0);
        history.note(&1, true);
        history.note(&2, true);
        assert_eq!(history.undo(), Some(1));
        history.note(&7, true);
        assert!(!history.can_redo() && history.can_undo());
        assert_eq!(history.undo(), Some(1));
        assert_eq!(history.undo(), Some(0));
    }

    #[test]
    fn what_did_not_change_is_no_entry() {
        let mut history = History::new(5);
        history.note(&5, true);
        assert!(!history.can_undo());
    }

    #[test]
    fn the_oldest_entries_are_given_up() {
        let mut history = History::new(0);
        (1..=1000).for_each(|v| history.note(&v, true));
        assert_eq!(std::iter::from_fn(|| history.undo()).count(), MOST);
    }
}
