// The table of an experiment: a row for each case. Rows are fetched in blocks and drawn only near the viewport.
import { make } from "/hemicycle/conversation/element.js";

const ROW_HEIGHT = 52; // pixels
const HEAD_HEIGHT = 66; // pixels, with room for a scroll bar
const OVERSCAN = 6; // rows drawn beyond the view
const BLOCK = 50; // rows fetched together, as in ui/web/pages/experiments/cells.py
const MAX_BLOCKS = 20; // blocks kept; the one used longest ago is dropped first

export default {
  render() {
    const { h } = Vue;
    const head = this.columns.map(([key, name, note], n) => h("div", {
      role: "columnheader", class: "cells-head", "aria-sort": key === this.sort ? "descending" : "none",
    }, [h("button", { type: "button", title: n ? `Sort by the scores of ${name}` : "In the order of the dataset", onClick: () => this.$emit("sort", key) }, [
      h("b", { dir: "auto" }, name), h("span", { class: "muted" }, note),
    ])]));
    return h("div", {
      class: "cells", role: "grid", tabindex: 0, "aria-label": this.label, "aria-rowcount": this.count + 1,
      "aria-activedescendant": this.active, onScrollPassive: this.draw, onKeydown: this.onKey, onClick: this.onClick,
      style: { "--columns": Math.max(0, this.columns.length - 1), "--height": `${this.count * ROW_HEIGHT + HEAD_HEIGHT}px` },
    }, [
      h("div", { class: "cells-row cells-heads", role: "row" }, head),
      h("div", { class: "cells-all", ref: "all", role: "rowgroup", style: { height: `${this.count * ROW_HEIGHT}px` } }),
    ]);
  },
  props: { label: String, columns: Array, total: Number, sort: String, first: Array, generation: Number },
  emits: ["need", "open", "sort"],
  data() { return { active: undefined, count: this.total }; },
  created() {
    this.blocks = new Map(); // the rows of each block, in the order of their last use
    this.asked = new Set();
    this.drawn = new Map(); // elements by row
    this.at = [0, 0]; // row and column of the active cell
  },
  mounted() {
    this.resizeObserver = new ResizeObserver(() => this.draw());
    this.resizeObserver.observe(this.$el);
    this.show(this.generation, this.total, this.first);
  },
  unmounted() { this.resizeObserver.disconnect(); },
  methods: {
    show(generation, total, first) { // another order: `first` are the rows of its first block
      this.current = generation;
      this.count = total;
      this.blocks = new Map(total ? [[0, first]] : []);
      this.asked.clear();
      for (const element of this.drawn.values()) element.remove();
      this.drawn.clear();
      this.$nextTick(() => this.draw());
    },
    fill(generation, block, rows) {
      if (generation !== this.current) return; // of an earlier order
      this.asked.delete(block);
      this.blocks.set(block, rows);
      while (this.blocks.size > MAX_BLOCKS) this.blocks.delete(this.blocks.keys().next().value);
      this.redraw((n) => Math.floor(n / BLOCK) === block);
    },
    patch(total, rows) { // rows that have changed, each with its place; new ones are at the end
      this.count = total;
      const changed = new Set();
      for (const [n, row] of rows) {
        const block = this.blocks.get(Math.floor(n / BLOCK)) ?? (n % BLOCK ? undefined : []);
        if (!block) continue;
        this.blocks.set(Math.floor(n / BLOCK), block);
        block[n % BLOCK] = row;
        changed.add(n);
      }
      this.redraw((n) => changed.has(n));
    },
    redraw(which) {
      for (const [n, element] of this.drawn) if (which(n)) { element.remove(); this.drawn.delete(n); }
      this.draw();
    },
    draw() {
      const box = this.$el, height = box.clientHeight;
      if (!height) return; // in a hidden tab
      const first = Math.max(0, Math.floor(box.scrollTop / ROW_HEIGHT) - OVERSCAN);
      const last = Math.min(this.count, first + Math.ceil(height / ROW_HEIGHT) + 2 * OVERSCAN);
      for (const [n, element] of this.drawn) if (n < first || n >= last) { element.remove(); this.drawn.delete(n); }
      const added = [];
      for (let n = first; n < last; n++) {
        if (this.drawn.has(n)) continue;
        const element = this.makeRow(n);
        this.drawn.set(n, element);
        added.push(element);
      }
      this.$refs.all.append(...added);
      this.fetch(first, last);
      this.active = this.drawn.has(this.at[0]) ? this.cellId(...this.at) : undefined;
    },
    fetch(first, last) {
      const due = [];
      for (let block = Math.floor(first / BLOCK); block * BLOCK < Math.min(this.count, last + BLOCK); block++) {
        const rows = this.blocks.get(block);
        if (rows) { // used last
          this.blocks.delete(block);
          this.blocks.set(block, rows);
        } else if (!this.asked.has(block)) {
          this.asked.add(block);
          due.push(block);
        }
      }
      if (due.length) this.$emit("need", [this.current, due]);
    },
    cellId(n, column) { return `${this.$el.id}-${n}-${column}`; },
    makeRow(n) {
      const row = make("div", "cells-row"), data = this.blocks.get(Math.floor(n / BLOCK))?.[n % BLOCK];
      row.style.transform = `translateY(${n * ROW_HEIGHT}px)`;
      row.dataset.row = n;
      row.setAttribute("role", "row");
      row.setAttribute("aria-rowindex", n + 2);
      if (!data) {
        row.classList.add("pending");
        row.append(make("div", "cells-case", "…"));
        return row;
      }
      const name = make("div", "cells-case");
      name.setAttribute("role", "rowheader");
      const text = make("span", "", data[0]);
      text.title = data[0];
      text.dir = "auto";
      name.append(text);
      row.append(name, ...data.slice(1).map((parts) => this.makeCell(parts)));
      [...row.children].forEach((cell, column) => {
        cell.id = this.cellId(n, column);
        cell.dataset.column = column;
        if (n === this.at[0] && column === this.at[1]) cell.classList.add("active");
      });
      return row;
    },
    makeCell([score, gain, tone, spread, spent, apart, share]) {
      const cell = make("div", "cells-cell");
      cell.setAttribute("role", "gridcell");
      if (apart === undefined) { // no run yet
        cell.append(make("span", "muted", "–"));
        return cell;
      }
      const line = make("span", "cells-line");
      if (score) line.append(make("b", "num", score));
      if (gain) line.append(make("span", `cells-gain num ${tone}`, gain));
      if (spread) line.append(make("span", "muted num", spread));
      for (const [kind, words] of apart) line.append(make("span", `cells-apart ${kind}`, words));
      cell.append(line);
      if (spent) cell.append(make("span", "cells-spent muted num", spent));
      if (share !== null) {
        const bar = make("i", "cells-bar");
        bar.style.setProperty("--share", share);
        cell.append(bar);
      }
      return cell;
    },
    activate(n, column) {
      document.getElementById(this.cellId(...this.at))?.classList.remove("active");
      this.at = [n, column];
      const box = this.$el, top = n * ROW_HEIGHT, head = box.firstElementChild.offsetHeight;
      if (top < box.scrollTop) box.scrollTop = top;
      else if (top + ROW_HEIGHT + head > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW_HEIGHT + head - box.clientHeight;
      this.draw();
      const cell = document.getElementById(this.cellId(n, column));
      cell?.classList.add("active");
      cell?.scrollIntoView({ block: "nearest", inline: "nearest" });
    },
    open() {
      const data = this.blocks.get(Math.floor(this.at[0] / BLOCK))?.[this.at[0] % BLOCK];
      if (data) this.$emit("open", [data[0], Math.max(0, this.at[1] - 1)]);
    },
    onClick(event) {
      const cell = event.target.closest("[data-column]"), row = event.target.closest("[data-row]");
      if (!cell || !row) return;
      this.activate(Number(row.dataset.row), Number(cell.dataset.column));
      this.open();
    },
    onKey(event) {
      if (event.target !== this.$el || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
      const page = Math.max(1, Math.floor(this.$el.clientHeight / ROW_HEIGHT) - 2), [n, column] = this.at;
      const moves = {
        ArrowUp: [n - 1, column], ArrowDown: [n + 1, column], PageUp: [n - page, column], PageDown: [n + page, column],
        ArrowLeft: [n, column - 1], ArrowRight: [n, column + 1], Home: [0, column], End: [this.count - 1, column],
      };
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); return this.open(); }
      if (!(event.key in moves)) return;
      event.preventDefault();
      const clamp = (value, most) => Math.min(most, Math.max(0, value));
      this.activate(clamp(moves[event.key][0], this.count - 1), clamp(moves[event.key][1], this.columns.length - 1));
    },
  },
};
