//! Compares values with the same formulas in Rust, and checks the text of every error.

use super::*;

fn definitions(list: &[(&str, &str)]) -> Definitions {
    list.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn parse(text: &str, definitions: &Definitions) -> Result<Formula, Fault> {
    super::parse(text, definitions).map(|(formula, _)| formula)
}

fn value(text: &str, at: [f64; 3]) -> f64 {
    let formula = parse(text, &definitions(&[("r", "sqrt(x^2 + y^2)"), ("double", "2 * r"), ("k", "3")]));
    let formula = formula.unwrap_or_else(|fault| panic!("{text}: {fault:?}"));
    let wide = at.map(|x| [x; WIDTH]);
    formula.evaluate(wide.each_ref(), &mut Scratch::default())[7]
}

#[test]
fn formulas_follow_the_notation_of_mathematics() {
    let cases = [
        ("1 + 2 * 3 - 4 / 8", 6.5),
        ("-2^2", -4.0),
        ("2^3^2", 512.0),
        ("2^-1", 0.5),
        ("--3 - -2", 5.0),
        ("(1 + 2) * 3", 9.0),
        ("1.5e-3 * .5E3", 0.75),
        ("2 * pi + e", std::f64::consts::TAU + std::f64::consts::E),
        ("sin(x) * cos(y) + tanh(z)", 3f64.sin() * 4f64.cos() + 0.5f64.tanh()),
        ("min(x, max(y, z)) + abs(-z) + sqrt(y)", 5.5),
        ("atan2(y, x) + exp(-z) + ln(x)", 4f64.atan2(3.0) + (-0.5f64).exp() + 3f64.ln()),
        ("mod(-1, 3) + floor(2.7)", 4.0),
        ("(x < y) + 10 * (x >= y)", 1.0),
        ("x < 2 * y", 1.0),
        ("if(x > y, 1, if(z <= 0.5, 7, 8))", 7.0),
        ("r + double + r * k", 30.0),
    ];
    for (text, wanted) in cases {
        let got = value(text, [3.0, 4.0, 0.5]);
        assert!((got - wanted).abs() < 1e-12, "{text} = {got}, not {wanted}");
    }
}

#[test]
fn each_point_has_its_own_value() {
    let formula = parse("if(x < 10, x * y, k)", &definitions(&[("k", "x + z")])).unwrap();
    let x: Wide = std::array::from_fn(|n| n as f64);
    let values = *formula.evaluate([&x, &[2.0; WIDTH], &[0.5; WIDTH]], &mut Scratch::default());
    assert!((0..WIDTH).all(|n| values[n] == if n < 10 { 2.0 * n as f64 } else { n as f64 + 0.5 }));
    assert_eq!(formula.uses(), [true; 3]);
    assert_eq!(parse("k * y", &definitions(&[("k", "2")])).unwrap().uses(), [false, true, false]);
}

#[test]
fn an_error_names_its_place_and_cause() {
    let cases = [
        ("", 0..0, "a value is missing at the end"),
        ("1 +", 3..3, "a value is missing at the end"),
        ("1 + * 2", 4..5, "a value is missing before `*`"),
        ("2 x", 2..3, "an operator such as * is missing"),
        ("(1 + 2", 0..1, "this parenthesis is never closed"),
        ("1 + 2)", 5..6, "this parenthesis was never opened"),
        ("sqr(x)", 0..3, "unknown function `sqr`; did you mean `sqrt`?"),
        ("1 + theta", 4..9, "unknown name `theta`; known here: x, y, z, pi, e, own"),
        ("ownn", 0..4, "did you mean `own`?"),
        ("sin + 1", 0..3, "`sin` is a function; write sin(…)"),
        ("min(1)", 0..3, "`min` takes 2 values, not 1"),
        ("sin()", 0..3, "`sin` takes 1 value, not 0"),
        ("min(1 2)", 6..7, "a comma or the closing parenthesis of min(…) is missing"),
        ("x == 1", 2..3, "compared with <, <=, > and >="),
        ("1 < x < 2", 6..7, "write (a < b) * (b < c)"),
        ("1.2.3", 0..5, "`1.2.3` is not a number"),
        ("x § y", 2..4, "`§` means nothing"),
        ("own", 0..3, "`own` is defined by itself"),
    ];
    for (text, at, wanted) in cases {
        let fault = parse(text, &definitions(&[("own", "own")])).unwrap_err();
        assert!(fault.message.contains(wanted), "{text:?}: {}", fault.message);
        assert_eq!(fault.at, at, "{text:?}: {}", fault.message);
    }
}

#[test]
fn an_error_in_a_definition_names_it() {
    let fault = parse("1 + a", &definitions(&[("a", "b"), ("b", "2 +")])).unwrap_err();
    assert_eq!((fault.definition.as_deref(), fault.at), (Some("b"), 3..3));
    let round = parse("a", &definitions(&[("a", "1 + b"), ("b", "a")])).unwrap_err();
    assert_eq!((round.definition.as_deref(), round.at), (Some("b"), 0..1));
}

#[test]
fn depth_is_bounded() {
    let deep = format!("{}1{}", "(".repeat(5000), ")".repeat(5000));
    assert!(parse(&deep, &Definitions::new()).unwrap_err().message.contains("more than 64 levels"));
    let chain: Definitions = (0..5000).map(|n| (format!("a{n}"), format!("a{}", n + 1))).collect();
    assert!(parse("a0", &chain).unwrap_err().message.contains("more than 64 levels"));
}

#[test]
fn length_is_bounded() {
    let sum = |terms: usize| format!("x{}", "+x".repeat(terms - 1));
    assert_eq!(parse(&sum(5000), &Definitions::new()).unwrap().length(), 9999);
    let fault = parse(&sum(200_000), &Definitions::new()).unwrap_err();
    assert_eq!(fault.message, "more than 10000 values and operators; shorten it");
    let long = sum(4000);
    let parts = definitions(&[("a", long.as_str()), ("b", long.as_str())]);
    let fault = parse("a + b", &parts).unwrap_err();
    assert_eq!(fault.definition.as_deref(), Some("b"));
    let many = format!("min({}1)", "1, ".repeat(200_000));
    assert!(parse(&many, &Definitions::new()).unwrap_err().message.contains("more than 10000"));
}

proptest::proptest! {
    #[test]
    fn no_formula_makes_the_parser_panic(text in "[xyzk0-9.e,<>=()*/^+ -]{0,40}") {
        if let Ok(formula) = parse(&text, &definitions(&[("k", "x * y")])) {
            formula.evaluate([&[0.5; WIDTH]; 3], &mut Scratch::default());
        }
    }
}

#[test]
fn a_formula_names_the_definitions_that_it_uses_through_others_too() {
    let list = definitions(&[("a", "2 * b"), ("b", "x"), ("c", "a")]);
    let (_, mut names) = super::parse("a + y", &list).unwrap();
    names.sort_unstable();
    assert_eq!(names, ["a", "b"]);
}
