//! Recursive-descent parser from tokens to a program:
//!
//! ```text
//! comparison = sum [("<" | "<=" | ">" | ">=") sum]
//! sum        = product {("+" | "-") product}
//! product    = sign {("*" | "/") sign}
//! sign       = ["-" | "+"] sign | power
//! power      = atom ["^" sign]
//! atom       = number | name | name "(" comparison {"," comparison} ")" | "(" comparison ")"
//! ```

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::scene_error::closest;
use super::lex::{Placed, Token, tokens};
use super::{AXES, BINARY, CONSTANTS, Fault, Formula, Op, TIME, UNARY};

/// Definitions: names that a formula may use, with their texts.
pub type Definitions = BTreeMap<String, String>;

/// Deepest nesting of parentheses, signs and definitions.
const DEEPEST: usize = 64;

/// Greatest number of instructions of a formula, with those of the definitions that it uses.
const LONGEST: usize = 10_000;

const NAMES: [&str; AXES] = ["x", "y", "z"];

/// First slot of the definitions' values.
const DEFINED: usize = TIME + 1;

type Result<T> = std::result::Result<T, Fault>;

/// Parses the formula `text`, which may use the names of `definitions`. Also returns the names that it uses.
///
/// # Errors
/// The first error in it, or in a definition that it uses.
pub fn parse<'d>(text: &str, definitions: &'d Definitions) -> Result<(Formula, Vec<&'d str>)> {
    read(text, definitions, false)
}

/// Parses the formula `text`, which may use the time `t`.
///
/// # Errors
/// The first error in it.
pub fn parse_in_time(text: &str) -> Result<Formula> {
    Ok(read(text, &Definitions::new(), true)?.0)
}

fn read<'d>(text: &str, definitions: &'d Definitions, knows_time: bool) -> Result<(Formula, Vec<&'d str>)> {
    let mut program =
        Program { definitions, knows_time, code: vec![], slots: vec![], open: vec![], level: 0 };
    program.define(text)?;
    let Program { code, slots, .. } = program;
    let used = |axis: usize| code.contains(&Op::Load(axis));
    let uses = std::array::from_fn(used);
    let mut height = 0;
    let depth = code.iter().map(|op| {
        height += op.growth();
        height as usize
    });
    let depth = depth.max().unwrap_or(0);
    Ok((Formula { depth, slots: DEFINED + slots.len(), uses, code }, slots))
}

/// Checks that a definition may be called `name`.
///
/// # Errors
/// If the name is not a single word, or already has a meaning.
pub fn check_name(name: &str) -> std::result::Result<(), String> {
    let is_word = matches!(tokens(name).as_deref(), Ok([(Token::Name(word), _)]) if *word == name);
    if !is_word {
        return Err(format!("`{name}` cannot be used in a formula; a name has letters, digits and _"));
    }
    let taken = NAMES.contains(&name) || is_function(name) || position(CONSTANTS, name).is_some();
    if taken { Err(format!("`{name}` means something already; call it otherwise")) } else { Ok(()) }
}

/// The instructions so far.
struct Program<'d> {
    definitions: &'d Definitions,
    /// Whether `t` is the time.
    knows_time: bool,
    code: Vec<Op>,
    /// Definitions whose values are stored, in the order of their slots.
    slots: Vec<&'d str>,
    /// Definitions being parsed, each used by the one before it.
    open: Vec<&'d str>,
    level: usize,
}

impl<'d> Program<'d> {
    /// Appends the instructions of `text`.
    fn define(&mut self, text: &str) -> Result<()> {
        let definition = self.open.last().map(|name| (*name).to_owned());
        let here =
            |fault: Fault| Fault { definition: fault.definition.or_else(|| definition.clone()), ..fault };
        let words = tokens(text).map_err(here)?;
        let mut reader = Reader { program: self, words: &words, next: 0, end: text.len() };
        reader.all().map_err(here)
    }

