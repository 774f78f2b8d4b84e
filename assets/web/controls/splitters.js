// Splitters of a grid of panes: drag them or use the arrow keys, Home and End; a double click or Enter resets the sizes.
const STEP = 24;

export default {
  render() {
    return Vue.h("div", { class: "splits" }, this.splits.map((split) => Vue.h("div", {
      key: split.key, class: ["split", split.along], style: split.style, role: "separator", tabindex: 0,
      "aria-orientation": split.along === "c" ? "vertical" : "horizontal", "aria-label": split.label,
      "aria-valuenow": split.now, "aria-valuemin": 0, "aria-valuemax": 100,
      onPointerdown: (event) => this.startDrag(event, split), onPointermove: this.drag, onPointerup: this.endDrag, onPointercancel: this.endDrag,
      onKeydown: (event) => this.onKey(event, split), onDblclick: () => this.reset(split),
    })));
  },
  props: { columns: Number, rows: Number, storageKey: String },
  data() { return { shares: {} }; },
  computed: {
    splits() {
      const splits = [];
      for (const [along, count] of [["c", this.columns], ["r", this.rows]])
        for (let i = 1; i < (count || 0); i++)
          splits.push({
            key: `${along}${i}`, along, i, now: this.shares[`${along}${i}`] ?? 50,
            label: along === "c" ? `Width of column ${i}` : `Height of row ${i}`,
            style: along === "c"
              ? { gridColumn: 2 * i, gridRow: `1 / span ${2 * this.rows - 1}` }
              : { gridRow: 2 * i, gridColumn: "1 / -1" },
          });
      return splits;
    },
  },
  beforeMount() { // restores the saved sizes before anything is drawn
    if (!this.storageKey) return;
    try {
      JSON.parse(localStorage.getItem(`hemicycle-${this.storageKey}`) || "[]").forEach((size, i) =>
        document.documentElement.style.setProperty(`--${this.storageKey}-c${i + 1}`, `${Number(size) || 1}fr`));
    } catch { /* not saved by this code */ }
  },
  methods: {
    grid() { return this.$el.parentElement; },
    styleHolder() { return this.storageKey ? document.documentElement : this.$el.closest(".panel"); }, // the server overwrites the style of the grid itself
    trackVariable(along, i) { return `--${this.storageKey ? `${this.storageKey}-` : ""}${along}${i}`; },
    saveSizes(sizes) { if (this.storageKey) localStorage.setItem(`hemicycle-${this.storageKey}`, JSON.stringify(sizes)); },
    sizes(along) { // of the tracks with panes, in pixels
      const style = getComputedStyle(this.grid());
      const all = (along === "c" ? style.gridTemplateColumns : style.gridTemplateRows).split(" ").map(parseFloat);
      return all.filter((_, i) => i % 2 === 0).slice(0, along === "c" ? this.columns : this.rows);
    },
    move(split, sizes, by) {
      const minSize = this.storageKey ? 240 : 150;
      const total = sizes[split.i - 1] + sizes[split.i];
      const first = Math.min(Math.max(sizes[split.i - 1] + by, minSize), Math.max(total - minSize, minSize));
      const now = [...sizes];
      now[split.i - 1] = first;
      now[split.i] = total - first;
      now.forEach((size, i) => this.styleHolder().style.setProperty(this.trackVariable(split.along, i + 1), `${Math.max(Math.round(size), 1)}fr`));
      this.saveSizes(now.map(Math.round));
      this.shares = { ...this.shares, [split.key]: Math.round((100 * first) / total) };
    },
    reset(split) {
      for (let i = 1; i < 7; i++) this.styleHolder().style.removeProperty(this.trackVariable(split.along, i));
      this.saveSizes([]);
      this.shares = {};
    },
    startDrag(event, split) {
      event.preventDefault();
      event.target.focus();
      event.target.setPointerCapture(event.pointerId);
      this.dragStart = { split, at: split.along === "c" ? event.clientX : event.clientY, sizes: this.sizes(split.along) };
    },
    drag(event) {
      if (this.dragStart) this.move(this.dragStart.split, this.dragStart.sizes, (this.dragStart.split.along === "c" ? event.clientX : event.clientY) - this.dragStart.at);
    },
    endDrag() { this.dragStart = null; },
    onKey(event, split) {
      const arrows = { c: { ArrowLeft: -STEP, ArrowRight: STEP }, r: { ArrowUp: -STEP, ArrowDown: STEP } };
      const by = { Home: -innerWidth, End: innerWidth, ...arrows[split.along] }[event.key];
      if (by === undefined && event.key !== "Enter") return;
      event.preventDefault();
      event.stopPropagation(); // these keys step through the run elsewhere
      if (by === undefined) this.reset(split);
      else this.move(split, this.sizes(split.along), by);
    },
  },
};
