//! Secrets in command lines: what looks like one, and texts in which a placeholder stands for each.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// The text that replaces a secret, or begins the placeholder of one.
pub const STRUCK: &str = "***";

/// Hexadecimal digits of the digest in a placeholder.
pub const DIGEST_DIGITS: usize = 8;

/// Names whose values are secrets; longer names may end with them, such as `PGPASSWORD` and `accessToken`.
const ENDINGS: [&str; 10] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
];

/// Last words of names whose values are secrets, such as `MYSQL_PWD`.
const LAST_WORDS: [&str; 4] = ["pass", "pwd", "credential", "credentials"];

/// Words before `key` with which its value is a secret, such as `--api-key`.
const KINDS_OF_KEYS: [&str; 9] = [
    "access",
    "account",
    "api",
    "auth",
    "encryption",
    "private",
    "secret",
    "signing",
    "subscription",
];

/// Fields of HTTP headers whose whole values are secrets.
const HEADERS: [&str; 4] = ["authorization", "cookie", "proxy-authorization", "set-cookie"];

/// Characters that end an unquoted value in a shell, besides white space.
const ENDS_VALUE: [char; 6] = ['&', ';', '|', ')', '<', '>'];

/// Whether the value of an option, a variable or a field of this name is a secret: `password`, `API_KEY`, `--token`.
#[must_use]
pub fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words: Vec<&str> = name.split(['-', '_', '.']).filter(|word| !word.is_empty()).collect();
    let Some((last, before)) = words.split_last() else { return false };
    let is_secret_key =
        *last == "key" && before.last().is_some_and(|kind| KINDS_OF_KEYS.contains(kind));
    is_secret_key
        || LAST_WORDS.contains(last)
        || ENDINGS.iter().any(|ending| last.ends_with(ending))
}

/// Secrets by the placeholders that stand for them, as `***1f3a9c02`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct KnownSecrets(BTreeMap<String, String>);

impl fmt::Debug for KnownSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} known secrets", self.0.len())
    }
}

impl KnownSecrets {
    /// Adds a secret with its placeholder.
    pub fn add(&mut self, placeholder: String, secret: String) {
        self.0.insert(placeholder, secret);
    }

    /// Whether this placeholder stands for a secret here.
    #[must_use]
    pub fn knows(&self, placeholder: &str) -> bool {
        self.0.contains_key(placeholder)
    }

    /// The secrets, without their placeholders.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(String::as_str)
    }

    /// The value of a setting with a placeholder for each secret: a JSON list of the words of a command, or a text
    /// that a shell reads. `digest` makes the digits of a placeholder from a secret.
    pub fn hide(&mut self, text: &str, digest: &dyn Fn(&str) -> String) -> String {
        let Some(words) = words(text) else {
            return self.hide_ranges(text, secrets_in_text(text), digest);
        };
        let hidden = self.hide_in_words(&words, digest);
        // A list without secrets stays as it was typed, with its blanks.
        if hidden == words { text.to_owned() } else { json(&hidden) }
    }

    /// The words of a command with a placeholder for each secret.
    pub fn hide_in_words(
        &mut self,
        words: &[String],
        digest: &dyn Fn(&str) -> String,
    ) -> Vec<String> {
        let mut hidden = Vec::with_capacity(words.len());
        let mut before = "";
        for word in words {
            hidden.push(self.hide_ranges(word, secrets_in_word(before, word), digest));
            before = word;
        }
        hidden
    }

    /// The placeholder of a value that is a secret as a whole.
    pub fn hide_whole(&mut self, value: &str, digest: &dyn Fn(&str) -> String) -> String {
        let whole = Some(0..value.len()).filter(|_| !refers_to_a_secret(value));
        self.hide_ranges(value, whole.into_iter().collect(), digest)
    }

    /// A text in which the secrets that are known already, and stand anywhere, are placeholders.
    #[must_use]
    pub fn hide_known(&self, text: &str) -> String {
        let all = self.0.iter();
        all.fold(text.to_owned(), |text, (placeholder, secret)| text.replace(secret, placeholder))
    }

    /// The other way of [`Self::hide`]: a setting with the secrets in place of their placeholders.
    #[must_use]
    pub fn fill(&self, text: &str) -> String {
        let fill = |text: &str| {
            let all = self.0.iter();
            all.fold(text.to_owned(), |text, (placeholder, secret)| {
                text.replace(placeholder, secret)
            })
        };
        match words(text) {
            Some(words) => json(&words.iter().map(|word| fill(word)).collect::<Vec<_>>()),
            None => fill(text),
        }
    }

    fn hide_ranges(
        &mut self,
        text: &str,
        ranges: Vec<Range<usize>>,
        digest: &dyn Fn(&str) -> String,
    ) -> String {
        let mut hidden = String::with_capacity(text.len());
        let mut shown = 0;
        for range in ranges {
            let secret = &text[range.clone()];
            let placeholder = format!("{STRUCK}{}", digest(secret));
            hidden.push_str(&text[shown..range.start]);
            hidden.push_str(&placeholder);
            shown = range.end;
            self.add(placeholder, secret.to_owned());
        }
        hidden.push_str(&text[shown..]);
        hidden
    }
}