    /// Appends the value of a definition: computed at its first use, then loaded from its slot.
    fn name(&mut self, name: &str) -> Result<bool> {
        if let Some(slot) = self.slots.iter().position(|known| *known == name) {
            self.code.push(Op::Load(DEFINED + slot));
            return Ok(true);
        }
        let Some((name, text)) = self.definitions.get_key_value(name) else { return Ok(false) };
        self.open.push(name);
        self.define(text)?;
        self.open.pop();
        self.code.push(Op::Keep(DEFINED + self.slots.len()));
        self.slots.push(name);
        Ok(true)
    }
}

/// The tokens of one text while they are parsed.
struct Reader<'r, 'd, 't> {
    program: &'r mut Program<'d>,
    words: &'r [Placed<'t>],
    next: usize,
    /// End of the text.
    end: usize,
}

impl<'t> Reader<'_, '_, 't> {
    fn all(&mut self) -> Result<()> {
        self.comparison()?;
        match self.words.get(self.next) {
            None => Ok(()),
            Some((Token::Sign(sign @ ("<" | "<=" | ">" | ">=")), at)) => {
                Err(fault(at, format!("`{sign}` compares two values; write (a < b) * (b < c) for three")))
            }
            Some((Token::Sign(")"), at)) => Err(fault(at, "this parenthesis was never opened".into())),
            Some((_, at)) => Err(fault(at, "an operator such as * is missing before this".into())),
        }
    }

    fn comparison(&mut self) -> Result<()> {
        self.sum()?;
        match self.sign(&["<", "<=", ">", ">="]) {
            Some(sign) => {
                self.sum()?;
                self.two(sign)
            }
            None => Ok(()),
        }
    }

    fn sum(&mut self) -> Result<()> {
        self.product()?;
        while let Some(sign) = self.sign(&["+", "-"]) {
            self.product()?;
            self.two(sign)?;
        }
        Ok(())
    }

    fn product(&mut self) -> Result<()> {
        self.signed()?;
        while let Some(sign) = self.sign(&["*", "/"]) {
            self.signed()?;
            self.two(sign)?;
        }
        Ok(())
    }

    /// Parses a signed value. Every value and every nesting passes through here, so length and depth are
    /// checked here.
    fn signed(&mut self) -> Result<()> {
        let at = self.place();
        if self.program.code.len() > LONGEST {
            return Err(fault(&at, format!("more than {LONGEST} values and operators; shorten it")));
        }
        self.program.level += 1;
        if self.program.level > DEEPEST {
            return Err(fault(&at, format!("more than {DEEPEST} levels; define parts of it in initial.let")));
        }
        match self.sign(&["-", "+"]) {
            Some("-") => {
                self.signed()?;
                self.program.code.push(Op::One(index(UNARY, "-")));
            }
            Some(_) => self.signed()?,
            None => self.power()?,
        }
        self.program.level -= 1;
        Ok(())
    }

    fn power(&mut self) -> Result<()> {
        self.atom()?;
        match self.sign(&["^"]) {
            Some(sign) => {
                self.signed()?;
                self.two(sign)
            }
            None => Ok(()),
        }
    }

    fn atom(&mut self) -> Result<()> {
        let at = self.place();
        match self.words.get(self.next).map(|word| word.0) {
            Some(Token::Number(number)) => {
                self.next += 1;
                self.program.code.push(Op::Number(number));
                Ok(())
            }
            Some(Token::Name(name)) => {
                self.next += 1;
                match self.sign(&["("]) {
                    Some(_) => self.call(name, &at),
                    None => self.name(name, &at),
                }
            }
            Some(Token::Sign("(")) => {
                self.next += 1;
                self.comparison()?;
                self.close(&at)
            }
            Some(Token::Sign(sign)) => Err(fault(&at, format!("a value is missing before `{sign}`"))),
            None => Err(fault(&at, "a value is missing at the end".into())),
        }
    }

