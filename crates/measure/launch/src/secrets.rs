//! Secrets of a workload: read when it is started, given to it alone, and struck out of all that it says.

use std::{env, fmt, fs};

use plumb_model::{
    KnownSecrets, ParameterType, PlannedPoint, STRUCK, Settings, Value, names_a_secret,
    placeholders,
};
use serde_json::Value as Json;

use crate::refusal::LaunchRefusal;

/// The largest file that holds a secret, in bytes.
const LARGEST: u64 = 64 * 1024;
/// A shorter value in a command line may occur in what a program says by chance, in bytes.
const SHORTEST_TYPED: usize = 4;
/// The same for variables of the environment, many of which are only called like secrets.
const SHORTEST_VARIABLE: usize = 8;

/// Secrets that must not be shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(Vec<String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} secrets", self.0.len())
    }
}

impl Secrets {
    /// The settings of a point with its secrets in place of the words that say where they are and of placeholders, and
    /// the secrets.
    ///
    /// # Errors
    /// When one can't be read.
    pub fn read(
        planned: &PlannedPoint,
        known: &KnownSecrets,
    ) -> Result<(Settings, Self), LaunchRefusal> {
        let mut settings = planned.point.settings.clone();
        let mut secrets = Self::default();
        for value in settings.values_mut() {
            let Value::Text(text) = value else { continue };
            if placeholders(text).into_iter().any(|placeholder| known.knows(placeholder)) {
                *text = known.fill(text);
                let typed = known.secrets().filter(|secret| secret.len() >= SHORTEST_TYPED);
                secrets.0.extend(typed.map(str::to_owned));
            }
        }
        let parameters = planned.description.parameters.iter();
        for parameter in parameters.filter(|parameter| parameter.kind == ParameterType::Secret) {
            let Some(Value::Text(place)) = settings.get_mut(&parameter.name) else { continue };
            if place.is_empty() {
                continue;
            }
            let secret = read(place).map_err(|why| LaunchRefusal::Unsupported {
                why: format!("the secret `{}` can't be read: {why}", parameter.name),
                fix: format!("-p {}=env:NAME or -p {0}=file:PATH", parameter.name),
            })?;
            secrets.0.extend((!secret.is_empty()).then(|| secret.clone()));
            *place = secret;
        }
        Ok((settings, secrets))
    }

    /// These, and the values of variables whose names say that they are secrets: a program may print its environment.
    pub fn with_environment(mut self) -> Self {
        for (name, value) in env::vars_os() {
            let is_secret = name.to_str().is_some_and(names_a_secret);
            if let (true, Some(value)) = (is_secret, value.to_str()) {
                self.0.extend((value.len() >= SHORTEST_VARIABLE).then(|| value.to_owned()));
            }
        }
        self
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A text without them.
    pub fn hide(&self, text: String) -> String {
        self.0.iter().fold(text, |text, secret| text.replace(secret.as_str(), STRUCK))
    }

    /// A reply without them: the texts in it, but for the word that says which reply it is.
    pub fn hide_in_reply(&self, reply: &mut Json) {
        let Json::Object(fields) = reply else { return };
        fields
            .iter_mut()
            .filter(|(name, _)| *name != "type")
            .for_each(|(_, value)| self.hide_in(value));
    }

    fn hide_in(&self, value: &mut Json) {
        match value {
            Json::String(text) => *text = self.hide(std::mem::take(text)),
            Json::Array(items) => items.iter_mut().for_each(|item| self.hide_in(item)),
            Json::Object(fields) => fields.values_mut().for_each(|field| self.hide_in(field)),
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }
}

/// The secret at `env:NAME` or `file:PATH`, without the end of its last line.
fn read(place: &str) -> Result<String, String> {
    let secret = match place.split_once(':') {
        Some(("env", name)) => env::var(name)
            .map_err(|_| format!("the environment variable {name} is not set or is not UTF-8"))?,
        Some(("file", path)) => {
            let length = fs::metadata(path).map_err(|error| format!("{path}: {error}"))?.len();
            if length > LARGEST {
                return Err(format!("{path} is {length} bytes long; the limit is {LARGEST}"));
            }
            fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?
        }
        _ => return Err("it is neither env:NAME nor file:PATH".into()),
    };
    Ok(secret.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Secrets, read};

    #[test]
    fn a_file_is_read_without_the_end_of_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        std::fs::write(&file, "hunter2\n").unwrap();
        assert_eq!(read(&format!("file:{}", file.display())).unwrap(), "hunter2");
        assert!(read("file:/no/such/file").unwrap_err().contains("/no/such/file"));
        assert!(read("env:PLUMB_NO_SUCH_NAME").unwrap_err().contains("PLUMB_NO_SUCH_NAME"));
        assert!(read("hunter2").is_err());
    }

    #[test]
    fn texts_of_a_reply_lose_it() {
        let secrets = Secrets(vec!["ready".into()]);
        let mut reply = serde_json::json!({"type": "ready", "id": 1, "notes": ["I am ready"]});
        secrets.hide_in_reply(&mut reply);
        let wanted = serde_json::json!({"type": "ready", "id": 1, "notes": ["I am ***"]});
        assert_eq!(reply, wanted);
        assert_eq!(format!("{secrets:?}"), "1 secrets");
    }
}
