//! `cpu.dhrystone`: Weicker's synthetic benchmark, version 2.1 ("Dhrystone: a synthetic systems programming
//! benchmark", Communications of the ACM 27(10), 1984; version 2 in SIGPLAN Notices 23(8), 1988).
//!
//! A hundred statements in the proportions of systems programs of the 1970s: assignments, comparisons, calls,
//! records behind pointers, strings of 30 characters. Its rules forbid to merge procedures into their
//! callers; so none is inlined here. Pointers to records are indices into the two that there are.

use std::hint::black_box;

use plumb_model::{AuditClass, Description, Ready};
use plumb_protocol::{Failure, Start, StartError, StartedWorkload, Workload};

use plumb_workload_kit::declare;
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::threads::{self, Member, Team};

/// The workload `cpu.dhrystone`: its parameters and metrics, and how it starts.
pub(super) struct Dhrystone;

/// Dhrystones a second of the VAX 11/780, which is taken for a machine of one MIPS.
const VAX: f64 = 1757.0;

impl Workload for Dhrystone {
    fn describe(&self) -> Description {
        declare::scaling(Description {
            parameters: vec![declare::threads("threads, each running the loop"), placement()],
            metrics: vec![
                declare::rate("rate", "dhrystones/s", "passes per second, all threads together"),
                declare::rate("dmips", "DMIPS", "rate / 1757, the rate of a VAX 11/780"),
                declare::time("time", "wall time of one pass on each thread"),
            ],
            audit_class: Some(AuditClass::Cpu),
            // Since 2 the loop is compiled by itself: 5 % less time.
            version: 2,
            ..declare::workload(
                "cpu.dhrystone",
                "legacy: Dhrystone, the statement mix of system programs of the 1970s",
            )
        })
    }

    fn manual(&self) -> &'static str {
        include_str!("dhrystone.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let threads = start.size("threads").max(1);
        let team = Team::placed(threads, start, |_| Ok(DhrystoneProgram::new()))?;
        let mut ready =
            Ready { work: declare::work(&[("rate", threads as u64)]), ..Ready::default() };
        #[expect(clippy::cast_precision_loss, reason = "numbers of threads are small")]
        ready.work.insert("dmips".into(), threads as f64 / VAX);
        threads::describe(threads, start, &mut ready)?;
        Ok(StartedWorkload { instance: Box::new(team), ready })
    }
}

type Text = [u8; 30];

/// The five words of the enumeration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ident {
    One,
    Two,
    Three,
    Four,
    #[cfg_attr(not(test), expect(dead_code, reason = "its branch belongs to the program"))]
    Five,
}

/// A record of the first variant, the only one that occurs.
#[derive(Debug, Clone, Copy)]
struct DhrystoneRecord {
    next: usize,
    variant: Ident,
    word: Ident,
    number: i32,
    text: Text,
}

/// The global variables.
struct Globals {
    int_glob: i32,
    bool_glob: bool,
    ch_1_glob: u8,
    ch_2_glob: u8,
    arr_1_glob: [i32; 50],
    arr_2_glob: [[i32; 50]; 50],
    ptr_glob: usize,
    records: [DhrystoneRecord; 2],
}

/// The main program with what is left of its last pass.
struct DhrystoneProgram {
    globals: Globals,
    str_1_loc: Text,
    str_2_loc: Text,
    int_locs: [i32; 3],
    enum_loc: Ident,
    passes: i32,
}

impl DhrystoneProgram {
    fn new() -> Self {
        let text = *b"DHRYSTONE PROGRAM, SOME STRING";
        let empty = DhrystoneRecord {
            next: 0,
            variant: Ident::One,
            word: Ident::One,
            number: 0,
            text: [0; 30],
        };
        let first = DhrystoneRecord { next: 1, word: Ident::Three, number: 40, text, ..empty };
        let mut arr_2_glob = [[0; 50]; 50];
        arr_2_glob[8][7] = 10;
        let globals = Globals {
            int_glob: 0,
            bool_glob: false,
            ch_1_glob: 0,
            ch_2_glob: 0,
            arr_1_glob: [0; 50],
            arr_2_glob,
            ptr_glob: 0,
            records: [first, empty],
        };
        let str_1_loc = *b"DHRYSTONE PROGRAM, 1'ST STRING";
        Self {
            globals,
            str_1_loc,
            str_2_loc: [0; 30],
            int_locs: [0; 3],
            enum_loc: Ident::One,
            passes: 0,
        }
    }

