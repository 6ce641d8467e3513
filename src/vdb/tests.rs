use super::*;

/// Returns a box with random values at some voxels.
fn random(seed: u32, origin: [i32; 3], size: [usize; 3], share: u32) -> (Vec<f32>, Topology) {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    let count = size.iter().product::<usize>();
    let values: Vec<f32> = (0..count)
        .map(|_| if next() % 100 < share { (next() % 1024) as f32 / 64.0 + 0.25 } else { 0.0 })
        .collect();
    let topology = Topology::of_box(origin, size, |[i, j, k]| values[i + size[0] * (j + size[1] * k)] != 0.0);
    (values, topology)
}

#[test]
fn written_volumes_read_back() {
    let cases = [
        ([0; 3], [9, 17, 5], 40),
        ([-13, -4099, 4090], [20, 8, 12], 5),
        ([8, 16, -8], [8, 8, 8], 100),
        ([0; 3], [30, 2, 3], 0),
    ];
    for (seed, (origin, size, share)) in cases.into_iter().enumerate() {
        let (values, topology) = random(seed as u32, origin, size, share);
        let at = |p: [i32; 3]| {
            let [i, j, k] = [0, 1, 2].map(|a| (p[a] - origin[a]) as usize);
            values[i + size[0] * (j + size[1] * k)]
        };
        let vector = |p: [i32; 3]| [at(p), -at(p), 2.0 * at(p)];
        for (half, zip) in [(false, false), (false, true), (true, false), (true, true)] {
            let one = Grid { half, zip, ..Grid::new("density", 0.1, &topology, Values::Scalar(&at)) };
            let three = Grid { half, zip, ..Grid::new("vel", 0.1, &topology, Values::Vector(&vector)) };
            let mut file = Vec::new();
            write(&mut file, &[("frame", Meta::Int(7))], &[one.encode(), three.encode()]).unwrap();
            let reader = Reader::new(&file).unwrap();
            assert_eq!(reader.meta("frame"), Some(&Meta::Int(7)));
            assert_eq!(reader.names().collect::<Vec<_>>(), ["density", "vel"]);
            let density = reader.grid("density").unwrap();
            assert_eq!((density.scale, density.translation), ([0.1; 3], [0.05; 3]));
            assert_eq!(density.leaves().unwrap(), topology.leaves());
            assert_eq!(
                density.dense(origin, size).unwrap(),
                std::slice::from_ref(&values),
                "half {half}, zip {zip}"
            );
            let read = reader.grid("vel").unwrap().dense(origin, size).unwrap();
            assert_eq!(read[0], values);
            assert!(read[1].iter().zip(&read[2]).all(|(y, z)| *z == -2.0 * *y));
            // Outside the volume a box gets the background value.
            let far = density.dense(origin.map(|x| x - 3), size.map(|n| n + 5)).unwrap();
            assert_eq!(far[0].iter().filter(|x| **x != 0.0).count(), topology.count());
        }
    }
}

#[test]
fn the_same_content_gives_the_same_bytes() {
    let file = |x: f32| {
        let topology = Topology::of_box([0; 3], [4; 3], |_| true);
        let all = |_: [i32; 3]| x;
        let grid = Grid::new("density", 0.1, &topology, Values::Scalar(&all));
        let mut file = Vec::new();
        write(&mut file, &[], &[grid.encode()]).unwrap();
        file
    };
    assert_eq!(file(1.0), file(1.0));
    assert_ne!(file(1.0)[21..57], file(2.0)[21..57], "the UUID tells files apart");
}

#[test]
fn damaged_files_are_refused_and_nothing_panics() {
    let (values, topology) = random(3, [0; 3], [12; 3], 30);
    let at = |p: [i32; 3]| values[p[0] as usize + 12 * (p[1] as usize + 12 * p[2] as usize)];
    let mut file = Vec::new();
    let grid = Grid { half: false, ..Grid::new("density", 0.1, &topology, Values::Scalar(&at)) };
    write(&mut file, &[("creator", "me".into())], &[grid.encode()]).unwrap();
    let read =
        |bytes: &[u8]| Reader::new(bytes).and_then(|reader| reader.grid("density")?.dense([0; 3], [12; 3]));
    assert!(read(&file).is_ok());
    for cut in (0..file.len()).step_by(7) {
        assert!(read(&file[..cut]).is_err(), "cut at {cut}");
    }
    let mut state = 1u32;
    for _ in 0..3000 {
        let mut bytes = file.clone();
        for _ in 0..3 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Masks fill most of the file: half of the damage goes to its first 900 bytes.
            let place = if state & 1 == 0 { state as usize >> 8 } else { (state as usize >> 8) % 900 };
            bytes[place % file.len()] = (state >> 24) as u8;
        }
        let _ = read(&bytes);
    }
    assert!(read(b"PK\x03\x04 and so on").unwrap_err().to_string().contains("no OpenVDB"));
    let mut old = file.clone();
    old[8] = 200;
    assert!(read(&old).unwrap_err().to_string().contains("version 200"));
}

#[test]
fn a_file_written_in_pieces_has_the_bytes_of_one_written_at_once() {
    for (seed, (origin, size, share)) in
        [([-9, 120, 3], [20, 19, 30], 20), ([0; 3], [3, 4, 5], 0), ([-4099; 3], [12; 3], 100)]
            .into_iter()
            .enumerate()
    {
        let (values, topology) = random(seed as u32, origin, size, share);
        let at = |p: [i32; 3]| {
            let [i, j, k] = [0, 1, 2].map(|a| (p[a] - origin[a]) as usize);
            values[i + size[0] * (j + size[1] * k)]
        };
        let vector = |p: [i32; 3]| [at(p), -at(p), 0.5];
        for (half, zip) in [(false, false), (false, true), (true, true)] {
            let one = Grid { half, zip, ..Grid::new("density", 0.1, &topology, Values::Scalar(&at)) };
            let three = Grid { half, zip, ..Grid::new("vel", 0.1, &topology, Values::Vector(&vector)) };
            let metadata = [("creator", "me".into()), ("frame", Meta::Int(seed as i32))];
            let mut whole = Vec::new();
            write(&mut whole, &metadata, &[one.encode(), three.encode()]).unwrap();
            // The file begins after other bytes, and is written in pieces of uneven length.
            let mut file = std::io::Cursor::new(b"before".to_vec());
            file.set_position(6);
            let mut stream = Stream::begin(&mut file, &metadata, 2).unwrap();
            for grid in [&one, &three] {
                let fill = |put: &mut dyn FnMut(&[u8]) -> std::io::Result<()>| {
                    topology.nodes().try_for_each(|leaves| {
                        let blocks = grid.blocks(leaves);
                        assert_eq!(blocks.lengths.len(), leaves.len());
                        blocks.bytes.chunks(13).try_for_each(&mut *put)
                    })
                };
                stream.grid(grid, fill).unwrap();
            }
            stream.end().unwrap();
            assert!(file.into_inner()[6..] == whole, "seed {seed}, half {half}, zip {zip}");
        }
    }
}