/// The placeholders in a text, in order.
#[must_use]
pub fn placeholders(text: &str) -> Vec<&str> {
    let digits = |at: usize| {
        let placeholder = text.get(at..at + STRUCK.len() + DIGEST_DIGITS)?;
        let digest = &placeholder.as_bytes()[STRUCK.len()..];
        digest.iter().all(u8::is_ascii_hexdigit).then_some(placeholder)
    };
    text.match_indices(STRUCK).filter_map(|(at, _)| digits(at)).collect()
}

/// The words of a command, if the text is a JSON list of such.
fn words(text: &str) -> Option<Vec<String>> {
    if text.starts_with('[') { serde_json::from_str(text).ok() } else { None }
}

fn json(words: &[String]) -> String {
    // A list of strings always has a JSON form.
    serde_json::to_string(words).unwrap_or_default()
}

/// Where secrets stand in a word of a command, as byte ranges.
fn secrets_in_word(before: &str, word: &str) -> Vec<Range<usize>> {
    let is_value_of_option =
        before.strip_prefix("--").is_some_and(names_a_secret) && !word.starts_with('-');
    let start = if is_value_of_option { Some(0) } else { start_of_value(word) };
    match start {
        // The word is a whole argument: white space and quotes in it belong to the value.
        Some(start) if refers_to_a_secret(&word[start..]) => Vec::new(),
        Some(start) => Some(start..word.len()).into_iter().collect(),
        None => secrets_in_text(word),
    }
}

/// Where the value begins in `--password=VALUE`, `TOKEN=VALUE` or `Authorization: VALUE`, if it is a secret.
fn start_of_value(word: &str) -> Option<usize> {
    let at = word.find(|c: char| !is_of_name(c))?;
    let name = &word[..at];
    let rest = &word[at..];
    if rest.starts_with('=') && names_a_secret(name) {
        return Some(at + 1);
    }
    let value = rest.strip_prefix(':').filter(|value| !value.starts_with("//"))?;
    let is_secret = names_a_secret(name) || is_secret_header(name);
    is_secret.then(|| word.len() - value.trim_start().len())
}

/// Where secrets stand in a text that a shell may read, as byte ranges in order: values of names that name a secret,
/// and passwords in URLs.
fn secrets_in_text(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut quote = None;
    for (at, c) in text.char_indices() {
        let is_past = found.last().is_none_or(|last| at >= last.end);
        let value = match c {
            _ if !is_past => None,
            '=' if names_a_secret(name_before(text, at)) => value_at(text, at + 1, quote),
            ':' if text[at..].starts_with("://") => password_of_url(text, at + 3),
            ':' => value_of_field(text, at, quote),
            _ if c.is_whitespace() && is_secret_option(text, at) => {
                let start = after_blanks(text, at);
                if text[start..].starts_with('-') { None } else { value_at(text, start, quote) }
            }
            _ => None,
        };
        found.extend(value.filter(|range| !refers_to_a_secret(&text[range.clone()])));
        match quote {
            None if is_quote(c) => quote = Some(c),
            Some(open) if open == c => quote = None,
            _ => {}
        }
    }
    found
}

/// The value of `Authorization: VALUE` or `"password": "VALUE"`, whose colon is here.
fn value_of_field(text: &str, colon: usize, quote: Option<char>) -> Option<Range<usize>> {
    let unquoted = text[..colon].trim_end_matches(is_quote);
    let name = name_before(text, unquoted.len());
    let start = after_blanks(text, colon + 1);
    if is_secret_header(name) {
        let rest = &text[start..];
        let end = rest.find(|c| is_quote(c) || c == '\n').unwrap_or(rest.len());
        return Some(start..start + end);
    }
    if names_a_secret(name) { value_at(text, start, quote) } else { None }
}

