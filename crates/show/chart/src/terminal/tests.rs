use plumb_text::Terminal;

use super::drawing;
use crate::chart::{Along, Chart, Mark, Tone};
use crate::draft::Draft;
use crate::spec::{AxisFit, AxisSpec};

fn boxes() -> Chart {
    let names = ["copy libc", "copy nt"].map(str::to_owned).to_vec();
    let x = AxisSpec::values("bandwidth", "B/s", AxisFit::Free);
    let mut draft =
        Draft::new("a".into(), "memory.copy".into(), "says".into(), x, AxisSpec::Names(names));
    let giga = |values: [f64; 2]| values.map(|value| value * 1e9).to_vec();
    let mark = Mark::Boxes {
        along: Along::X,
        at: vec![0.0, 1.0],
        low: giga([10.0, 12.5]),
        q1: giga([11.0, 13.0]),
        median: giga([11.5, 13.5]),
        q3: giga([12.0, 14.5]),
        high: giga([13.0, 16.0]),
    };
    draft.layer(None, mark);
    let samples = draft.group("samples", Tone::Steady);
    let x = giga([9.0, 13.2]);
    let y = vec![0.1, 0.9];
    let tips = vec![String::new(); 2];
    draft.layer(Some(samples), Mark::Dots { x, y, tips });
    let estimate = draft.group("median, 95 % interval", Tone::Plain);
    let mark = Mark::Intervals {
        along: Along::X,
        at: vec![0.36, 1.36],
        low: vec![Some(11.2e9), None],
        estimate: giga([11.5, 13.5]),
        high: vec![Some(11.9e9), None],
        tips: vec!["11.5".into(), "13.5".into()],
    };
    draft.layer(Some(estimate), mark);
    draft.finish().unwrap()
}

#[test]
fn boxes_stand_below_each_other_on_one_scale() {
    let plain = Terminal::plain(60);
    insta::assert_snapshot!(drawing(&boxes(), &plain), @"
    memory.copy · bandwidth (GB/s)
      copy libc    •     ├─────▒▒▒┃▒▒▒─────┤
                                ├─●─┤
      copy nt                           ├──▒▒▒┃▒▒▒▒▒▒────────┤
                                              ●
                 ────────┴───────────┴───────────┴───────────┴──
                        10          12          14          16
      • samples · ● median, 95 % interval
    ");
    insta::assert_snapshot!(drawing(&boxes(), &Terminal { unicode: false, ..plain }), @"
    memory.copy | bandwidth (GB/s)
      copy libc    *     |-----###|###-----|
                                |-o-|
      copy nt                           |--###|######--------|
                                              o
                 --------+-----------+-----------+-----------+--
                        10          12          14          16
      * samples | o median, 95 % interval
    ");
}

#[test]
fn lines_are_drawn_on_a_grid() {
    let x = AxisSpec::values("time", "s", AxisFit::Even);
    let y = AxisSpec::values("switches", "/s", AxisFit::FromZero);
    let mut draft = Draft::new("a".into(), "switches".into(), "says".into(), x, y);
    let group = draft.group("6.12", Tone::Plain);
    let x: Vec<f64> = (0..20_u8).map(f64::from).collect();
    let y = x.iter().map(|x| Some(100.0 * x)).collect();
    draft.layer(Some(group), Mark::Line { x, y, steps: false });
    let chart = draft.finish().unwrap();
    insta::assert_snapshot!(drawing(&chart, &Terminal::plain(50)), @"
    switches · k /s
          │                                        ●
          │                                     ●●●
          │                                 ●●●●
      1.5 ┤                             ●●●●
          │                          ●●●
      1.0 ┤                      ●●●●
          │                   ●●●
          │               ●●●●
      0.5 ┤           ●●●●
          │        ●●●
          │    ●●●●
        0 ┤  ●●
           ──┴─────────┴─────────┴─────────┴──────────
             0         5        10        15
      ● 6.12
    ");
}

#[test]
fn whatever_the_width_no_line_is_wider() {
    for width in [40, 60, 80, 133] {
        let drawn = drawing(&boxes(), &Terminal::plain(width));
        assert!(drawn.lines().all(|line| plumb_text::width(line) <= width), "{drawn}");
    }
}
