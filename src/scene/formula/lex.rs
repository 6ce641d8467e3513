//! Lexer of formulas: numbers, names and signs, each with its place.

use std::ops::Range;

use super::Fault;

/// A token of a formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token<'t> {
    Number(f64),
    Name(&'t str),
    /// An operator, a parenthesis or a comma.
    Sign(&'t str),
}

/// A token and its bytes.
pub type Placed<'t> = (Token<'t>, Range<usize>);

/// Signs; of two with the same beginning the longer comes first.
const SIGNS: &[&str] = &["<=", ">=", "<", ">", "+", "-", "*", "/", "^", "(", ")", ","];

/// Splits `text` into tokens.
pub fn tokens(text: &str) -> Result<Vec<Placed<'_>>, Fault> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (token, length) = token(&text[at..]).map_err(|(length, message)| Fault {
            definition: None,
            at: at..at + length,
            message,
        })?;
        tokens.push((token, at..at + length));
        at += length;
    }
    Ok(tokens)
}

/// Reads the first token of `text` and its length.
fn token(text: &str) -> Result<(Token<'_>, usize), (usize, String)> {
    let first = text.chars().next().unwrap_or(' ');
    if first.is_ascii_digit() || first == '.' {
        let length = number_length(text.as_bytes());
        let word = &text[..length];
        return match word.parse() {
            Ok(number) => Ok((Token::Number(number), length)),
            Err(_) => Err((length, format!("`{word}` is not a number"))),
        };
    }
    if first.is_ascii_alphabetic() || first == '_' {
        let length = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
        return Ok((Token::Name(&text[..length]), length));
    }
    match SIGNS.iter().find(|sign| text.starts_with(**sign)) {
        Some(sign) => Ok((Token::Sign(sign), sign.len())),
        None => Err((first.len_utf8(), unexpected(first))),
    }
}

fn unexpected(first: char) -> String {
    match first {
        '=' | '!' => "values are compared with <, <=, > and >=".into(),
        _ => format!("`{first}` means nothing in a formula"),
    }
}

/// Returns the length in bytes of the number at the start of `text`: `12`, `.5`, `1.5e-3`.
fn number_length(text: &[u8]) -> usize {
    let digits = |from: usize| text[from..].iter().take_while(|c| c.is_ascii_digit() || **c == b'.').count();
    let mantissa = digits(0);
    let sign = mantissa + 1 + usize::from(matches!(text.get(mantissa + 1), Some(b'+' | b'-')));
    match text.get(mantissa) {
        Some(b'e' | b'E') if text.get(sign).is_some_and(u8::is_ascii_digit) => sign + digits(sign),
        _ => mantissa,
    }
}
