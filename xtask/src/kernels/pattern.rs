//! Regular expressions, as many of them as rules of instructions need: `|`, groups, classes, `.`, `*`, `+`, `?`, `^`,
//! `$`, `\s`, `\d`, `\w`, `\b`, and `\` before anything that is meant as it is.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

/// A regular expression.
#[derive(Debug)]
pub struct Pattern {
    text: String,
    alternatives: Vec<Sequence>,
}

type Sequence = Vec<Item>;

#[derive(Debug)]
struct Item {
    piece: Piece,
    least: usize,
    most: usize,
}

#[derive(Debug)]
enum Piece {
    Start,
    End,
    WordEdge,
    Any,
    One(char),
    /// Any of these, from and to; or any other.
    Class(bool, Vec<(char, char)>),
    Group(Vec<Sequence>),
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Pattern {
    /// Reads an expression; it fails, in words, when it is none.
    pub fn new(text: &str) -> Result<Self, String> {
        let mut rest = text.chars().peekable();
        let alternatives = alternatives(&mut rest);
        match (alternatives, rest.next()) {
            (Some(alternatives), None) => Ok(Self { text: text.to_owned(), alternatives }),
            _ => Err(format!("`{text}` is no pattern")),
        }
    }

    /// Whether it matches anywhere in a line.
    pub fn is_in(&self, line: &str) -> bool {
        let line: Vec<char> = line.chars().collect();
        (0..=line.len()).any(|at| any_matches(&self.alternatives, &line, at, &|_| true))
    }
}

fn alternatives(rest: &mut Peekable<Chars>) -> Option<Vec<Sequence>> {
    let mut all = vec![sequence(rest)?];
    while rest.next_if_eq(&'|').is_some() {
        all.push(sequence(rest)?);
    }
    Some(all)
}

fn sequence(rest: &mut Peekable<Chars>) -> Option<Sequence> {
    let mut items = Vec::new();
    while let Some(first) = rest.next_if(|c| !matches!(c, '|' | ')')) {
        let piece = piece(first, rest)?;
        let times = rest.next_if(|c| matches!(c, '*' | '+' | '?'));
        let (least, most) = match times {
            Some('*') => (0, usize::MAX),
            Some('+') => (1, usize::MAX),
            Some(_) => (0, 1),
            None => (1, 1),
        };
        items.push(Item { piece, least, most });
    }
    Some(items)
}

fn piece(first: char, rest: &mut Peekable<Chars>) -> Option<Piece> {
    Some(match first {
        '^' => Piece::Start,
        '$' => Piece::End,
        '.' => Piece::Any,
        '*' | '+' | '?' => return None,
        '(' => {
            let group = alternatives(rest)?;
            rest.next_if_eq(&')')?;
            Piece::Group(group)
        }
        '[' => class(rest)?,
        '\\' => match rest.next()? {
            's' => Piece::Class(true, vec![(' ', ' '), ('\t', '\t')]),
            'd' => Piece::Class(true, vec![('0', '9')]),
            'w' => Piece::Class(true, vec![('0', '9'), ('a', 'z'), ('A', 'Z'), ('_', '_')]),
            'b' => Piece::WordEdge,
            other => Piece::One(other),
        },
        other => Piece::One(other),
    })
}

fn class(rest: &mut Peekable<Chars>) -> Option<Piece> {
    let among = rest.next_if_eq(&'^').is_none();
    let mut ranges = Vec::new();
    loop {
        let from = match rest.next()? {
            ']' if !ranges.is_empty() => return Some(Piece::Class(among, ranges)),
            '\\' => rest.next()?,
            other => other,
        };
        let to = match rest.next_if_eq(&'-') {
            // A `-` at the end stands for itself.
            Some(_) if rest.peek() == Some(&']') => {
                ranges.push(('-', '-'));
                from
            }
            Some(_) => rest.next()?,
            None => from,
        };
        ranges.push((from, to));
    }
}

/// Whether one of these matches at this place, and `then` what follows.
fn any_matches(
    alternatives: &[Sequence],
    line: &[char],
    at: usize,
    then: &dyn Fn(usize) -> bool,
) -> bool {
    alternatives.iter().any(|items| matches(items, 0, line, at, then))
}

/// `done`: how often the first item has matched already.
fn matches(
    items: &[Item],
    done: usize,
    line: &[char],
    at: usize,
    then: &dyn Fn(usize) -> bool,
) -> bool {
    let Some((item, others)) = items.split_first() else { return then(at) };
    let again = |next: usize| {
        // What matched nothing would match nothing for ever.
        (next > at || done < item.least) && matches(items, done + 1, line, next, then)
    };
    let more = done < item.most && once(&item.piece, line, at, &again);
    more || (done >= item.least && matches(others, 0, line, at, then))
}

fn once(piece: &Piece, line: &[char], at: usize, then: &dyn Fn(usize) -> bool) -> bool {
    let is_word = |at: Option<usize>| {
        at.and_then(|at| line.get(at)).is_some_and(|c| c.is_ascii_alphanumeric() || *c == '_')
    };
    let one = |fits: &dyn Fn(char) -> bool| line.get(at).is_some_and(|c| fits(*c)) && then(at + 1);
    match piece {
        Piece::Start => at == 0 && then(at),
        Piece::End => at == line.len() && then(at),
        Piece::WordEdge => is_word(at.checked_sub(1)) != is_word(Some(at)) && then(at),
        Piece::Any => one(&|_| true),
        Piece::One(wanted) => one(&|c| c == *wanted),
        Piece::Class(among, ranges) => {
            one(&|c| ranges.iter().any(|&(from, to)| (from..=to).contains(&c)) == *among)
        }
        Piece::Group(group) => any_matches(group, line, at, then),
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn patterns_match_what_they_say() {
        for (pattern, line, matches) in [
            ("vfmadd.*ymm|vmulpd.*ymm", "vmulpd %ymm1, %ymm0, %ymm0", true),
            ("vfmadd.*ymm|vmulpd.*ymm", "vmulpd %xmm1, %xmm0, %xmm0", false),
            ("^call", "callq memcpy", true),
            ("^call", "jmp call", false),
            ("^movq %r[a-d]x, .*\\(", "movq %rcx, 8(%rdi)", true),
            ("^movq %r[a-d]x, .*\\(", "movq (%rdi), %rcx", false),
            ("a(bc|d)+e$", "xabcdbce", true),
            ("a(bc|d)+e$", "ae", false),
            ("ab?c", "ac", true),
            ("(a*)*b", "aaac", false),
            ("[^0-9]", "42", false),
            ("[%$-]", "-", true),
            ("\\badd\\b", "vadd", false),
            ("\\badd\\s\\w+", "lock add x", true),
            ("", "anything", true),
        ] {
            assert_eq!(Pattern::new(pattern).unwrap().is_in(line), matches, "{pattern} in {line}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for wrong in ["(", ")", "a)", "[a", "*", "a|+", "\\"] {
            assert_eq!(Pattern::new(wrong).unwrap_err(), format!("`{wrong}` is no pattern"));
        }
    }
}