    /// The body of the main program's loop.
    fn pass(&mut self, run_index: i32) {
        let globals = &mut self.globals;
        globals.proc_5();
        globals.proc_4();
        let mut int_1_loc = 2;
        let mut int_2_loc = 3;
        let mut int_3_loc = 0;
        self.str_2_loc = *b"DHRYSTONE PROGRAM, 2'ND STRING";
        let mut enum_loc = Ident::Two;
        globals.bool_glob = !globals.func_2(&self.str_1_loc, &self.str_2_loc);
        while int_1_loc < int_2_loc {
            int_3_loc = 5 * int_1_loc - int_2_loc;
            proc_7(int_1_loc, int_2_loc, &mut int_3_loc);
            int_1_loc += 1;
        }
        globals.proc_8(int_1_loc, int_3_loc);
        globals.proc_1(globals.ptr_glob);
        let mut ch_index = b'A';
        while ch_index <= globals.ch_2_glob {
            if enum_loc == globals.func_1(ch_index, b'C') {
                proc_6(Ident::One, globals.int_glob, &mut enum_loc);
                self.str_2_loc = *b"DHRYSTONE PROGRAM, 3'RD STRING";
                int_2_loc = run_index;
                globals.int_glob = run_index;
            }
            ch_index += 1;
        }
        int_2_loc *= int_1_loc;
        int_1_loc = int_2_loc / int_3_loc;
        int_2_loc = 7 * (int_2_loc - int_3_loc) - int_1_loc;
        globals.proc_2(&mut int_1_loc);
        self.int_locs = [int_1_loc, int_2_loc, int_3_loc];
        self.enum_loc = enum_loc;
    }

    /// Everything that the program prints at its end, against what it says it should be.
    fn check(&self) -> Result<(), Failure> {
        let g = &self.globals;
        let [first, second] = &g.records;
        let text = *b"DHRYSTONE PROGRAM, SOME STRING";
        let finals = [
            ("Int_Glob", g.int_glob == 5),
            ("Bool_Glob", g.bool_glob),
            ("Ch_1_Glob", g.ch_1_glob == b'A'),
            ("Ch_2_Glob", g.ch_2_glob == b'B'),
            ("Arr_1_Glob[8]", g.arr_1_glob[8] == 7),
            ("Arr_2_Glob[8][7]", g.arr_2_glob[8][7] == self.passes.wrapping_add(10)),
            ("Ptr_Glob->Ptr_Comp", first.next == 1),
            ("Ptr_Glob->Discr", first.variant == Ident::One),
            ("Ptr_Glob->Enum_Comp", first.word == Ident::Three),
            ("Ptr_Glob->Int_Comp", first.number == 17),
            ("Ptr_Glob->Str_Comp", first.text == text),
            ("Next_Ptr_Glob->Ptr_Comp", second.next == 1),
            ("Next_Ptr_Glob->Discr", second.variant == Ident::One),
            ("Next_Ptr_Glob->Enum_Comp", second.word == Ident::Two),
            ("Next_Ptr_Glob->Int_Comp", second.number == 18),
            ("Next_Ptr_Glob->Str_Comp", second.text == text),
            ("Int_1_Loc, Int_2_Loc, Int_3_Loc", self.int_locs == [5, 13, 7]),
            ("Enum_Loc", self.enum_loc == Ident::Two),
            ("Str_1_Loc", self.str_1_loc == *b"DHRYSTONE PROGRAM, 1'ST STRING"),
            ("Str_2_Loc", self.str_2_loc == *b"DHRYSTONE PROGRAM, 2'ND STRING"),
        ];
        match finals.iter().find(|(_, right)| !right) {
            None => Ok(()),
            Some((name, _)) => Err(Failure(format!(
                "cpu.dhrystone: {name} does not have the published final value after {} passes",
                self.passes
            ))),
        }
    }
}

impl Globals {
    #[inline(never)]
    fn proc_1(&mut self, ptr_val_par: usize) {
        let next = self.records[ptr_val_par].next;
        self.records[next] = self.records[self.ptr_glob];
        self.records[ptr_val_par].number = 5;
        self.records[next].number = self.records[ptr_val_par].number;
        self.records[next].next = self.records[ptr_val_par].next;
        self.proc_3(next);
        if self.records[next].variant == Ident::One {
            self.records[next].number = 6;
            let word = self.records[ptr_val_par].word;
            proc_6(word, self.int_glob, &mut self.records[next].word);
            self.records[next].next = self.records[self.ptr_glob].next;
            proc_7(self.records[next].number, 10, &mut self.records[next].number);
        } else {
            self.records[ptr_val_par] = self.records[next];
        }
    }

    #[inline(never)]
    fn proc_2(&self, int_par_ref: &mut i32) {
        let mut int_loc = *int_par_ref + 10;
        loop {
            if self.ch_1_glob == b'A' {
                int_loc -= 1;
                *int_par_ref = int_loc - self.int_glob;
                break;
            }
        }
    }

