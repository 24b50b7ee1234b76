//! The words of this process's command line that other machines get.

use crate::fleet::arguments::OF_THIS_MACHINE;

/// Options of the near end alone that every command has.
const GLOBAL: [(&str, bool); 1] = [("--store", true)];

/// The words without the options that only mean something at the near end. What follows `--` stays as it is.
pub fn words_for_agents(typed: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = typed.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            kept.push(word.clone());
            kept.extend(words.cloned());
            return kept;
        }
        let name = word.split('=').next().unwrap_or(word);
        match OF_THIS_MACHINE.iter().chain(&GLOBAL).find(|(option, _)| *option == name) {
            None => kept.push(word.clone()),
            Some((_, has_value)) => {
                if *has_value && !word.contains('=') {
                    words.next();
                }
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::words_for_agents;

    #[test]
    fn options_of_the_near_end_are_left_out() {
        for (typed, wanted) in [
            ("run cpu.sieve --on a,b -p threads=2", "run cpu.sieve -p threads=2"),
            ("--store x run --on=a --at-once 3 cpu.sieve", "run cpu.sieve"),
            ("exec --on a -- make --on b --store=c", "exec -- make --on b --store=c"),
            ("exec --on a --only", "exec --only"),
        ] {
            let typed: Vec<String> = typed.split(' ').map(str::to_owned).collect();
            assert_eq!(words_for_agents(&typed).join(" "), wanted);
        }
    }
}
