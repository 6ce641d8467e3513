//! The lines of a scene around an error, with its place marked.
//!
//! ```text
//!     ,-[s.toml:2:1]
//!   1 | [fluid]
//!   2 | vorticty = 0.5
//!     : ^^^^^^^^
//!     `----
//! ```
//!
//! Long lines are cut around the place. Control characters of a scene are escaped.

use crate::foreign::{shortened, visible};
use crate::scene::Problem;

/// Greatest number of characters of a line.
const WIDTH: usize = 100;

/// Characters before the place in a line that is cut.
const BEFORE: usize = 30;

/// Formats the lines around the place of `problem`.
pub fn of(problem: &Problem, unicode: bool, coloured: bool) -> String {
    let [corner, foot, bar, dots, mark] = if unicode {
        ["╭─", "╰────", "│", "·", "─"]
    } else {
        [",-", "`----", "|", ":", "^"]
    };
    let (dim, bright, plain) =
        if coloured { ("\u{1b}[2m", "\u{1b}[35;1m", "\u{1b}[0m") } else { ("", "", "") };
    let digits = (problem.line + 1).to_string().len();
    let place = format!("{}:{}:{}", visible(&shortened(problem.name(), 80)), problem.line, problem.column);
    let mut shown = format!("{:digits$} {dim}  {corner}[{plain}{place}{dim}]{plain}\n", "");
    let from = problem.column.saturating_sub(BEFORE + 1);
    for (number, line) in problem.around() {
        let at_place = number == problem.line;
        // All three lines are cut at the same column, so they stay aligned.
        let (part, lead) = window(line, from);
        shown += &format!("{dim} {number:>digits$} {bar}{plain} {part}\n").replace(" \n", "\n");
        if at_place {
            let before = lead
                + visible(&line.chars().skip(from).take(problem.column - 1 - from).collect::<String>())
                    .chars()
                    .count();
            let marked: String = line.chars().skip(problem.column - 1).take(problem.width()).collect();
            let room = (WIDTH + BEFORE).saturating_sub(before).max(1);
            let width = visible(&marked).chars().count().clamp(1, room);
            let pad = " ".repeat(before);
            shown +=
                &format!("{:digits$} {dim} {dots}{plain} {pad}{bright}{}{plain}\n", "", mark.repeat(width));
        }
    }
    shown + &format!("{:digits$} {dim}  {foot}{plain}\n", "")
}

/// Cuts a line to the part from the character `from` on. Also returns the number of characters before that
/// one in the part.
fn window(line: &str, from: usize) -> (String, usize) {
    let mut rest = line.chars().skip(from);
    let part: String = rest.by_ref().take(WIDTH).collect();
    let (head, tail) = (if from > 0 { "… " } else { "" }, if rest.next().is_some() { " …" } else { "" });
    (format!("{head}{}{tail}", visible(&part)), head.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str, at: usize, length: usize) -> Problem {
        Problem::new("s.toml", text, at..at + length, "no".into())
    }

    #[test]
    fn the_place_is_marked_below_its_line() {
        let text = "[fluid]\nvorticty = 0.5\nb = 1\nc = 2\n";
        let shown = of(&problem(text, 8, 8), false, false);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[0], "    ,-[s.toml:2:1]");
        assert_eq!(
            lines[1..4],
            [" 1 | [fluid]", " 2 | vorticty = 0.5", "   : ^^^^^^^^"].map(|l| l.to_owned())
        );
        assert_eq!(lines[4..], [" 3 | b = 1", "    `----"].map(|l| l.to_owned()));
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = format!("a = [{}x]", " ".repeat(70_000));
        let shown = of(&problem(&text, text.len() - 2, 1), true, false);
        assert!(shown.contains("x]") && shown.len() < 1000, "{shown}");
        let (line, mark) = (shown.lines().nth(1).unwrap(), shown.lines().nth(2).unwrap());
        let column = |line: &str, c: char| line.chars().position(|x| x == c);
        assert_eq!(column(line, 'x'), column(mark, '─'), "{shown}");
        let wide = "\u{1b}".repeat(70_000);
        assert!(of(&problem(&wide, 10, 60_000), false, true).len() < 3000);
    }

    #[test]
    fn control_characters_are_escaped() {
        let shown = of(&problem("a = \"\u{1b}[31m\u{7}\"\n", 4, 3), false, false);
        assert!(!shown.contains(['\u{1b}', '\u{7}']) && shown.contains("\\u{1b}[31m"), "{shown}");
    }
}