    fn name(&mut self, name: &str, at: &Range<usize>) -> Result<()> {
        if let Some(axis) = NAMES.iter().position(|axis| *axis == name) {
            self.program.code.push(Op::Load(axis));
            return Ok(());
        }
        if self.program.knows_time && name == "t" {
            self.program.code.push(Op::Load(TIME));
            return Ok(());
        }
        if self.program.open.contains(&name) {
            return Err(fault(at, format!("`{name}` is defined by itself")));
        }
        if self.program.name(name)? {
            return Ok(());
        }
        match CONSTANTS.iter().find(|constant| constant.0 == name) {
            Some((_, number)) => self.program.code.push(Op::Number(*number)),
            None => return Err(self.unknown(name, at)),
        }
        Ok(())
    }

    fn unknown(&self, name: &str, at: &Range<usize>) -> Fault {
        if is_function(name) {
            return fault(at, format!("`{name}` is a function; write {name}(…)"));
        }
        let defined = self.program.definitions.keys().map(String::as_str);
        let known: Vec<&str> =
            NAMES.into_iter().chain(CONSTANTS.iter().map(|c| c.0)).chain(defined).collect();
        let hint = match closest(name, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if self.program.knows_time => format!("known here: {} and t", known.join(", ")),
            None => format!("known here: {}, and what initial.let defines", known.join(", ")),
        };
        fault(at, format!("unknown name `{name}`; {hint}"))
    }

    /// Parses a call whose parenthesis is open.
    fn call(&mut self, name: &str, at: &Range<usize>) -> Result<()> {
        let mut given = 0;
        while self.sign(&[")"]).is_none() {
            if given > 0 && self.sign(&[","]).is_none() {
                let message = format!("a comma or the closing parenthesis of {name}(…) is missing");
                return Err(fault(&self.place(), message));
            }
            self.comparison()?;
            given += 1;
        }
        let find = |name: &str| (position(UNARY, name), position(BINARY, name));
        let (op, wanted) = match (name, find(name)) {
            ("if", _) => (Op::Pick, 3),
            (_, (Some(f), _)) => (Op::One(f), 1),
            (_, (_, Some(f))) => (Op::Two(f), 2),
            _ => return Err(unknown_function(name, at)),
        };
        if given != wanted {
            let what = if wanted == 1 { "1 value".into() } else { format!("{wanted} values") };
            return Err(fault(at, format!("`{name}` takes {what}, not {given}")));
        }
        self.program.code.push(op);
        Ok(())
    }

    fn close(&mut self, opened: &Range<usize>) -> Result<()> {
        match self.sign(&[")"]) {
            Some(_) => Ok(()),
            None => Err(fault(opened, "this parenthesis is never closed".into())),
        }
    }

    /// Consumes the next token if it is one of these signs.
    fn sign(&mut self, any: &[&str]) -> Option<&'t str> {
        match self.words.get(self.next) {
            Some((Token::Sign(sign), _)) if any.contains(sign) => {
                self.next += 1;
                Some(*sign)
            }
            _ => None,
        }
    }

    fn two(&mut self, sign: &str) -> Result<()> {
        self.program.code.push(Op::Two(index(BINARY, sign)));
        Ok(())
    }

    /// Returns the bytes of the next token.
    fn place(&self) -> Range<usize> {
        self.words.get(self.next).map_or(self.end..self.end, |word| word.1.clone())
    }
}

fn fault(at: &Range<usize>, message: String) -> Fault {
    Fault { definition: None, at: at.clone(), message }
}

fn unknown_function(name: &str, at: &Range<usize>) -> Fault {
    let words = functions();
    let hint = match closest(name, words.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("known here: {}", words.join(", ")),
    };
    fault(at, format!("unknown function `{name}`; {hint}"))
}

fn is_function(name: &str) -> bool {
    functions().contains(&name)
}

/// Returns the names of all functions.
fn functions() -> Vec<&'static str> {
    let names = UNARY.iter().map(|f| f.0).chain(BINARY.iter().map(|f| f.0));
    names.filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic())).chain(["if"]).collect()
}

fn position<F>(table: &[(&str, F)], name: &str) -> Option<usize> {
    table.iter().position(|entry| entry.0 == name)
}

fn index<F>(table: &[(&str, F)], name: &str) -> usize {
    position(table, name).expect("an operator of the table")
}
