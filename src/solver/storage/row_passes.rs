//! Passes over the rows of the grid on the threads of the current pool.
//!
//! Units of work are fixed by the grid, never by the number of threads, and sums are added in the order of
//! the units. So results have the same bits for any number of threads.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

use rayon::prelude::*;

use crate::grid::{GHOST, Layout};
use crate::simd::fence;

/// Rows in one unit of work.
const ROWS: usize = 16;
/// Fewest planes of one task, see [`planes_per_task`].
const FEWEST: usize = 4;

/// Planes per task of a pass over `count` planes: an even share for each thread, at least four and at most `most`. Each task
/// recomputes planes at its start, so long tasks are cheaper.
pub fn planes_per_task(count: usize, most: usize) -> usize {
    count.div_ceil(rayon::current_num_threads()).clamp(FEWEST, most)
}

/// The units of work that hold rows of the planes `ks`: the first, and the positions of their values.
fn units(layout: Layout, ks: [isize; 2]) -> (usize, Range<usize>) {
    let first = |k: isize| (k + GHOST as isize) as usize * (layout.plane / layout.row);
    let (from, to) = (first(ks[0]) / ROWS, first(ks[1]).div_ceil(ROWS));
    (from, layout.row * ROWS * from..(layout.row * ROWS * to).min(layout.size()))
}

/// Calls `f(j, k, row)` for each row of `out` with j and k in the given half-open ranges, of the planes that `layout` computes. The row
/// includes its ghosts.
pub fn rows<T: Send>(
    layout: Layout,
    out: &mut [T],
    [js, ks]: [[isize; 2]; 2],
    f: impl Fn(isize, isize, &mut [T]) + Sync,
) {
    let ks = layout.within(ks);
    let (first, part) = units(layout, layout.planes());
    out[part].par_chunks_mut(layout.row * ROWS).enumerate().for_each(|(unit, chunk)| {
        for (r, row) in chunk.chunks_exact_mut(layout.row).enumerate() {
            let [j, k] = layout.row_at((first + unit) * ROWS + r);
            if (js[0]..js[1]).contains(&j) && (ks[0]..ks[1]).contains(&k) {
                f(j, k, row);
            }
        }
        // Some kernels use streaming stores.
        fence();
    });
}

/// As [`rows`], over two fields at once.
pub fn rows2<T: Send>(
    layout: Layout,
    [a, b]: [&mut [T]; 2],
    [js, ks]: [[isize; 2]; 2],
    f: impl Fn(isize, isize, [&mut [T]; 2]) + Sync,
) {
    let size = layout.row * ROWS;
    let ks = layout.within(ks);
    let (first, part) = units(layout, layout.planes());
    let [a, b] = [a, b].map(|field| field[part.clone()].par_chunks_mut(size));
    a.zip(b).enumerate().for_each(|(unit, (a, b))| {
        let of_two = a.chunks_exact_mut(layout.row).zip(b.chunks_exact_mut(layout.row));
        for (r, (a, b)) in of_two.enumerate() {
            let [j, k] = layout.row_at((first + unit) * ROWS + r);
            if (js[0]..js[1]).contains(&j) && (ks[0]..ks[1]).contains(&k) {
                f(j, k, [a, b]);
            }
        }
    });
}

/// As [`rows`], over three fields at once.
pub fn rows3<T: Send>(
    layout: Layout,
    [a, b, c]: [&mut [T]; 3],
    [js, ks]: [[isize; 2]; 2],
    f: impl Fn(isize, isize, [&mut [T]; 3]) + Sync,
) {
    let size = layout.row * ROWS;
    let ks = layout.within(ks);
    let (first, part) = units(layout, layout.planes());
    let [a, b, c] = [a, b, c].map(|field| field[part.clone()].par_chunks_mut(size));
    let chunks = a.zip(b).zip(c);
    chunks.enumerate().for_each(|(unit, ((a, b), c))| {
        let of_three = a
            .chunks_exact_mut(layout.row)
            .zip(b.chunks_exact_mut(layout.row))
            .zip(c.chunks_exact_mut(layout.row));
        for (r, ((a, b), c)) in of_three.enumerate() {
            let [j, k] = layout.row_at((first + unit) * ROWS + r);
            if (js[0]..js[1]).contains(&j) && (ks[0]..ks[1]).contains(&k) {
                f(j, k, [a, b, c]);
            }
        }
    });
}

/// Calls `f(partial, j, k)` for each row inside, with one partial result for each plane, in parallel over
/// the planes that `layout` computes. [`Ranks::gather`](super::ranks::Ranks::gather) brings those of the others.
pub fn reduce<R: Send + Default>(
    layout: Layout,
    partials: &mut [R],
    f: impl Fn(&mut R, usize, usize) + Sync,
) {
    let [from, to] = layout.cell_planes();
    partials[from..to].par_iter_mut().enumerate().for_each(|(k, partial)| {
        let k = from + k;
        *partial = R::default();
        for j in 0..layout.dims.ny {
            f(partial, j, k);
        }
    });
}

/// Replaces the contents of `list` by `items`.
pub fn refill<T>(list: &mut Vec<T>, items: impl Iterator<Item = T>) {
    list.clear();
    list.extend(items);
    leave_room(list);
}

/// Reserves as much memory again in a list that each step refills, so that a solid that cuts some more faces
/// than before allocates nothing.
pub fn leave_room<T>(list: &mut Vec<T>) {
    const LEAST: usize = 512;
    // No need while there is room for a quarter more.
    if list.capacity() < (list.len() + list.len() / 4).max(LEAST) {
        list.reserve(list.len().max(LEAST));
    }
}

/// Scratch memory for each thread of the pool, allocated once.
pub struct PerThread<T>(Vec<Mutex<T>>);

impl<T> PerThread<T> {
    /// Calls `make()` once for each of the `threads` of a pool.
    pub fn new(threads: usize, make: impl Fn() -> T) -> Self {
        Self((0..threads).map(|_| Mutex::new(make())).collect())
    }

    /// Returns this thread's scratch, with the contents of its last use.
    pub fn mine(&self) -> MutexGuard<'_, T> {
        let me = rayon::current_thread_index().unwrap_or(0);
        self.0[me].lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A field that several threads change at once, in disjoint parts.
pub struct Shared<'a, T> {
    data: *mut T,
    len: usize,
    owner: std::marker::PhantomData<&'a mut [T]>,
}

// SAFETY: `part` returns only disjoint parts, by its callers' promise.
#[allow(unsafe_code)]
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    /// Shares `data` for as long as it is borrowed.
    pub fn new(data: &'a mut [T]) -> Self {
        Self { data: data.as_mut_ptr(), len: data.len(), owner: std::marker::PhantomData }
    }

    /// Address of the value at `at`, which may lie beyond the field, for prefetching.
    pub fn address(&self, at: usize) -> *const T {
        self.data.wrapping_add(at).cast_const()
    }

    /// Returns the values `at..at + count`.
    ///
    /// # Safety
    /// No two parts that are alive at once may overlap, on this thread or another.
    #[allow(unsafe_code, clippy::mut_from_ref)]
    pub unsafe fn part(&self, at: usize, count: usize) -> &mut [T] {
        assert!(at.checked_add(count).is_some_and(|end| end <= self.len), "a part outside the field");
        // SAFETY: inside the slice that `new` borrows; by the contract of this function no other part
        // overlaps.
        unsafe { std::slice::from_raw_parts_mut(self.data.add(at), count) }
    }
}
