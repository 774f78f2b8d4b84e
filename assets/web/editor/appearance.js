// How the text of a chart looks: in the colours of the page, which its style sheet says by class.
import * as CM from "nicegui-codemirror";

// The tags of CodeMirror's own style, which are not exported otherwise, by the colours it gives them.
const CLASSES = { "00c": "chart-key", "a11": "chart-string", "219": "chart-atom", "164": "chart-atom", "708": "chart-atom", "940": "chart-comment", "404740": "chart-comment" };
const styles = CM.defaultHighlightStyle.specs.filter((spec) => CLASSES[spec.color?.slice(1)]).map((spec) => ({ tag: spec.tag, class: CLASSES[spec.color?.slice(1)] }));

export const appearance = [
  CM.syntaxHighlighting(CM.HighlightStyle.define(styles)),
  CM.EditorView.theme({
    "&": { height: "100%", color: "var(--text)", backgroundColor: "transparent" },
    "&.cm-focused": { outline: "none" },
    ".cm-scroller": { overflow: "auto", fontFamily: "var(--mono)", fontSize: "var(--small)", lineHeight: "1.6" },
    ".cm-content": { caretColor: "var(--text)" },
    ".cm-cursor": { borderLeftColor: "var(--text)" },
    ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--muted)", borderRight: "1px solid var(--line)" },
    ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--accent-soft) 40%, transparent)" },
    "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--accent-soft)" },
    ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "var(--other-soft)" },
    ".cm-selectionMatch": { backgroundColor: "var(--other-soft)" },
    ".cm-foldPlaceholder": { backgroundColor: "var(--sunken)", borderColor: "var(--line-strong)", color: "var(--muted)" },
    ".cm-tooltip, .cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)", borderColor: "var(--line-strong)" },
    ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent-soft)", color: "var(--text)" },
    ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "var(--small)" },
  }),
];
