//! From marks to a chart: axes that hold every mark, in units that people read.

use crate::chart::{Along, CHART_SCHEMA, Chart, Mark, MarkGroup, MarkLayer, Tone};
use crate::spec::{AxisFit, AxisSpec, ValueRange};

/// A chart without axes.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The label and the unit of what colours stand for, for a heat map.
    pub colour: Option<(String, String)>,
    id: String,
    title: String,
    says: String,
    x: AxisSpec,
    y: AxisSpec,
    groups: Vec<MarkGroup>,
    layers: Vec<MarkLayer>,
    notes: Vec<String>,
}

impl Draft {
    /// A chart with nothing on it: its name, what stands above it, how to read it, and its axes.
    #[must_use]
    pub fn new(id: String, title: String, says: String, x: AxisSpec, y: AxisSpec) -> Self {
        Self {
            colour: None,
            id,
            title,
            says,
            x,
            y,
            groups: Vec::new(),
            layers: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Another group; gives back its index.
    pub fn group(&mut self, name: &str, tone: Tone) -> usize {
        let group = MarkGroup { name: name.to_owned(), tone };
        if let Some(known) = self.groups.iter().position(|known| *known == group) {
            return known;
        }
        self.groups.push(group);
        self.groups.len() - 1
    }

    /// Marks below all others.
    pub fn layer_below(&mut self, group: Option<usize>, mark: Mark) {
        self.layers.insert(0, MarkLayer { group, mark });
    }

    /// More marks, on top of the others; none is not a layer.
    pub fn layer(&mut self, group: Option<usize>, mark: Mark) {
        self.layers.push(MarkLayer { group, mark });
    }

    /// A note below the chart, once however often it is said.
    pub fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// The chart; None without a mark of data.
    pub fn finish(mut self) -> Option<Chart> {
        let mut lost = 0;
        for layer in &mut self.layers {
            lost += layer.mark.drop_unsound();
        }
        if lost > 0 {
            self.note(format!("{lost} values are not finite numbers and are not shown"));
        }
        self.layers.retain(|layer| !layer.mark.is_empty());
        // Rules and spans are context. A chart of nothing else would show no measurement.
        if !self.layers.iter().any(is_data) {
            return None;
        }
        self.drop_unused_groups();
        let x = self.x.axis(extent(&self.layers, Along::X));
        let y = self.y.axis(extent(&self.layers, Along::Y));
        let colour = self.colour.map(|(label, unit)| {
            let values = self.layers.iter().flat_map(|layer| layer.mark.colours());
            let extent = ValueRange::of(values);
            let mut axis = AxisSpec::Values { label, unit, fit: AxisFit::Free }.axis(extent);
            // Shades run exactly from the least to the greatest value: free room at the ends would waste them.
            if extent.low < extent.high {
                axis.low = extent.low;
                axis.high = extent.high;
            }
            axis
        });
        let chart = Chart {
            schema: CHART_SCHEMA,
            id: self.id,
            title: self.title,
            says: self.says,
            x,
            y,
            colour,
            groups: self.groups,
            layers: self.layers,
            notes: self.notes,
            instead_of: None,
        };
        Some(chart.cleaned())
    }

    // A group whose marks were all left out would stand in the legend without a mark.
    fn drop_unused_groups(&mut self) {
        let kept: Vec<usize> = (0..self.groups.len())
            .filter(|&index| self.layers.iter().any(|layer| layer.group == Some(index)))
            .collect();
        for layer in &mut self.layers {
            layer.group = layer.group.and_then(|old| kept.iter().position(|&index| index == old));
        }
        self.groups = std::mem::take(&mut self.groups)
            .into_iter()
            .enumerate()
            .filter(|(index, _)| kept.contains(index))
            .map(|(_, group)| group)
            .collect();
    }
}

fn is_data(layer: &MarkLayer) -> bool {
    !matches!(layer.mark, Mark::Rules { .. } | Mark::Spans { .. })
}

fn extent(layers: &[MarkLayer], along: Along) -> ValueRange {
    ValueRange::of(layers.iter().flat_map(|layer| layer.mark.places(along)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, proptest};

    use super::Draft;
    use crate::chart::{Along, Mark, Scale, Tone};
    use crate::spec::{AxisFit, AxisSpec};

    fn draft(fit: AxisFit) -> Draft {
        let axis = |fit| AxisSpec::values("what", "s", fit);
        Draft::new("a/b".into(), "title".into(), "says".into(), axis(AxisFit::Even), axis(fit))
    }

    fn dots(y: Vec<f64>) -> Mark {
        let x = (0..y.len()).map(crate::place::place).collect();
        Mark::Dots { x, tips: vec![String::new(); y.len()], y }
    }

    #[test]
    fn what_is_no_number_is_left_out_and_that_is_said() {
        let mut draft = draft(AxisFit::Free);
        let unused = draft.group("unused", Tone::Plain);
        let used = draft.group("used", Tone::Plain);
        draft.layer(Some(unused), dots(vec![f64::NAN, f64::INFINITY, 1e305]));
        draft.layer(Some(used), dots(vec![2.0, f64::NAN, 3.0]));
        let chart = draft.finish().unwrap();
        assert_eq!(chart.notes, ["4 values are not finite numbers and are not shown"]);
        assert_eq!((chart.layers.len(), chart.layers[0].group), (1, Some(0)));
        assert_eq!(chart.groups[0].name, "used");
        assert_eq!(chart.layers[0].mark.places(Along::X), [0.0, 2.0]);
        assert_eq!(draft_of_rules().finish(), None);
    }

    /// Lines across, and nothing to compare with them.
    fn draft_of_rules() -> Draft {
        let mut draft = draft(AxisFit::Free);
        let along = Along::Y;
        let at = vec![1.0];
        let tips = vec!["equal".to_owned()];
        draft.layer(None, Mark::Rules { along, at, tips });
        draft
    }

    #[test]
    fn scales_follow_the_values() {
        let scale = |fit, y: &[f64]| {
            let mut draft = draft(fit);
            draft.layer(None, dots(y.to_vec()));
            let axis = draft.finish().unwrap().y;
            (axis.scale, axis.unit, axis.low <= 0.0)
        };
        assert_eq!(scale(AxisFit::Free, &[0.002, 0.003]), (Scale::Linear, "ms".into(), false));
        assert_eq!(scale(AxisFit::Free, &[1e-6, 1e-4]), (Scale::Log, "µs".into(), false));
        assert_eq!(scale(AxisFit::Free, &[1e-9, 1.0]), (Scale::Log, "s".into(), false));
        assert_eq!(scale(AxisFit::Free, &[0.0, 1.0]), (Scale::Linear, "s".into(), true));
        assert_eq!(scale(AxisFit::FromZero, &[5.0, 6.0]), (Scale::Linear, "s".into(), true));
        assert_eq!(scale(AxisFit::Log, &[0.9, 1.1]), (Scale::Log, "ms".into(), false));
    }

    /// Of ends whose ratio, with the margin, is larger than any number.
    #[test]
    fn values_may_be_as_far_apart_as_numbers_can_be() {
        let mut draft = draft(AxisFit::Log);
        draft.layer(None, dots(vec![1.364_912_110_500_042_2e-41, 3.362_053_763_283_909_6e258]));
        let svg = draft.finish().unwrap().svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    proptest! {
        #[test]
        fn any_numbers_have_axes_pictures_and_drawings(
            y in prop::collection::vec(any::<f64>(), 1..20),
            fit in prop::sample::select(vec![AxisFit::Free, AxisFit::Even, AxisFit::FromZero, AxisFit::Log, AxisFit::Date]),
        ) {
            let mut draft = draft(fit);
            draft.layer(None, dots(y));
            if let Some(chart) = draft.finish() {
                let places = chart.layers[0].mark.places(Along::Y);
                assert!(places.iter().all(|at| (chart.y.low..=chart.y.high).contains(at)), "{chart:?}");
                let svg = chart.svg();
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
                assert!(!crate::drawing(&chart, &plumb_text::Terminal::plain(80)).is_empty());
            }
        }
    }
}
