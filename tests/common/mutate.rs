//! Random changes of inputs, for the tests of hostile files.

#[path = "chance.rs"]
mod chance;

pub use chance::Chance;

/// Words that are likely to cause errors.
const WORDS: &[&[u8]] = &[
    b"nan",
    b"inf",
    b"-inf",
    b"1e308",
    b"-1e308",
    b"1e-308",
    b"-0.0",
    b"0",
    b"-1",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"18446744073709551616",
    b"4294967295",
    b"[",
    b"]",
    b"{",
    b"}",
    b"(",
    b")",
    b"\"",
    b"'",
    b"=",
    b".",
    b",",
    b"\n",
    b"\0",
    b"\x1b[31m",
    b"\xff\xff\xff\xff",
    b"\0\0\0\0",
    b"\xef\xbb\xbf",
    b"\\u0007",
    b"^",
    b"if(",
];

/// Returns `seed` changed in one to eight places.
pub fn mutated(seed: &[u8], others: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=chance.below(8) {
        let at = chance.below(bytes.len() + 1);
        let end = (at + 1 + chance.below(16)).min(bytes.len());
        match chance.below(9) {
            0 if at < bytes.len() => bytes[at] ^= 1 << chance.below(8),
            1 if at < bytes.len() => bytes[at] = chance.next() as u8,
            2 => drop(bytes.splice(at..at, chance.one(WORDS).iter().copied())),
            3 => drop(bytes.drain(at..end.max(at))),
            4 => {
                let part = bytes[at..end.max(at)].to_vec();
                let times = 1 + chance.below(40);
                drop(bytes.splice(at..at, part.repeat(times)));
            }
            5 => {
                let other = &others[chance.below(others.len())];
                let from = chance.below(other.len() + 1);
                let to = (from + chance.below(64)).min(other.len());
                drop(bytes.splice(at..at, other[from..to].iter().copied()));
            }
            6 => drop(bytes.splice(at..end.max(at), chance.one(WORDS).iter().copied())),
            7 => bytes.truncate(at),
            _ => {
                // Replaces a number by another.
                if let Some(digit) = bytes[at..].iter().position(u8::is_ascii_digit) {
                    let from = at + digit;
                    let length =
                        bytes[from..].iter().take_while(|c| c.is_ascii_digit() || **c == b'.').count();
                    drop(bytes.splice(from..from + length, chance.one(&WORDS[..13]).iter().copied()));
                }
            }
        }
        // Unlimited growth would only take time.
        bytes.truncate(200_000);
    }
    bytes
}
