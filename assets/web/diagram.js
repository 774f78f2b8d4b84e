// A chart that Graphviz laid out: lights states and edges up by class. Never lays out again.
import { contextual } from "/hemicycle/contextual.js";
import { edged, stops, watching } from "/hemicycle/edges.js";
import { looking } from "/hemicycle/looking.js";
import { mapping } from "/hemicycle/minimap.js";
import { outlining } from "/hemicycle/outline.js";
import { overlay } from "/hemicycle/overlays.js";

export default {
  template: `<div class="diagram" :class="{pickable}" ref="box" @wheel="zoom" @pointerdown="grab" @pointermove="drag" @pointerup="drop" @pointercancel="drop" @click="pick" @dblclick="fold" @keydown="key" @pointerover="over" @pointerleave="leave" @focusin="reach" @focusout="lose"
    :tabindex="pickable ? 0 : undefined" :role="pickable ? 'group' : undefined" :aria-label="pickable ? 'Diagram: plus and minus zoom, Shift with an arrow key pans, period and comma go from edge to edge, Enter opens the menu' : undefined"></div>`,
  props: { svg: String, lit: Object, overlays: Object, pickable: Boolean, label: String, states: Array },
  emits: ["pick", "fold", "context", "edge", "room"],
  mounted() {
    this.draw();
    if (!this.pickable) return;
    contextual(this.$refs.box, (what) => this.$emit("context", what));
    document.addEventListener("keydown", this.anywhere);
    document.addEventListener("slid", this.slid);
  },
  unmounted() { clearTimeout(this.stating); this.sizes?.disconnect(); document.removeEventListener("slid", this.slid); document.removeEventListener("keydown", this.anywhere); },
  watch: { svg() { this.draw(); }, lit: { deep: true, handler(lit) { this.relight(lit); } }, overlays: { deep: true, handler(overlays) { this.recover(overlays); } } },
  methods: {
    ...watching,
    ...looking,
    ...mapping,
    ...outlining,
    draw() {
      const held = this.root?.contains(document.activeElement) ? document.activeElement.closest("[id]")?.id : ""; // keeps the focus
      const place = this.kept();
      this.$refs.box.setHTML((this.svg || "").replaceAll(`"e:[*]&gt;`, `"e:*&gt;`)); // "]>" is dropped as unsafe
      this.root = this.$refs.box.querySelector("svg");
      this.root?.querySelectorAll(`[id^="e:*>"]`).forEach((edge) => (edge.id = edge.id.replace("*", "[*]")));
      this.known = new Map(); // what is drawn of a name
      this.shining = new Map(); // what is lit, and how
      this.outline();
      if (!this.root) return;
      this.root.setAttribute("role", this.pickable ? "group" : "img");
      if (this.pickable) edged(this.root);
      this.root.setAttribute("aria-label", this.label || "State diagram");
      this.root.querySelectorAll("title").forEach((title) => title.remove());
      this.root.removeAttribute("width");
      this.root.removeAttribute("height");
      this.begin();
      this.keep(place);
      if (this.draggedTo) this.slid({ detail: this.draggedTo }); // a chart that comes during a drag says which step it shows
      else this.light();
      this.look(true);
      this.cover();
      if (held) this.root.querySelector(`[id="${CSS.escape(held)}"]`)?.focus({ preventScroll: true });
    },
    edge(name) { return this.drawn(`e:${name}`, () => this.seek(name)); },
    find(path) { return this.drawn(`s:${path}`, () => this.standing(path)); },
    drawn(key, look) {
      if (!this.known.has(key)) this.known.set(key, look());
      return this.known.get(key);
    },
    seek(name) { // where an end is folded away, the edge begins or ends at what stands for it
      const drawn = (id) => this.root.querySelector(`[id="e:${id}"]`);
      const ends = name.split(">"), [from, to] = ends.map((path) => this.find(path)?.id.slice(2) ?? path);
      return drawn(name) || (from === to && ends[0] !== ends[1] ? null : drawn(`${from}>${to}`));
    },
    recover(overlays) { // while a slider is dragged, the reasons that come are of a step that it has left
      this.covers = overlays;
      if (!this.sliding) this.cover();
    },
    cover() {
      if (!this.root) return;
      const { why, ...others } = this.covers || this.overlays || {};
      overlay(this.root, this.sliding || !why ? others : { ...others, why }, (path) => this.find(path), (name) => this.edge(name));
      if (this.pickable) stops(this.root);
    },
    standing(path) { // a folded state stands for the states inside it
      for (let at = path; at; at = at.includes(".") ? at.slice(0, at.lastIndexOf(".")) : "") {
        const found = this.root.querySelector(`[id="s:${CSS.escape(at)}"], [id="s:${at}"]`);
        if (found) return found;
      }
      return null;
    },
    relight(lit) { // while a slider is dragged, what comes is of a step that it has left
      if (this.sliding) return;
      this.now = lit;
      this.light();
      this.look();
    },
    preload(track) {
      this.track = track;
      if (this.draggedTo) this.slid({ detail: this.draggedTo });
    },
    slid({ detail: at }) { // the step at which a slider is held; null once it is let go
      this.draggedTo = at;
      const step = at && this.track?.steps[at - 1];
      const before = this.sliding;
      this.sliding = Boolean(step);
      if (this.sliding !== before) this.cover();
      if (!step || !this.root) return;
      const [active, taken] = step, until = (steps) => Object.keys(steps).filter((name) => steps[name] <= at);
      const around = (path) => path.split(".").slice(0, -1).map((_, depth, parts) => parts.slice(0, depth + 1).join("."));
      this.now = { active, taken, inside: [...new Set(active.flatMap(around))], waiting: active.filter((path) => this.track.waits.includes(path)), seen: until(this.track.visits), walked: until(this.track.walked), broken: [], halted: [] };
      this.root.dataset.step = at; // what it shows
      this.light();
      this.look();
    },
    light() { // only what is lit otherwise than before is touched: a slider passes many steps a second
      if (!this.root) return;
      const lit = this.now || this.lit || {}, shining = new Map();
      const mark = (at, name) => { if (at) shining.set(at, (shining.get(at) || new Set()).add(name)); };
      for (const name of ["seen", "inside", "active", "waiting", "broken", "halted"])
        for (const path of lit[name] || []) mark(this.find(path), name);
      for (const name of ["walked", "taken"]) for (const edge of lit[name] || []) mark(this.edge(edge), name);
      for (const [at, names] of this.shining) for (const name of names) if (!shining.get(at)?.has(name)) at.classList.remove(name);
      for (const [at, names] of shining) for (const name of names) if (!this.shining.get(at)?.has(name)) at.classList.add(name);
      for (const at of new Set([...this.shining.keys(), ...shining.keys()])) {
        this.remap(at);
        if (at.matches(".state")) this.name(at);
      }
      this.restate();
      this.shining = shining;
      if (this.pickable) stops(this.root);
    },
    anywhere(event) { // from edge to edge, wherever on the page the focus is, save where one types or answers
      const elsewhere = event.target.closest?.("input, select, textarea, [contenteditable], dialog, [role=dialog]");
      const free = !elsewhere && !event.defaultPrevented && !event.ctrlKey && !event.metaKey && !event.altKey;
      if (free && this.$refs.box.offsetParent && !this.$refs.box.contains(event.target)) this.along(event);
    },
    key(event) { // the plain arrow keys step through the run
      if (this.pickable && !event.ctrlKey && !event.metaKey && !event.altKey && this.along(event)) return;
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      const acts = { "+": () => this.closer(), "=": () => this.closer(), "-": () => this.out(), 0: () => this.fit() };
      const move = event.shiftKey && moves[event.key];
      if (!this.pickable || !this.root || event.ctrlKey || event.metaKey || event.altKey || !(move || acts[event.key])) return;
      event.preventDefault();
      event.stopPropagation();
      move ? this.shift(move) : acts[event.key]();
    },
    pick(event) { // a second click soon after folds, and does not go anywhere
      if (!this.pickable || this.dragged) return;
      const state = event.target.closest(".state"), edge = event.target.closest(`.edge[id^="e:"]`);
      clearTimeout(this.picking);
      if (edge) return this.tell(edge, "press");
      if (state?.id && event.detail < 2) this.picking = setTimeout(() => this.$emit("pick", state.id.slice(2)), 220);
    },
    fold(event) {
      const state = this.pickable && event.target.closest(".state");
      if (state?.id) this.$emit("fold", state.id.slice(2));
    },
  },
};
