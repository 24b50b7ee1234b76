//! The rules of kernels.toml, and those that are broken.

use std::fs;
use std::path::Path;

use regex_lite::Regex;
use serde::Deserialize;

use super::assembly::Function;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KernelRules {
    kernel: Vec<Kernel>,
}

/// The rules for every function whose name contains `symbol`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    symbol: String,
    /// Each matches an instruction.
    #[serde(default)]
    needs: Vec<String>,
    /// None matches an instruction.
    #[serde(default)]
    never: Vec<String>,
    why: String,
}

/// Reads a file of rules.
pub fn read(file: &Path) -> Result<Vec<Kernel>, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    parse(&text).map_err(|why| format!("{}: {why}", file.display()))
}

fn parse(text: &str) -> Result<Vec<Kernel>, String> {
    let rules: KernelRules = toml::from_str(text).map_err(|error| error.to_string())?;
    match rules.kernel.iter().find(|kernel| kernel.needs.is_empty() && kernel.never.is_empty()) {
        Some(empty) => Err(format!("`{}` has no rule", empty.symbol)),
        None => Ok(rules.kernel),
    }
}

impl Kernel {
    /// What does not hold, a line each: the function, the rule, and the instruction that breaks it. It fails when a
    /// pattern can't be read.
    pub fn broken(&self, functions: &[Function]) -> Result<Vec<String>, String> {
        let needs = patterns(&self.needs)?;
        let never = patterns(&self.never)?;
        let named: Vec<_> =
            functions.iter().filter(|function| function.name.contains(&self.symbol)).collect();
        // Otherwise a rule would hold for ever once its function has another name or is inlined.
        if named.is_empty() {
            return Ok(vec![format!(
                "no function's name contains `{}`: was it renamed, or inlined?",
                self.symbol
            )]);
        }
        let mut broken = Vec::new();
        for Function { name, instructions } in named {
            for pattern in &needs {
                if !instructions.iter().any(|line| pattern.is_match(line)) {
                    broken.push(format!("{name} needs `{pattern}` and has none ({})", self.why));
                }
            }
            for pattern in &never {
                if let Some(line) = instructions.iter().find(|line| pattern.is_match(line)) {
                    let why = &self.why;
                    broken.push(format!("{name} must not have `{pattern}`: `{line}` ({why})"));
                }
            }
        }
        Ok(broken)
    }
}

fn patterns(texts: &[String]) -> Result<Vec<Regex>, String> {
    let compiled =
        texts.iter().map(|text| Regex::new(text).map_err(|error| format!("`{text}`: {error}")));
    compiled.collect()
}

#[cfg(test)]
mod tests {
    use super::super::assembly::functions;
    use super::parse;

    /// What is broken of a rule in a function `f` of these instructions.
    fn broken(rule: &str, instructions: &[&str]) -> Vec<String> {
        let kernel = format!("[[kernel]]\nsymbol = \"kernels::f\"\nwhy = \"so it is\"\n{rule}");
        let body: String =
            instructions.iter().map(|instruction| format!("\t{instruction}\n")).collect();
        let symbol = "_ZN7kernels1f17h0123456789abcdefE";
        let text = format!("\t.type\t{symbol},@function\n{symbol}:\n{body}\t.size\t{symbol}, 1\n");
        parse(&kernel).unwrap()[0].broken(&functions(&text)).unwrap()
    }

    #[test]
    fn a_call_of_memcpy_in_a_loop_of_words_is_found() {
        let rule = r#"never = ["call.*mem(cpy|move)"]"#;
        let good = ["movq\t(%rdi,%rax,8), %rcx", "movq\t%rcx, (%rdx,%rax,8)", "retq"];
        assert!(broken(rule, &good).is_empty());
        assert_eq!(
            broken(rule, &["callq\t*memcpy@GOTPCREL(%rip)", "retq"]),
            [
                "kernels::f must not have `call.*mem(cpy|move)`: `callq *memcpy@GOTPCREL(%rip)` (so it is)"
            ]
        );
    }

    #[test]
    fn a_packed_add_in_a_scalar_chain_is_found() {
        let rule = r#"needs = ["addsd"]
            never = ["addp[sd]"]"#;
        assert!(broken(rule, &["addsd\t%xmm1, %xmm0"]).is_empty());
        let both = broken(rule, &["vaddpd\t%ymm1, %ymm0, %ymm0"]);
        assert_eq!(both.len(), 2, "{both:?}");
        assert!(both[0].starts_with("kernels::f needs `addsd` and has none"), "{both:?}");
        assert!(both[1].contains("`vaddpd %ymm1, %ymm0, %ymm0`"), "{both:?}");
    }

    #[test]
    fn an_ordinary_store_for_a_non_temporal_one_is_found() {
        let rule = r#"needs = ["movnt"]
            never = ["^v?mov[au]p[sd] %[xyz]mm[0-9]+, .*\\("]"#;
        let load = "movups\t(%rsi), %xmm0";
        assert!(broken(rule, &[load, "movntps\t%xmm0, (%rdi)"]).is_empty());
        let stored = broken(rule, &[load, "movntps\t%xmm0, (%rdi)", "vmovaps\t%ymm1, 64(%rdi)"]);
        assert_eq!(stored.len(), 1, "{stored:?}");
        assert!(stored[0].contains("`vmovaps %ymm1, 64(%rdi)`"), "{stored:?}");
    }

    #[test]
    fn a_function_that_is_gone_and_rules_of_nothing_are_found() {
        let kernel = "[[kernel]]\nsymbol = \"gone\"\nneeds = [\"mov\"]\nwhy = \"so\"\n";
        let missing = parse(kernel).unwrap()[0].broken(&[]).unwrap();
        assert!(missing[0].contains("no function's name contains `gone`"), "{missing:?}");
        assert!(
            parse("[[kernel]]\nsymbol = \"f\"\nwhy = \"so\"\n").unwrap_err().contains("no rule")
        );
        assert!(parse("[[kernel]]\nsymbol = \"f\"\nwhy = \"so\"\nneed = []\n").is_err());
        let wrong = "[[kernel]]\nsymbol = \"f\"\nwhy = \"so\"\nneeds = [\"(\"]\n";
        assert!(parse(wrong).unwrap()[0].broken(&[]).unwrap_err().contains("`(`"));
    }
}
