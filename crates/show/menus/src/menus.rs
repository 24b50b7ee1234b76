//! A menu of the suite so far, whose lines lead to further ones and back.

use plumb_keeper::preparation::PRESETS;
use plumb_suite::Suite;

use crate::entries::{add, edit, entry_line};
use crate::fields::{RulesOwner, SUITE, rules, rules_line};
use crate::form::{Form, line};
use crate::planner::Planner;

/// What the lines of the first menu do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MenuLine {
    Entry(usize),
    Add,
    Rules,
    Field(usize),
    Preset,
    Compare,
    Save,
    Quit,
}

/// Lets the user make a suite of the draft; the suite and its file, or None if they quit.
///
/// # Errors
/// When the terminal is interrupted or goes away.
pub fn ask<P: Planner>(
    draft: Suite,
    file: Option<&str>,
    planner: &mut P,
) -> Result<Option<(Suite, String)>, P::Error> {
    let mut form = Form::open(draft, planner)?;
    let mut at = 0;
    loop {
        let lines = lines(&form.draft);
        let items: Vec<String> = lines.iter().map(|line| words(*line, &form.draft)).collect();
        let title = file.unwrap_or("A new suite");
        let chosen = form.choose(title, "", &items, at)?;
        at = chosen.unwrap_or(at);
        match chosen.map_or(MenuLine::Quit, |index| lines[index]) {
            MenuLine::Entry(index) => edit(&mut form, index)?,
            MenuLine::Add => {
                add(&mut form)?;
                at = form.draft.entries.len();
            }
            MenuLine::Rules => rules(&mut form, "Stopping rules", RulesOwner::Suite)?,
            MenuLine::Field(index) => {
                let field = &SUITE[index];
                let text = (field.get)(&form.draft);
                form.change(field.label, &(field.help)(), &text, field.set)?;
            }
            MenuLine::Preset => preset(&mut form)?,
            MenuLine::Compare => form.draft.against_first ^= true,
            MenuLine::Save => {
                if let Some(file) = save(&mut form, file)? {
                    return Ok(Some((form.draft, file)));
                }
            }
            MenuLine::Quit if quits(&mut form)? => return Ok(None),
            MenuLine::Quit => {}
        }
    }
}

/// What can be done to the draft; nothing but a first workload while it has none.
fn lines(draft: &Suite) -> Vec<MenuLine> {
    let mut lines: Vec<MenuLine> = (0..draft.entries.len()).map(MenuLine::Entry).collect();
    lines.push(MenuLine::Add);
    if !draft.entries.is_empty() {
        lines.extend([MenuLine::Rules]);
        lines.extend((0..SUITE.len()).map(MenuLine::Field));
        lines.extend([MenuLine::Preset, MenuLine::Compare, MenuLine::Save]);
    }
    lines.push(MenuLine::Quit);
    lines
}

fn words(of: MenuLine, draft: &Suite) -> String {
    match of {
        MenuLine::Entry(index) => entry_line(&draft.entries[index]),
        MenuLine::Add => "Add a workload …".into(),
        MenuLine::Rules => {
            let rules = rules_line(&draft.rules());
            line("Stopping rules", if rules.is_empty() { "-" } else { &rules })
        }
        MenuLine::Field(index) => SUITE[index].line(draft),
        MenuLine::Preset => {
            line("Preset", if draft.prepare.is_empty() { "-" } else { &draft.prepare })
        }
        MenuLine::Compare => {
            line("Compare with the first", if draft.against_first { "yes" } else { "no" })
        }
        MenuLine::Save => "Save".into(),
        MenuLine::Quit => "Quit without saving".into(),
    }
}

fn preset<P: Planner>(form: &mut Form<'_, P>) -> Result<(), P::Error> {
    let known = PRESETS.iter().map(|(name, knobs)| line(name, &knobs.join(" ")));
    let items: Vec<String> = [line("-", "leave it to plumb")].into_iter().chain(known).collect();
    // The first line leaves it to plumb; the presets come after it.
    let now = PRESETS.iter().position(|(name, _)| *name == form.draft.prepare);
    let about = "Changes to the machine before the run, undone afterwards.";
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

/// The file that the suite goes to; None if the user goes back.
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
    let help = "The file, whose name must end in .toml; `-` prints the suite.";
    form.file("File", help, &usual)
}

/// Whether what was typed so far may be lost.
fn quits<P: Planner>(form: &mut Form<'_, P>) -> Result<bool, P::Error> {
    if form.draft.entries.is_empty() {
        return Ok(true);
    }
    let items = ["Go back".to_owned(), "Quit without saving".to_owned()];
    Ok(form.choose("The suite is not saved", "", &items, 0)? == Some(1))
}