/// The value that begins here, in a text that is inside a quote or not; without quotes of its own.
fn value_at(text: &str, start: usize, quote: Option<char>) -> Option<Range<usize>> {
    let rest = &text[start..];
    let first = rest.chars().next()?;
    let own_quote = Some(first).filter(|&first| is_quote(first) && quote != Some(first));
    let end = match (quote, own_quote) {
        (None, _) => end_of_shell_word(rest),
        (Some(_), Some(own)) => rest[1..].find(own).map_or(rest.len(), |end| end + 2),
        (Some(open), None) => rest
            .find(|c: char| c == open || c.is_whitespace() || ENDS_VALUE.contains(&c))
            .unwrap_or(rest.len()),
    };
    let value = &rest[..end];
    let is_quoted = own_quote.is_some_and(|own| {
        value.len() > 1 && value.ends_with(own) && !value[1..value.len() - 1].contains(own)
    });
    let range = if is_quoted { start + 1..start + end - 1 } else { start..start + end };
    (!range.is_empty()).then_some(range)
}

/// Where the first word of a text ends, as a shell reads it.
fn end_of_shell_word(text: &str) -> usize {
    let mut quote = None;
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match quote {
            _ if is_escaped => is_escaped = false,
            Some('\'') if c == '\\' => {}
            _ if c == '\\' => is_escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if is_quote(c) => quote = Some(c),
            None if c.is_whitespace() || ENDS_VALUE.contains(&c) => return at,
            None => {}
        }
    }
    text.len()
}

/// The password of a URL whose authority begins here: `user:PASSWORD@host`.
fn password_of_url(text: &str, start: usize) -> Option<Range<usize>> {
    let rest = &text[start..];
    let ends = |c: char| matches!(c, '/' | '?' | '#') || c.is_whitespace() || is_quote(c);
    let authority = &rest[..rest.find(ends).unwrap_or(rest.len())];
    let (user, _) = authority.rsplit_once('@')?;
    let (name, password) = user.split_once(':')?;
    let begin = start + name.len() + 1;
    (!password.is_empty()).then(|| begin..begin + password.len())
}

/// Whether the word before this white space is an option whose value is a secret: `--token`.
fn is_secret_option(text: &str, at: usize) -> bool {
    let name = name_before(text, at);
    let before = &text[..at - name.len()];
    let is_word = before.is_empty() || before.ends_with(|c: char| c.is_whitespace() || is_quote(c));
    is_word && name.strip_prefix("--").is_some_and(names_a_secret)
}

/// The name that ends here; empty if there is none.
fn name_before(text: &str, end: usize) -> &str {
    let start = text[..end].trim_end_matches(is_of_name).len();
    &text[start..end]
}

fn after_blanks(text: &str, at: usize) -> usize {
    text.len() - text[at..].trim_start().len()
}

