//! Undo: past values in order, with the name of each change and the number of the smoke's state. A drag of a
//! slider passes through many values and is one entry.

/// Most entries.
const MOST: usize = 256;

/// The past and, after an undo, the future of a value.
#[derive(Clone, Debug)]
pub struct History<T> {
    past: Vec<Entry<T>>,
    present: T,
    future: Vec<Entry<T>>,
}

/// A change, with the value before it or, after an undo, the value after it.
#[derive(Clone, Debug)]
struct Entry<T> {
    value: T,
    /// Short name.
    what: String,
    /// Number of the stored smoke that belongs to that value, if the change touched the smoke.
    state: Option<u64>,
}

/// Result of an undo or a redo.
#[derive(Clone, Debug, PartialEq)]
pub struct Step<T> {
    /// Value to take over.
    pub value: T,
    /// Name of the undone or redone change.
    pub what: String,
    /// Number of the state to restore. The present one must be stored under the given number.
    pub restore: Option<u64>,
}

impl<T: Clone + PartialEq> History<T> {
    /// Makes a history that begins with `value`.
    pub fn new(value: T) -> Self {
        Self { past: Vec::new(), present: value, future: Vec::new() }
    }

    /// Records the present value; `what` names a change from one value to another. While `committed` is false
    /// (a slider is held, a number is being typed) nothing is recorded.
    pub fn note(&mut self, value: &T, committed: bool, what: impl FnOnce(&T, &T) -> String) {
        if committed && *value != self.present {
            let what = what(&self.present, value);
            self.push(value.clone(), what, None);
        }
    }

    /// Records a change to the smoke. The state before it is stored under the number `state`; `value` is that
    /// after it.
    pub fn act(&mut self, value: &T, what: &str, state: u64) {
        self.push(value.clone(), what.to_owned(), Some(state));
    }

    /// Makes the present value part of the last change, which gets the name of both.
    pub fn join(&mut self, value: &T, what: impl FnOnce(&T, &T) -> String) {
        if let Some(last) = self.past.last_mut().filter(|_| *value != self.present) {
            last.what = what(&self.present, value);
            self.present = value.clone();
        }
    }

    /// Changes the present and all other values alike, without an entry.
    pub fn adjust(&mut self, change: impl Fn(&mut T)) {
        let others = self.past.iter_mut().chain(&mut self.future).map(|entry| &mut entry.value);
        others.chain([&mut self.present]).for_each(change);
    }

    fn push(&mut self, value: T, what: String, state: Option<u64>) {
        let value = std::mem::replace(&mut self.present, value);
        self.past.push(Entry { value, what, state });
        self.future.clear();
        if self.past.len() > MOST {
            self.past.remove(0);
        }
    }

    /// Undoes the last change, if there is one; `stored` is the number of the present state.
    pub fn undo(&mut self, stored: u64) -> Option<Step<T>> {
        Self::step(&mut self.past, &mut self.present, &mut self.future, stored)
    }

    /// Redoes the last undone change, if nothing was changed since.
    pub fn redo(&mut self, stored: u64) -> Option<Step<T>> {
        Self::step(&mut self.future, &mut self.present, &mut self.past, stored)
    }

    fn step(
        from: &mut Vec<Entry<T>>,
        present: &mut T,
        to: &mut Vec<Entry<T>>,
        stored: u64,
    ) -> Option<Step<T>> {
        let Entry { value, what, state } = from.pop()?;
        let other = std::mem::replace(present, value.clone());
        to.push(Entry { value: other, what: what.clone(), state: state.map(|_| stored) });
        Some(Step { value, what, restore: state })
    }

    /// Returns the name of the change that an undo reverts.
    pub fn undoes(&self) -> Option<&str> {
        self.past.last().map(|entry| entry.what.as_str())
    }

    /// Returns the name of the change that a redo repeats.
    pub fn redoes(&self) -> Option<&str> {
        self.future.last().map(|entry| entry.what.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(history: &mut History<i32>, value: i32) {
        history.note(&value, true, |a, b| format!("{a} to {b}"));
    }

    fn value(step: Option<Step<i32>>) -> Option<i32> {
        step.map(|step| step.value)
    }

    #[test]
    fn a_drag_is_one_entry() {
        let mut history = History::new(0);
        (1..100).for_each(|v| history.note(&v, false, |_, _| unreachable!()));
        note(&mut history, 99);
        assert_eq!(value(history.undo(0)), Some(0));
        assert_eq!(value(history.undo(0)), None);
        assert_eq!(value(history.redo(0)), Some(99));
        assert_eq!(value(history.redo(0)), None);
    }

    #[test]
    fn a_change_after_an_undo_ends_the_future() {
        let mut history = History::new(0);
        note(&mut history, 1);
        note(&mut history, 2);
        assert_eq!(value(history.undo(0)), Some(1));
        note(&mut history, 7);
        assert_eq!((history.redoes(), history.undoes()), (None, Some("1 to 7")));
        assert_eq!(value(history.undo(0)), Some(1));
        assert_eq!(value(history.undo(0)), Some(0));
    }

    #[test]
    fn an_equal_value_is_no_entry() {
        let mut history = History::new(5);
        note(&mut history, 5);
        assert_eq!(history.undoes(), None);
    }

    #[test]
    fn strokes_and_values_are_undone_in_order_and_redo_goes_to_the_state_that_undo_left() {
        let mut history = History::new(0);
        history.act(&0, "stroke", 1);
        note(&mut history, 4);
        history.act(&4, "clear", 2);
        let step = |value, what: &str, restore| Some(Step { value, what: what.into(), restore });
        assert_eq!(history.undo(3), step(4, "clear", Some(2)));
        assert_eq!(history.undo(4), step(0, "0 to 4", None));
        assert_eq!(history.undo(5), step(0, "stroke", Some(1)));
        assert_eq!(history.undo(6), None);
        assert_eq!(history.redo(7), step(0, "stroke", Some(5)));
        assert_eq!(history.redo(8), step(4, "0 to 4", None));
        assert_eq!(history.redo(9), step(4, "clear", Some(3)));
        assert_eq!(history.undo(10), step(4, "clear", Some(9)));
    }

    #[test]
    fn the_oldest_entries_are_given_up() {
        let mut history = History::new(0);
        (1..=1000).for_each(|v| note(&mut history, v));
        assert_eq!(std::iter::from_fn(|| history.undo(0)).count(), MOST);
    }
}
