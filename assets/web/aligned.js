// Rows of two runs side by side, thousands of them: only those in sight are drawn, each as high as the others.
const HIGH = 32, AROUND = 8;
const GLYPHS = { same: "=", apart: "≠", "only-a": "A", "only-b": "B" };

export default {
  template: `<div class="aligned" role="listbox" tabindex="0" :aria-label="label" :aria-activedescendant="active" @scroll.passive="draw" @keydown="key" @click="click"><div class="aligned-all"></div></div>`,
  props: { label: String },
  emits: ["pick"],
  data() { return { active: undefined }; },
  created() { this.rows = []; this.at = -1; },
  mounted() { this.watcher = new ResizeObserver(() => this.draw()); this.watcher.observe(this.$el); },
  unmounted() { this.watcher.disconnect(); },
  methods: {
    show(rows, texts, at) { // a row is a kind, both steps, places of its texts, a remark, whether it may yet come
      [this.rows, this.texts, this.at] = [rows, texts, at];
      this.$el.firstElementChild.style.height = `${rows.length * HIGH}px`;
      this.drawn = "";
      this.pick(at);
    },
    pick(at) {
      this.at = at;
      const top = at * HIGH, box = this.$el;
      if (top < box.scrollTop) box.scrollTop = Math.max(0, top - HIGH);
      else if (top + HIGH > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight + 3 * HIGH;
      this.drawn = "";
      this.draw();
    },
    draw() {
      const first = Math.max(0, Math.floor(this.$el.scrollTop / HIGH) - AROUND);
      const last = Math.min(this.rows.length, first + Math.ceil(this.$el.clientHeight / HIGH) + 2 * AROUND);
      if (this.drawn === `${first}-${last}-${this.at}`) return;
      this.drawn = `${first}-${last}-${this.at}`;
      const made = [];
      for (let n = first; n < last; n++) made.push(this.row(n));
      this.$el.firstElementChild.replaceChildren(...made);
      this.active = this.at >= first && this.at < last ? `${this.$el.id}-${this.at}` : undefined;
    },
    row(n) {
      const [kind, a, b, text, other, remark, pending] = this.rows[n];
      const part = (name, said, hidden) => {
        const cell = document.createElement("span");
        cell.className = name;
        cell.textContent = said;
        if (hidden) cell.setAttribute("aria-hidden", "true");
        return cell;
      };
      const row = document.createElement("div");
      row.id = `${this.$el.id}-${n}`;
      row.className = `aligned-row ${kind}${pending ? " pending" : ""}`;
      row.style.top = `${n * HIGH}px`;
      row.dataset.row = n;
      row.setAttribute("role", "option");
      row.setAttribute("aria-selected", String(n === this.at));
      row.setAttribute("aria-posinset", n + 1);
      row.setAttribute("aria-setsize", this.rows.length);
      const told = other < 0 ? this.texts[text] : `A ${this.texts[text]} | B ${this.texts[other]}`;
      const where = [a ? `step ${a} of A` : "not in A", b ? `step ${b} of B` : "not in B"].join(", ");
      row.setAttribute("aria-label", [where, told, remark, pending ? "not yet" : ""].filter(Boolean).join("; "));
      row.title = [told, remark, pending ? "not yet in the other run" : ""].filter(Boolean).join("\n");
      row.append(part("aligned-kind", pending ? "…" : GLYPHS[kind], true), part("aligned-step num", a || "–"),
        part("aligned-step num", b || "–"), part("aligned-text", this.texts[text]));
      if (other >= 0) {
        row.lastElementChild.textContent = `A ${this.texts[text]}`;
        row.lastElementChild.append(part("aligned-other", `B ${this.texts[other]}`));
      }
      if (remark) row.append(part("aligned-remark", "Δ", true));
      return row;
    },
    click(event) {
      const row = event.target.closest(".aligned-row");
      if (row) this.$emit("pick", Number(row.dataset.row));
    },
    key(event) {
      const page = Math.max(1, Math.floor(this.$el.clientHeight / HIGH) - 1);
      const moves = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page };
      if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
      event.preventDefault();
      const to = Math.min(this.rows.length - 1, Math.max(0, this.at + moves[event.key]));
      if (to === this.at) return;
      this.pick(to);
      this.$emit("pick", to);
    },
  },
};
