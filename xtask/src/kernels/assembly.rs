//! Functions and their instructions, from what `rustc --emit asm` prints for ELF.

use std::collections::BTreeSet;

use super::symbol;

/// A function of the assembly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name, demangled.
    pub name: String,
    /// Its instructions in order, one space between words.
    pub instructions: Vec<String>,
}

/// All functions of a text. Labels, comments and directives are left out; a name that stands for another function has
/// its instructions.
pub fn functions(text: &str) -> Vec<Function> {
    let mut announced = BTreeSet::new();
    let mut bodies: Vec<(&str, Vec<String>)> = Vec::new();
    let mut aliases = Vec::new();
    let mut open = false;
    for line in text.lines() {
        let line = without_comment(line).trim();
        if let Some(rest) = line.strip_prefix(".type") {
            announced.extend(rest.trim().strip_suffix(",@function"));
        } else if let Some(rest) = line.strip_prefix(".set") {
            aliases.extend(rest.trim().split_once(','));
        } else if line.starts_with(".size") || line.starts_with(".Lfunc_end") {
            open = false;
        } else if let Some(label) = line.strip_suffix(':') {
            if announced.contains(label) {
                bodies.push((label, Vec::new()));
                open = true;
            }
        } else if open && !line.is_empty() && !line.starts_with('.') {
            let words: Vec<&str> = line.split_whitespace().collect();
            bodies.iter_mut().last().into_iter().for_each(|body| body.1.push(words.join(" ")));
        }
    }
    let mut functions: Vec<Function> =
        bodies.iter().map(|(label, instructions)| function(label, instructions)).collect();
    for (label, target) in aliases {
        // LLVM merges functions with equal bodies; the second name is set to the first.
        if let Some((_, instructions)) = bodies.iter().find(|(label, _)| *label == target.trim()) {
            functions.push(function(label.trim(), instructions));
        }
    }
    functions
}

fn function(label: &str, instructions: &[String]) -> Function {
    Function { name: symbol::demangled(label), instructions: instructions.to_vec() }
}

/// `#` begins a comment at the beginning of a word; in this dialect nothing else does.
fn without_comment(line: &str) -> &str {
    let hash = line.char_indices().find(|&(at, c)| {
        c == '#' && line[..at].chars().next_back().is_none_or(char::is_whitespace)
    });
    let line = hash.map_or(line, |(at, _)| &line[..at]);
    if line.trim_start().starts_with("/*") { "" } else { line }
}

#[cfg(test)]
mod tests {
    use super::functions;

    #[test]
    fn functions_have_their_instructions_and_nothing_else() {
        let text = "
	.section	.text._ZN3one4sums17h0123456789abcdefE,\"ax\",@progbits
	.type	_ZN3one4sums17h0123456789abcdefE,@function
_ZN3one4sums17h0123456789abcdefE:
	.cfi_startproc
	#APP
	/* %rax */
2:
	.rept 4
	addq	%rcx, %rax
	.endr
	#NO_APP
.LBB0_1:
	movq	$-1, (%rdi)   # a comment
	retq
.Lfunc_end0:
	.size	_ZN3one4sums17h0123456789abcdefE, .Lfunc_end0-_ZN3one4sums17h0123456789abcdefE
	.type	table,@object
table:
	.quad	7
	.set	_ZN3one4same17h0123456789abcdefE, _ZN3one4sums17h0123456789abcdefE
";
        let found = functions(text);
        let names: Vec<&str> = found.iter().map(|function| function.name.as_str()).collect();
        assert_eq!(names, ["one::sums", "one::same"]);
        for function in &found {
            assert_eq!(function.instructions, ["addq %rcx, %rax", "movq $-1, (%rdi)", "retq"]);
        }
    }
}
