// The text of a chart in CodeMirror. The server checks it, completes it, and changes it: each change is one step of undo.
import * as CM from "nicegui-codemirror";
import { appearance } from "/hemicycle/editor/appearance.js";
import { marks, setProblems, setLit } from "/hemicycle/editor/marks.js";

const QUIET = 200, CURSOR_QUIET = 80, PATIENCE = 3000; // milliseconds
const NARROW = "(max-width: 600px)"; // there, a chart can only be looked at
const UNDONE = 1000; // steps that can be undone, at least
const WORD = /[\w.-]*/;

export default {
  render() { return Vue.h("div", { class: "chart-text" }); },
  props: { value: String, label: String, readonly: Boolean },
  emits: ["text", "line", "complete", "history", "save", "late", "narrow"],
  mounted() {
    Object.assign(this, { serial: 0, unsent: false, saved: this.value, answers: new Map(), asked: 0, line: 0, steps: "" });
    this.language = new CM.Compartment();
    this.editing = new CM.Compartment();
    this.narrow = matchMedia(NARROW);
    this.view = new CM.EditorView({ doc: this.value, extensions: this.extensions(), parent: this.$el });
    CM.languages.find((language) => language.name === "YAML")?.load().then((yaml) => this.view.dispatch({ effects: this.language.reconfigure(yaml) }));
    if (this.readonly) return;
    this.narrow.addEventListener("change", this.onNarrow);
    if (this.narrow.matches) this.onNarrow();
    document.addEventListener("keydown", this.onDocumentKey, true);
    addEventListener("beforeunload", this.onLeave);
  },
  beforeUnmount() {
    clearTimeout(this.timer);
    clearTimeout(this.cursorTimer);
    this.narrow.removeEventListener("change", this.onNarrow);
    document.removeEventListener("keydown", this.onDocumentKey, true);
    removeEventListener("beforeunload", this.onLeave);
    this.view?.destroy();
  },
  methods: {
    extensions() {
      const own = [
        CM.basicSetup,
        CM.history({ minDepth: UNDONE }),
        CM.indentUnit.of("  "),
        CM.EditorState.tabSize.of(2),
        CM.EditorView.lineWrapping,
        this.language.of([]),
        appearance,
        marks,
        this.editing.of(this.lock(this.readonly || this.narrow.matches)),
        CM.EditorView.contentAttributes.of({ "aria-label": this.label, tabindex: "0" }),
        CM.EditorView.updateListener.of((update) => this.onUpdate(update)),
      ];
      if (this.readonly) return own;
      const source = (context) => this.complete(context);
      return [...own, CM.keymap.of([CM.indentWithTab]), CM.EditorState.languageData.of(() => [{ autocomplete: source }])];
    },
    lock(locked) { return [CM.EditorState.readOnly.of(locked), CM.EditorView.editable.of(!locked)]; },
    onNarrow() {
      this.view.dispatch({ effects: this.editing.reconfigure(this.lock(this.narrow.matches)) });
      this.$emit("narrow", this.narrow.matches);
    },
    onUpdate(update) {
      if (update.docChanged && !this.applying) {
        this.unsent = true;
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.flush(), QUIET);
      }
      if (update.focusChanged && !update.view.hasFocus) this.flush();
      if (update.docChanged) this.reportHistory();
      if (!update.docChanged && !update.selectionSet) return;
      clearTimeout(this.cursorTimer);
      this.cursorTimer = setTimeout(() => this.reportLine(), CURSOR_QUIET);
    },
    flush() { // what was typed is sent before anything that depends on it
      clearTimeout(this.timer);
      if (!this.unsent) return;
      this.unsent = false;
      this.$emit("text", [this.view.state.doc.toString(), ++this.serial]);
    },
    reportLine() {
      const line = this.view.state.doc.lineAt(this.view.state.selection.main.head).number;
      if (line !== this.line) this.$emit("line", (this.line = line));
    },
    reportHistory() {
      const steps = [CM.undoDepth(this.view.state) > 0, CM.redoDepth(this.view.state) > 0];
      if (String(steps) !== this.steps) this.$emit("history", steps);
      this.steps = String(steps);
    },
    onDocumentKey(event) {
      if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || event.key.toLowerCase() !== "s") return;
      event.preventDefault();
      event.stopPropagation();
      if (!document.querySelector(".q-dialog, dialog[open]")) this.save();
    },
    onLeave(event) { if (this.view.state.doc.toString() !== this.saved) event.preventDefault(); },
    save() {
      this.flush();
      this.$emit("save");
    },
    markSaved(text) { this.saved = text; },
    replace(text, serial) { // what the server made of the text with this serial number, as one step of undo
      if (this.unsent || serial !== this.serial) {
        this.flush();
        return this.$emit("late");
      }
      const old = this.view.state.doc.toString();
      if (old === text) return;
      let from = 0, to = old.length, end = text.length;
      while (from < Math.min(to, end) && old[from] === text[from]) from++;
      while (to > from && end > from && old[to - 1] === text[end - 1]) { to--; end--; }
      this.applying = true;
      const changes = { from, to, insert: text.slice(from, end) };
      this.view.dispatch({ changes, annotations: CM.isolateHistory.of("full"), scrollIntoView: true, selection: { anchor: from } });
      this.applying = false;
    },
    undo() { CM.undo(this.view); this.flush(); },
    redo() { CM.redo(this.view); this.flush(); },
    show(problems) { this.view.dispatch({ effects: setProblems.of(problems) }); },
    light(lines) { this.view.dispatch({ effects: setLit.of(lines) }); },
    go(number, focus) { // to a line, as if it had been clicked
      const line = this.view.state.doc.line(Math.max(1, Math.min(number, this.view.state.doc.lines)));
      const anchor = line.from + (line.text.length - line.text.trimStart().length);
      const effects = CM.EditorView.scrollIntoView(anchor, { y: "nearest", yMargin: this.view.scrollDOM.clientHeight / 3 });
      this.line = line.number; // the server knows
      this.view.dispatch({ selection: { anchor }, effects });
      if (focus) this.view.focus();
    },
    complete(context) {
      const word = context.matchBefore(WORD);
      if (!context.explicit && word.from === word.to) return null;
      this.flush();
      const line = context.state.doc.lineAt(context.pos), id = ++this.asked;
      this.$emit("complete", [id, line.number, line.text.slice(0, context.pos - line.from)]);
      return new Promise((done) => {
        const timer = setTimeout(() => done(null), PATIENCE);
        this.answers.set(id, (start, options) => {
          clearTimeout(timer);
          done(options.length ? { from: line.from + start, options, validFor: /^[\w-]*$/ } : null);
        });
      });
    },
    offer(id, start, options) {
      this.answers.get(id)?.(start, options);
      this.answers.delete(id);
    },
  },
};
