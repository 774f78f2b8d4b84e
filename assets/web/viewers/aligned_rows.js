// The aligned steps of two runs: thousands of rows of one height, of which only those in view are drawn.
import { make } from "/hemicycle/conversation/element.js";

const ROW_HEIGHT = 32; // pixels
const OVERSCAN = 8; // rows drawn beyond the view
const GLYPHS = { same: "=", apart: "≠", "only-a": "A", "only-b": "B" };

export default {
  render() {
    return Vue.h("div", {
      class: "aligned", role: "listbox", tabindex: 0, "aria-label": this.label, "aria-activedescendant": this.active,
      onScrollPassive: this.draw, onKeydown: this.onKey, onClick: this.onClick,
    }, [Vue.h("div", { class: "aligned-all" })]);
  },
  props: { label: String },
  emits: ["pick"],
  data() { return { active: undefined }; },
  created() { this.rows = []; this.selected = -1; },
  mounted() { this.resizeObserver = new ResizeObserver(() => this.draw()); this.resizeObserver.observe(this.$el); },
  unmounted() { this.resizeObserver.disconnect(); },
  methods: {
    show(rows, texts, at) { // a row: kind, step of A, step of B, indices of its texts, remark, whether the other run may still reach it
      [this.rows, this.texts, this.selected] = [rows, texts, at];
      this.$el.firstElementChild.style.height = `${rows.length * ROW_HEIGHT}px`;
      this.drawn = "";
      this.pick(at);
    },
    pick(at) {
      this.selected = at;
      const top = at * ROW_HEIGHT, box = this.$el;
      if (top < box.scrollTop) box.scrollTop = Math.max(0, top - ROW_HEIGHT);
      else if (top + ROW_HEIGHT > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight + 3 * ROW_HEIGHT;
      this.drawn = "";
      this.draw();
    },
    draw() {
      const first = Math.max(0, Math.floor(this.$el.scrollTop / ROW_HEIGHT) - OVERSCAN);
      const last = Math.min(this.rows.length, first + Math.ceil(this.$el.clientHeight / ROW_HEIGHT) + 2 * OVERSCAN);
      if (this.drawn === `${first}-${last}-${this.selected}`) return;
      this.drawn = `${first}-${last}-${this.selected}`;
      const rows = [];
      for (let n = first; n < last; n++) rows.push(this.row(n));
      this.$el.firstElementChild.replaceChildren(...rows);
      this.active = this.selected >= first && this.selected < last ? `${this.$el.id}-${this.selected}` : undefined;
    },
    row(n) {
      const [kind, a, b, text, other, remark, pending] = this.rows[n];
      const makeStep = (side, step) => {
        const cell = make("span", "aligned-step num");
        cell.append(make("span", "visually-hidden", step ? `${side} step ` : `not in ${side}`), step || makeGlyph("", "–"));
        return cell;
      };
      const makeGlyph = (name, text) => {
        const glyph = make("span", name, text);
        glyph.setAttribute("aria-hidden", "true");
        return glyph;
      };
      const row = make("div", `aligned-row ${kind}${pending ? " pending" : ""}`);
      row.id = `${this.$el.id}-${n}`;
      row.style.top = `${n * ROW_HEIGHT}px`;
      row.dataset.row = n;
      row.setAttribute("role", "option");
      row.setAttribute("aria-selected", String(n === this.selected));
      row.setAttribute("aria-posinset", n + 1);
      row.setAttribute("aria-setsize", this.rows.length);
      const label = other < 0 ? this.texts[text] : `A ${this.texts[text]} | B ${this.texts[other]}`;
      row.title = [label, remark, pending ? "not yet in the other run" : ""].filter(Boolean).join("\n");
      row.append(makeGlyph("aligned-kind", pending ? "…" : GLYPHS[kind]), makeStep("A", a), makeStep("B", b),
        make("span", "aligned-text", this.texts[text]));
      if (other >= 0) {
        row.lastElementChild.textContent = `A ${this.texts[text]}`;
        row.lastElementChild.append(make("span", "aligned-other", `B ${this.texts[other]}`));
      }
      if (remark) row.append(makeGlyph("aligned-remark", "Δ"));
      const heard = [remark, pending ? "not yet" : ""].filter(Boolean).join(", ");
      if (heard) row.append(make("span", "visually-hidden", heard));
      return row;
    },
    onClick(event) {
      const row = event.target.closest(".aligned-row");
      if (row) this.$emit("pick", Number(row.dataset.row));
    },
    onKey(event) {
      const page = Math.max(1, Math.floor(this.$el.clientHeight / ROW_HEIGHT) - 1);
      const moves = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page };
      if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
      event.preventDefault();
      const to = Math.min(this.rows.length - 1, Math.max(0, this.selected + moves[event.key]));
      if (to === this.selected) return;
      this.pick(to);
      this.$emit("pick", to);
    },
  },
};
