//! Rust source as tokens, without comments, literals and what is compiled for tests alone.

/// A token and the line that it is on, from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceToken {
    pub text: String,
    pub line: usize,
}

/// The tokens of a source: words, `::`, and single signs. Literals are left out.
pub fn tokens(source: &str) -> Vec<SourceToken> {
    let chars: Vec<char> = source.chars().collect();
    let mut all = Vec::new();
    let mut at = 0;
    let mut line = 0;
    while at < chars.len() {
        let end = end_of_token(&chars, at).max(at + 1);
        let text: String = chars[at..end].iter().collect();
        let is_word = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let is_sign = text == "::" || (end == at + 1 && !chars[at].is_whitespace());
        if (is_word && !text.contains(['"', '\''])) || (is_sign && !chars[at].is_numeric()) {
            all.push(SourceToken { text, line });
        }
        line += chars[at..end].iter().filter(|c| **c == '\n').count();
        at = end;
    }
    all
}

fn end_of_token(chars: &[char], at: usize) -> usize {
    let rest = |text: &str| text.chars().enumerate().all(|(i, c)| chars.get(at + i) == Some(&c));
    let end_of_word = |from: usize| {
        let is_word = |c: &&char| c.is_alphanumeric() || **c == '_';
        from + chars[from..].iter().take_while(is_word).count()
    };
    match chars[at] {
        '/' if rest("//") => at + chars[at..].iter().take_while(|c| **c != '\n').count(),
        '/' if rest("/*") => end_of_comment(chars, at),
        '"' => end_of_string(chars, at),
        '\'' => end_of_quote(chars, at),
        ':' if rest("::") => at + 2,
        c if c.is_alphanumeric() || c == '_' => {
            let end = end_of_word(at);
            let word: String = chars[at..end].iter().collect();
            match (word.as_str(), chars.get(end)) {
                ("r" | "br" | "cr", Some('"' | '#')) => end_of_raw(chars, end),
                ("b" | "c", Some('"')) => end_of_string(chars, end),
                ("b", Some('\'')) => end_of_quote(chars, end),
                _ => end,
            }
        }
        _ => at + 1,
    }
}

/// Block comments nest.
fn end_of_comment(chars: &[char], at: usize) -> usize {
    let mut depth = 0;
    let mut i = at;
    while i < chars.len() {
        match (chars[i], chars.get(i + 1)) {
            ('/', Some('*')) => (depth, i) = (depth + 1, i + 1),
            ('*', Some('/')) => (depth, i) = (depth - 1, i + 1),
            _ => {}
        }
        i += 1;
        if depth == 0 {
            break;
        }
    }
    i
}

fn end_of_string(chars: &[char], at: usize) -> usize {
    let mut i = at + 1;
    while i < chars.len() && chars[i] != '"' {
        i += if chars[i] == '\\' { 2 } else { 1 };
    }
    (i + 1).min(chars.len())
}

/// `r"…"`, `r#"…"#`; from the first sign after the `r`. A raw identifier (`r#type`) ends at its `#`.
fn end_of_raw(chars: &[char], at: usize) -> usize {
    let hashes = chars[at..].iter().take_while(|c| **c == '#').count();
    if chars.get(at + hashes) != Some(&'"') {
        return at + hashes;
    }
    let mut i = at + hashes + 1;
    let closes = |i: usize| {
        chars[i] == '"'
            && chars[i + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes
    };
    while i < chars.len() && !closes(i) {
        i += 1;
    }
    (i + 1 + hashes).min(chars.len())
}

/// A character, or a lifetime.
fn end_of_quote(chars: &[char], at: usize) -> usize {
    match (chars.get(at + 1), chars.get(at + 2)) {
        (Some('\\'), _) => {
            let rest = chars[at + 3..].iter().take_while(|c| **c != '\'').count();
            (at + 4 + rest).min(chars.len())
        }
        (Some(_), Some('\'')) => at + 3,
        _ => at + 1,
    }
}

/// The tokens without items that only tests are built with, the names of the modules that these declare,
/// and the number of lines that they take.
pub fn without_tests(tokens: &[SourceToken]) -> (Vec<SourceToken>, Vec<String>, usize) {
    let mut kept = Vec::new();
    let mut modules = Vec::new();
    let mut lines = 0;
    let mut at = 0;
    while at < tokens.len() {
        match end_of_attribute(tokens, at) {
            Some(end) if is_for_tests(&tokens[at..end]) => {
                let past = end_of_item(tokens, end);
                lines += tokens[past - 1].line + 1 - tokens[at].line;
                modules.extend(declared(&tokens[end..past]));
                at = past;
            }
            _ => {
                kept.push(tokens[at].clone());
                at += 1;
            }
        }
    }
    (kept, modules, lines)
}

/// The end of `#[…]`.
fn end_of_attribute(tokens: &[SourceToken], at: usize) -> Option<usize> {
    let is = |i: usize, text| tokens.get(i).is_some_and(|token| token.text == text);
    (is(at, "#") && is(at + 1, "[")).then(|| end_of_group(tokens, at + 1))
}

fn is_for_tests(attribute: &[SourceToken]) -> bool {
    let has = |word| attribute.iter().any(|token| token.text == word);
    has("cfg") && has("test") && !has("not")
}

/// Past the sign that closes the one at `at`.
fn end_of_group(tokens: &[SourceToken], at: usize) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(at) {
        match token.text.as_str() {
            "{" | "[" | "(" => depth += 1,
            "}" | "]" | ")" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i + 1;
        }
    }
    tokens.len()
}

fn end_of_item(tokens: &[SourceToken], from: usize) -> usize {
    let mut at = from;
    let mut to_semicolon = false;
    while at < tokens.len() {
        match tokens[at].text.as_str() {
            ";" => return at + 1,
            "use" | "const" | "static" if at < from + 5 => to_semicolon = true,
            "fn" => to_semicolon = false,
            "{" if !to_semicolon => return end_of_group(tokens, at),
            "{" | "[" | "(" => {
                at = end_of_group(tokens, at);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    at
}

/// The module that an item declares in its own file.
fn declared(item: &[SourceToken]) -> Option<String> {
    let is_mod = |pair: &[SourceToken]| pair[0].text == "mod" && pair[2].text == ";";
    item.windows(3).find(|three| is_mod(three)).map(|three| three[1].text.clone())
}
