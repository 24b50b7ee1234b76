//! Secrets in what is measured: replaced by placeholders before anything is stored or shown, and given to the processes
//! that need them.

use std::env;

use plumb_model::{
    Event, KnownSecrets, ParameterType, Plan, PlannedPoint, Point, STRUCK, Settings, Stamped,
    Value, names_a_secret, placeholders,
};
use plumb_store::SecretSalt;

use crate::error::{CommandError, Result};

/// The beginning of the name of a variable that holds a secret; the digest follows.
const VARIABLE: &str = "PLUMB_SECRET_";

/// Replaces what looks like a secret in a plan, if it says so; the secrets for which it has placeholders then, next to those that
/// are `known` already.
///
/// # Errors
/// When a stored plan has a placeholder, and its secret is neither known nor in a variable of the environment.
pub fn take_out(
    plan: &mut Plan,
    salt: SecretSalt,
    mut known: KnownSecrets,
) -> Result<KnownSecrets> {
    if plan.hides_secrets {
        hide_in_plan(plan, salt, &mut known)?;
    }
    for point in points(plan) {
        recall(point, salt, &mut known)?;
    }
    Ok(known)
}

/// Replaces what looks like a secret in the plans of imported results.
///
/// # Errors
/// When a point is none without its secrets.
pub fn take_out_of_import(events: &mut [Stamped], salt: SecretSalt) -> Result<()> {
    for stamped in events {
        if let Event::RunStarted { plan, .. } = &mut stamped.event {
            hide_in_plan(plan, salt, &mut KnownSecrets::default())?;
        }
    }
    Ok(())
}

/// A command line with placeholders for its secrets, and for those that are known.
pub fn without_secrets(
    words: &[String],
    salt: SecretSalt,
    known: &mut KnownSecrets,
) -> Vec<String> {
    let hidden = known.hide_in_words(words, &|secret| salt.digest(secret));
    hidden.iter().map(|word| known.hide_known(word)).collect()
}

fn hide_in_plan(plan: &mut Plan, salt: SecretSalt, known: &mut KnownSecrets) -> Result<()> {
    hide_in_values(plan.labels.iter_mut(), salt, known);
    for point in &mut plan.points {
        hide_in_point(point, salt, known)?;
    }
    for companion in &mut plan.companions {
        hide_in_point(&mut companion.point, salt, known)?;
    }
    Ok(())
}

/// Every point of a plan, those of its companions as well.
fn points(plan: &Plan) -> impl Iterator<Item = &PlannedPoint> {
    plan.points.iter().chain(plan.companions.iter().map(|companion| &companion.point))
}

fn hide_in_point(
    planned: &mut PlannedPoint,
    salt: SecretSalt,
    known: &mut KnownSecrets,
) -> Result<()> {
    let digest = |secret: &str| salt.digest(secret);
    hide_in_values(planned.labels.iter_mut(), salt, known);
    let mut settings = planned.point.settings.clone();
    hide_in_values(texts(planned, &mut settings), salt, known);
    if let Some(title) = &planned.title {
        let hidden = known.hide(title, &digest);
        planned.title = Some(known.hide_known(&hidden));
    }
    if settings == planned.point.settings {
        return Ok(());
    }
    let mut conditions = Vec::new();
    for condition in &planned.point.conditions {
        conditions.push(known.hide(condition, &digest));
    }
    // The key is made of the settings.
    planned.point = Point::new(&planned.description, &settings, 1)?.under(&conditions);
    Ok(())
}

/// Replaces the values whose names say that they are secrets, and what looks like one in other values.
fn hide_in_values<'v>(
    values: impl Iterator<Item = (&'v String, &'v mut String)>,
    salt: SecretSalt,
    known: &mut KnownSecrets,
) {
    let digest = |secret: &str| salt.digest(secret);
    for (name, text) in values {
        *text = if names_a_secret(name) {
            known.hide_whole(text, &digest)
        } else {
            known.hide(text, &digest)
        };
    }
}

/// The settings in which a text may have a secret, by name.
fn texts<'s>(
    planned: &PlannedPoint,
    settings: &'s mut Settings,
) -> impl Iterator<Item = (&'s String, &'s mut String)> {
    let is_text = |name: &str| {
        let parameter = planned.description.parameter(name);
        parameter.is_some_and(|parameter| parameter.kind == ParameterType::Text)
    };
    settings.iter_mut().filter_map(move |(name, value)| match value {
        Value::Text(text) if is_text(name) => Some((name, text)),
        _ => None,
    })
}

/// Refuses a stored plan for another machine if it needs secrets: only this process could have them.
///
/// # Errors
/// When it has placeholders.
pub fn refuse_for_other_machine(plan: &Plan) -> Result<()> {
    for planned in points(plan) {
        let texts = planned.point.settings.values().filter_map(Value::text);
        if let Some(placeholder) = texts.flat_map(placeholders).next() {
            return Err(CommandError::usage(format!(
                "`{}` needs a secret that plumb did not store: {placeholder}",
                planned.name()
            ))
            .hint("plumb baseline set NAME --on HOST,… --keep-secrets    stores it"));
        }
    }
    Ok(())
}

/// Finds the secrets of placeholders that a plan has from the store.
fn recall(planned: &PlannedPoint, salt: SecretSalt, known: &mut KnownSecrets) -> Result<()> {
    let texts = planned.point.settings.values().filter_map(Value::text);
    for placeholder in texts.flat_map(placeholders) {
        if known.knows(placeholder) {
            continue;
        }
        let digest = &placeholder[STRUCK.len()..];
        let variable = format!("{VARIABLE}{digest}");
        let name = planned.name();
        let Ok(secret) = env::var(&variable) else {
            return Err(CommandError::usage(format!(
                "`{name}` needs a secret that plumb did not store: {placeholder}"
            ))
            .hint(format!("{variable}=SECRET plumb …    gives it to plumb"))
            .hint("a run with --keep-secrets stores it, and needs no variable"));
        };
        if salt.digest(&secret) != digest {
            return Err(CommandError::usage(format!(
                "{variable} is not the secret for which {placeholder} stands in `{name}`"
            )));
        }
        known.add(placeholder.to_owned(), secret);
    }
    Ok(())
}
