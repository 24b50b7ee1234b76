//! A menu of the suite so far, whose lines lead to further ones and back.

use plumb_keeper::preparation::PRESETS;
use plumb_suite::Draft;

use crate::entries::{add, edit, entry_line};
use crate::fields::{SUITE, rules, rules_line};
use crate::form::{Form, line};
use crate::planner::Planner;

/// What the lines of the first menu do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Entry(usize),
    Add,
    Rules,
    Field(usize),
    Preset,
    Compare,
    Save,
    Quit,
}

/// Lets the user make a suite of the draft; the suite and its file, or None where they quit.
///
/// # Errors
/// When the terminal is interrupted or goes away.
pub fn ask<P: Planner>(
    draft: Draft,
    file: Option<&str>,
    planner: &mut P,
) -> Result<Option<(Draft, String)>, P::Error> {
    let mut form = Form::open(draft, planner)?;
    let mut at = 0;
    loop {
        let lines = lines(&form.draft);
        let items: Vec<String> = lines.iter().map(|line| words(*line, &form.draft)).collect();
        let title = file.unwrap_or("A new suite");
        let chosen = form.choose(title, "", &items, at)?;
        at = chosen.unwrap_or(at);
        match chosen.map_or(Line::Quit, |index| lines[index]) {
            Line::Entry(index) => edit(&mut form, index)?,
            Line::Add => {
                add(&mut form)?;
                at = form.draft.entries.len();
            }
            Line::Rules => rules(&mut form, "Stopping rules", |draft| &mut draft.rules)?,
            Line::Field(index) => {
                let field = &SUITE[index];
                let text = (field.get)(&form.draft);
                form.change(field.label, &(field.help)(), &text, field.set)?;
            }
            Line::Preset => preset(&mut form)?,
            Line::Compare => form.draft.against_first ^= true,
            Line::Save => {
                if let Some(file) = save(&mut form, file)? {
                    return Ok(Some((form.draft, file)));
                }
            }
            Line::Quit if quits(&mut form)? => return Ok(None),
            Line::Quit => {}
        }
    }
}

/// What can be done to the draft; nothing but a first workload while it has none.
fn lines(draft: &Draft) -> Vec<Line> {
    let mut lines: Vec<Line> = (0..draft.entries.len()).map(Line::Entry).collect();
    lines.push(Line::Add);
    if !draft.entries.is_empty() {
        lines.extend([Line::Rules]);
        lines.extend((0..SUITE.len()).map(Line::Field));
        lines.extend([Line::Preset, Line::Compare, Line::Save]);
    }
    lines.push(Line::Quit);
    lines
}

fn words(of: Line, draft: &Draft) -> String {
    match of {
        Line::Entry(index) => entry_line(&draft.entries[index]),
        Line::Add => "Add a workload …".into(),
        Line::Rules => {
            let rules = rules_line(&draft.rules);
            line("Stopping rules", if rules.is_empty() { "-" } else { &rules })
        }
        Line::Field(index) => SUITE[index].line(draft),
        Line::Preset => line("Preset", if draft.prepare.is_empty() { "-" } else { &draft.prepare }),
        Line::Compare => {
            line("Compare with the first", if draft.against_first { "yes" } else { "no" })
        }
        Line::Save => "Save".into(),
        Line::Quit => "Quit without saving".into(),
    }
}

fn preset<P: Planner>(form: &mut Form<'_, P>) -> Result<(), P::Error> {
    let known = PRESETS.iter().map(|(name, knobs)| line(name, &knobs.join(" ")));
    let items: Vec<String> = [line("-", "leave it to plumb")].into_iter().chain(known).collect();
    let now = PRESETS.iter().position(|(name, _)| *name == form.draft.prepare);
    let about = "What is done to the machine first, and undone after.";
    let mut wrong = String::new();
    while let Some(chosen) = form.choose(
        "Preset",
        &format!("{about}\n{wrong}"),
        &items,
        now.map_or(0, |index| index + 1),
    )? {
        let name = chosen.checked_sub(1).map_or("", |index| PRESETS[index].0);
        let taken = form.accept(|draft| {
            draft.prepare = name.to_owned();
            Ok(())
        });
        match taken {
            Ok(()) => break,
            Err(error) => wrong = form.planner.told(error)?,
        }
    }
    Ok(())
}

/// The file that the suite goes to; None where the user goes back.
fn save<P: Planner>(
    form: &mut Form<'_, P>,
    file: Option<&str>,
) -> Result<Option<String>, P::Error> {
    if let Some(file) = file {
        return Ok(Some(file.to_owned()));
    }
    let usual = if form.draft.name.is_empty() {
        String::new()
    } else {
        format!("{}.toml", form.draft.name)
    };
    let help = "The file, which ends in .toml; `-` prints the suite.";
    form.file("File", help, &usual)
}

/// Whether what was typed so far may be lost.
fn quits<P: Planner>(form: &mut Form<'_, P>) -> Result<bool, P::Error> {
    if form.draft.entries.is_empty() {
        return Ok(true);
    }
    let items = ["Go back".to_owned(), "Quit without saving".to_owned()];
    Ok(form.choose("Nothing was written", "", &items, 0)? == Some(1))
}