    #[inline(never)]
    fn proc_3(&mut self, ptr_ref_par: usize) {
        if let Some(record) = self.records.get(self.ptr_glob) {
            self.records[ptr_ref_par].next = record.next;
        }
        proc_7(10, self.int_glob, &mut self.records[self.ptr_glob].number);
    }

    #[inline(never)]
    fn proc_4(&mut self) {
        let bool_loc = self.ch_1_glob == b'A';
        self.bool_glob |= bool_loc;
        self.ch_2_glob = b'B';
    }

    #[inline(never)]
    fn proc_5(&mut self) {
        self.ch_1_glob = b'A';
        self.bool_glob = false;
    }

    #[inline(never)]
    fn proc_8(&mut self, int_1_par: i32, int_2_par: i32) {
        let int_loc = int_1_par + 5;
        let place = usize::try_from(int_loc).unwrap_or(0);
        self.arr_1_glob[place] = int_2_par;
        self.arr_1_glob[place + 1] = self.arr_1_glob[place];
        self.arr_1_glob[place + 30] = int_loc;
        for index in place..=place + 1 {
            self.arr_2_glob[place][index] = int_loc;
        }
        let counter = &mut self.arr_2_glob[place][place - 1];
        *counter = counter.wrapping_add(1);
        self.arr_2_glob[place + 20][place] = self.arr_1_glob[place];
        self.int_glob = 5;
    }

    #[inline(never)]
    fn func_1(&mut self, ch_1_par: u8, ch_2_par: u8) -> Ident {
        let ch_1_loc = ch_1_par;
        let ch_2_loc = ch_1_loc;
        if ch_2_loc != ch_2_par {
            return Ident::One;
        }
        self.ch_1_glob = ch_1_loc;
        Ident::Two
    }

    #[inline(never)]
    fn func_2(&mut self, str_1_par: &Text, str_2_par: &Text) -> bool {
        let mut int_loc = 2;
        let mut ch_loc = 0;
        while int_loc <= 2 {
            if self.func_1(str_1_par[int_loc], str_2_par[int_loc + 1]) == Ident::One {
                ch_loc = b'A';
                int_loc += 1;
            }
        }
        if (b'W'..b'Z').contains(&ch_loc) {
            int_loc = 7;
        }
        if ch_loc == b'R' {
            return true;
        }
        if str_1_par <= str_2_par {
            return false;
        }
        self.int_glob = i32::try_from(int_loc + 7).unwrap_or(0);
        true
    }
}

#[inline(never)]
fn proc_6(enum_val_par: Ident, int_glob: i32, enum_ref_par: &mut Ident) {
    *enum_ref_par = if func_3(enum_val_par) { enum_val_par } else { Ident::Four };
    match enum_val_par {
        Ident::One => *enum_ref_par = Ident::One,
        Ident::Two => *enum_ref_par = if int_glob > 100 { Ident::One } else { Ident::Four },
        Ident::Three => *enum_ref_par = Ident::Two,
        Ident::Four => {}
        Ident::Five => *enum_ref_par = Ident::Three,
    }
}

#[inline(never)]
fn proc_7(int_1_par: i32, int_2_par: i32, int_par_ref: &mut i32) {
    let int_loc = int_1_par + 2;
    *int_par_ref = int_2_par + int_loc;
}

#[inline(never)]
fn func_3(enum_par: Ident) -> bool {
    enum_par == Ident::Three
}

impl Member for DhrystoneProgram {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            self.passes = self.passes.wrapping_add(1);
            self.pass(self.passes);
            black_box(&mut *self);
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        self.check()
    }
}

#[cfg(test)]
mod tests {
    use super::{DhrystoneProgram, Ident, Member, proc_6};

    #[test]
    fn final_values_are_the_published_ones_after_any_number_of_passes() {
        let mut program = DhrystoneProgram::new();
        assert!(program.check().is_err(), "nothing was done yet");
        for passes in [1, 1, 1000] {
            program.run(passes).unwrap();
            program.verify().unwrap();
        }
        assert_eq!(program.globals.arr_2_glob[8][7], 1012);
    }

    #[test]
    fn a_wrong_final_value_is_named() {
        let mut program = DhrystoneProgram::new();
        program.run(3).unwrap();
        program.globals.arr_2_glob[8][7] += 1;
        let why = program.verify().unwrap_err().0;
        assert!(why.contains("Arr_2_Glob[8][7]") && why.contains("3 passes"), "{why}");
    }

    #[test]
    fn branches_that_never_happen_are_there() {
        let turned = |from, int_glob| {
            let mut to = from;
            proc_6(from, int_glob, &mut to);
            to
        };
        assert_eq!(turned(Ident::Two, 101), Ident::One);
        assert_eq!(turned(Ident::Two, 100), Ident::Four);
        assert_eq!(turned(Ident::Four, 0), Ident::Four);
        assert_eq!(turned(Ident::Five, 0), Ident::Three);
    }
}
