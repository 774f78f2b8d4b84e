// Marks in the text of a chart: problems at their lines, in the gutter and on hover; and the lines of what is chosen.
import * as CM from "nicegui-codemirror";

export const setProblems = CM.StateEffect.define(); // [{ line, text, level }]
export const setLit = CM.StateEffect.define(); // line numbers

class ProblemMarker extends CM.GutterMarker {
  constructor(texts, level) { super(); Object.assign(this, { texts, level }); }
  eq(other) { return other.level === this.level && String(other.texts) === String(this.texts); }
  toDOM() {
    const mark = document.createElement("span");
    mark.className = `chart-mark level-${this.level}`;
    mark.textContent = this.level === "error" ? "!" : "?";
    mark.title = this.texts.join("\n");
    return mark;
  }
}

const lineOf = (doc, number) => (number >= 1 && number <= doc.lines ? doc.line(number) : null);

const problemField = CM.StateField.define({ // markers at the starts of lines, which move with the text
  create: () => CM.RangeSet.empty,
  update(markers, transaction) {
    markers = markers.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setProblems)) continue;
      const lines = new Map();
      for (const { line, text, level } of effect.value) {
        const at = lineOf(transaction.state.doc, line || 1);
        if (!at) continue;
        const mark = lines.get(at.from) || { texts: [], level };
        mark.texts.push(text);
        if (level === "error") mark.level = level;
        lines.set(at.from, mark);
      }
      markers = CM.RangeSet.of([...lines].map(([from, { texts, level }]) => new ProblemMarker(texts, level).range(from)), true);
    }
    return markers;
  },
});
const underlined = CM.EditorView.decorations.compute([problemField], (state) => {
  const lines = [];
  state.field(problemField).between(0, state.doc.length, (from, to, marker) => {
    lines.push(CM.Decoration.line({ class: `chart-problem level-${marker.level}` }).range(state.doc.lineAt(from).from));
  });
  return CM.Decoration.set(lines, true);
});
const litField = CM.StateField.define({
  create: () => CM.Decoration.none,
  update(lit, transaction) {
    lit = lit.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setLit)) continue;
      const lines = effect.value.map((number) => lineOf(transaction.state.doc, number)).filter(Boolean);
      lit = CM.Decoration.set(lines.map((line) => CM.Decoration.line({ class: "chart-lit" }).range(line.from)), true);
    }
    return lit;
  },
  provide: (field) => CM.EditorView.decorations.from(field),
});
const gutter = CM.gutter({ class: "chart-marks", markers: (view) => view.state.field(problemField), initialSpacer: () => new ProblemMarker([], "warning") });
const tooltip = CM.hoverTooltip((view, position) => {
  const texts = [], line = view.state.doc.lineAt(position);
  view.state.field(problemField).between(line.from, line.to, (from, to, marker) => { texts.push(...marker.texts); });
  if (!texts.length) return null;
  const create = () => {
    const dom = document.createElement("div");
    dom.className = "chart-problem-tip";
    dom.textContent = texts.join("\n");
    return { dom };
  };
  return { pos: line.from, above: true, create };
});

export const marks = [problemField, litField, underlined, gutter, tooltip];
