//! Snapshots to capture into while others are still read.

use std::sync::Arc;

use crate::grid::Dims;
use crate::snapshot::Snapshot;

/// Most snapshots that are kept for later.
const MOST: usize = 2;

/// Snapshots that were shared when their slot was needed.
#[derive(Default)]
pub(super) struct SpareSnapshots(Vec<Arc<Snapshot>>);

impl SpareSnapshots {
    /// The snapshot of `slot`, if nobody else reads it; otherwise another one that takes its place.
    pub fn writable<'s>(&mut self, slot: &'s mut Arc<Snapshot>) -> &'s mut Snapshot {
        if Arc::get_mut(slot).is_none() {
            let free = self.0.iter_mut().position(|spare| Arc::get_mut(spare).is_some());
            let other = free.map(|at| self.0.swap_remove(at));
            let one = Dims { nx: 1, ny: 1, nz: 1 };
            let other = other.unwrap_or_else(|| Arc::new(Snapshot::empty(one, 1.0)));
            self.0.push(std::mem::replace(slot, other));
            self.0.truncate(MOST);
        }
        Arc::get_mut(slot).expect("an unshared snapshot took its place")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_that_is_read_is_not_written_and_is_used_again_later() {
        let one = Dims { nx: 1, ny: 1, nz: 1 };
        let mut slot = Arc::new(Snapshot::empty(one, 1.0));
        let mut spares = SpareSnapshots::default();
        let first: *const Snapshot = spares.writable(&mut slot);
        let reader = slot.clone();
        spares.writable(&mut slot).serial = 7;
        assert_eq!(reader.serial, 0);
        drop(reader);
        let second = slot.clone();
        let third: *const Snapshot = spares.writable(&mut slot);
        assert!(third == first && second.serial == 7);
    }

    #[test]
    fn few_snapshots_are_kept_however_many_are_read() {
        let one = Dims { nx: 1, ny: 1, nz: 1 };
        let mut slot = Arc::new(Snapshot::empty(one, 1.0));
        let mut spares = SpareSnapshots::default();
        let readers = [(); 9].map(|()| {
            spares.writable(&mut slot);
            slot.clone()
        });
        drop(readers);
        assert!(spares.0.len() <= MOST);
    }
}