fn is_secret_header(name: &str) -> bool {
    HEADERS.contains(&name.to_ascii_lowercase().as_str())
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn is_quote(c: char) -> bool {
    c == '"' || c == '\''
}

/// Whether a value is empty, a variable of the shell, a value that plumb fills in, or a placeholder already.
fn refers_to_a_secret(value: &str) -> bool {
    let is_filled_in = value.starts_with('{') && value.ends_with('}') && !value.contains(':');
    value.is_empty() || value.starts_with('$') || value.starts_with(STRUCK) || is_filled_in
}

#[cfg(test)]
mod tests {
    use super::{KnownSecrets, names_a_secret, placeholders};

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_secret_stays_at_any_place(
            secret in "[A-Za-z0-9]{12,20}",
            name in proptest::sample::select(vec!["password", "api_key", "auth-token", "PGPASSWORD"]),
            place in 0..8_usize,
        ) {
            let text = match place {
                0 => format!("a --{name}={secret} b"),
                1 => format!("a --{name} {secret}"),
                2 => format!("{name}={secret} a"),
                3 => format!("sh -c 'a {name}=\"{secret}\"'"),
                4 => format!("a '{{\"{name}\":\"{secret}\"}}'"),
                5 => format!("a \"http://h/?b=1&{name}={secret}&c=2\""),
                6 => format!("a amqp://{name}:{secret}@h:5672/x"),
                _ => format!("a -H 'X-{name}: {secret}' h"),
            };
            let quoted = serde_json::to_string(&text.split(' ').collect::<Vec<_>>()).unwrap();
            let whole = serde_json::to_string(&[&text]).unwrap();
            // What a shell quotes is one word.
            let texts = if text.contains(['"', '\'']) { vec![text, whole] } else { vec![text, quoted, whole] };
            for text in texts {
                let mut known = KnownSecrets::default();
                let hidden = known.hide(&text, &digest);
                proptest::prop_assert!(!hidden.contains(&secret), "{} became {}", text, hidden);
                proptest::prop_assert_eq!(known.fill(&hidden), text);
            }
        }
    }

    /// A digest that shows the secret's length alone.
    fn digest(secret: &str) -> String {
        format!("{:08x}", secret.len())
    }

    fn hidden(text: &str) -> String {
        KnownSecrets::default().hide(text, &digest)
    }

    #[test]
    fn names_of_secrets_are_told_from_others() {
        for name in [
            "password",
            "PGPASSWORD",
            "--db-password",
            "MYSQL_PWD",
            "token",
            "accessToken",
            "api-key",
            "AWS_SECRET_ACCESS_KEY",
            "client.secret",
            "pass",
            "credentials",
            "X-Api-Key",
        ] {
            assert!(names_a_secret(name), "{name}");
        }
        for name in [
            "password-file",
            "max-tokens",
            "key",
            "sort-key",
            "token_ttl",
            "bypass",
            "passes",
            "p",
            "-p",
            "",
            "compass",
            "secretary",
        ] {
            assert!(!names_a_secret(name), "{name}");
        }
    }

    #[test]
    fn values_in_texts_of_shells_are_found() {
        for (text, wanted) in [
            ("mysql --password=hunter2 db", "mysql --password=***00000007 db"),
            ("mysql --password hunter2 db", "mysql --password ***00000007 db"),
            ("PGPASSWORD='a b' psql", "PGPASSWORD='***00000003' psql"),
            ("curl 'http://h/?token=abc&size=3'", "curl 'http://h/?token=***00000003&size=3'"),
            ("curl -d \"token=abc\" h", "curl -d \"token=***00000003\" h"),
            ("curl https://joe:pw@h:80/a@b", "curl https://joe:***00000002@h:80/a@b"),
            ("curl -H \"Authorization: Bearer x y\" h", "curl -H \"Authorization: ***0000000a\" h"),
            (
                "curl -d '{\"password\": \"abc\", \"n\": 1}'",
                "curl -d '{\"password\": \"***00000003\", \"n\": 1}'",
            ),
            ("a --api-key=it\\'s\\ me; b", "a --api-key=***00000009; b"),
            ("a --token=x'y z'w b", "a --token=***00000007 b"),
            // What refers to a secret is none.
            (
                "mysql --password=$PW --token=\"$T\" --secret={s}",
                "mysql --password=$PW --token=\"$T\" --secret={s}",
            ),
            ("mysql --password= -p 3306", "mysql --password= -p 3306"),
            ("a --token --size 3", "a --token --size 3"),
            ("a --password=***1f3a9c02", "a --password=***1f3a9c02"),
            ("http://localhost:8080/ a:b", "http://localhost:8080/ a:b"),
        ] {
            assert_eq!(hidden(text), wanted);
        }
    }

    #[test]
    fn values_in_words_are_whole_arguments() {
        let words = |words: &[&str]| serde_json::to_string(words).unwrap();
        assert_eq!(hidden("[\"a\",  \"b=c\"]"), "[\"a\",  \"b=c\"]");
        for (given, wanted) in [
            (vec!["a", "--password=b c\"d"], vec!["a", "--password=***00000005"]),
            (vec!["a", "--token", "b c"], vec!["a", "--token", "***00000003"]),
            (vec!["a", "--token", "--b"], vec!["a", "--token", "--b"]),
            (vec!["a", "-H", "Cookie: b=c; d=e"], vec!["a", "-H", "Cookie: ***00000008"]),
            (vec!["sh", "-c", "x --pass=abc y"], vec!["sh", "-c", "x --pass=***00000003 y"]),
            (vec!["a", "-p", "22", "key=3"], vec!["a", "-p", "22", "key=3"]),
        ] {
            assert_eq!(hidden(&words(&given)), words(&wanted));
        }
    }

    #[test]
    fn what_is_hidden_is_filled_in_again() {
        let mut known = KnownSecrets::default();
        let texts = [
            "a --password='x y' --token z".to_owned(),
            serde_json::to_string(&["a", "--secret=b\"c\\d"]).unwrap(),
        ];
        for text in texts {
            let hidden = known.hide(&text, &digest);
            assert!(!placeholders(&hidden).is_empty(), "{hidden}");
            assert!(placeholders(&hidden).into_iter().all(|placeholder| known.knows(placeholder)));
            assert_eq!(known.fill(&hidden), text);
        }
        assert_eq!(known.hide_whole("abcd", &digest), "***00000004");
        assert_eq!(known.hide_known("echo abcd"), "echo ***00000004");
        assert_eq!(format!("{known:?}"), "4 known secrets");
    }
}
