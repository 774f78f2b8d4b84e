// A chart that Graphviz has laid out. States and edges are highlighted by class; nothing is laid out again.
import { attachContextMenu } from "/hemicycle/diagram/context_menu.js";
import { prepareEdges, updateTabStops, edgeMethods } from "/hemicycle/diagram/edges.js";
import { viewportMethods } from "/hemicycle/diagram/viewport.js";
import { minimapMethods } from "/hemicycle/diagram/minimap.js";
import { stateListMethods } from "/hemicycle/diagram/state_list.js";
import { cardMethods } from "/hemicycle/diagram/cards.js";
import { drawOverlays } from "/hemicycle/diagram/overlays.js";

const KEYS = "Diagram: plus and minus zoom, Shift with an arrow key pans, period and comma go from edge to edge, Enter opens an agent, or the menu of an edge";

export default {
  render() {
    return Vue.h("div", {
      class: ["diagram", { pickable: this.pickable }], ref: "box",
      onWheel: this.onWheel, onPointerdown: this.startDrag, onPointermove: this.drag, onPointerup: this.endDrag, onPointercancel: this.endDrag,
      onClick: this.onClick, onDblclick: this.onDoubleClick, onKeydown: this.onKey,
      onPointerover: this.onPointerOver, onPointerleave: this.scheduleLeave, onFocusin: this.onFocusIn, onFocusout: this.onFocusOut,
      ...(this.pickable && { tabindex: 0, role: "group", "aria-label": KEYS }),
    });
  },
  props: { svg: String, highlights: Object, overlays: Object, texts: Object, pickable: Boolean, foldable: Boolean, title: String, label: String, states: Array },
  emits: ["pick", "fold", "context", "edge", "room"],
  mounted() {
    this.draw();
    if (!this.pickable) return;
    attachContextMenu(this.$refs.box, (what) => this.$emit("context", what));
    document.addEventListener("keydown", this.onDocumentKey);
    document.addEventListener("step-dragged", this.showDraggedStep);
  },
  unmounted() { clearTimeout(this.listTimer); this.resizeObserver?.disconnect(); document.removeEventListener("step-dragged", this.showDraggedStep); document.removeEventListener("keydown", this.onDocumentKey); },
  watch: { svg() { this.draw(); }, highlights: { deep: true, handler(highlights) { this.updateHighlights(highlights); } }, overlays: { deep: true, handler(overlays) { this.updateOverlays(overlays); } } },
  methods: {
    ...edgeMethods,
    ...viewportMethods,
    ...minimapMethods,
    ...stateListMethods,
    ...cardMethods,
    draw() {
      const focusedId = this.root?.contains(document.activeElement) ? document.activeElement.closest("[id]")?.id : ""; // focus to restore
      const place = this.rememberPlace();
      this.$refs.box.setHTML((this.svg || "").replaceAll(`"e:[*]&gt;`, `"e:*&gt;`)); // the sanitiser drops "]>"
      this.root = this.$refs.box.querySelector("svg");
      this.root?.querySelectorAll(`[id^="e:*>"]`).forEach((edge) => (edge.id = edge.id.replace("*", "[*]")));
      this.elements = new Map(); // drawn element by key
      this.highlighted = new Map(); // classes by element
      this.buildStateList();
      if (!this.root) return;
      this.root.setAttribute("role", this.pickable ? "group" : "img");
      if (this.pickable) prepareEdges(this.root);
      this.root.setAttribute("aria-label", this.label || "State diagram");
      this.root.querySelectorAll("title").forEach((title) => title.remove());
      this.root.removeAttribute("width");
      this.root.removeAttribute("height");
      this.buildCards();
      this.initViewport();
      this.restorePlace(place);
      if (this.draggedTo) this.showDraggedStep({ detail: this.draggedTo }); // a chart that arrives during a drag
      else this.applyHighlights();
      this.updateView(true);
      this.applyOverlays();
      if (focusedId) this.root.querySelector(`[id="${CSS.escape(focusedId)}"]`)?.focus({ preventScroll: true });
    },
    findEdge(name) { return this.lookUp(`e:${name}`, () => this.queryEdge(name)); },
    findState(path) { return this.lookUp(`s:${path}`, () => this.queryState(path)); },
    lookUp(key, query) {
      if (!this.elements.has(key)) this.elements.set(key, query());
      return this.elements.get(key);
    },
    queryEdge(name) { // an edge of a collapsed state starts or ends at the visible ancestor
      const drawn = (id) => this.root.querySelector(`[id="e:${id}"]`);
      const ends = name.split(">"), [from, to] = ends.map((path) => this.findState(path)?.id.slice(2) ?? path);
      return drawn(name) || (from === to && ends[0] !== ends[1] ? null : drawn(`${from}>${to}`));
    },
    updateOverlays(overlays) { // during a drag they belong to a step that is no longer shown
      this.latestOverlays = overlays;
      if (!this.sliding) this.applyOverlays();
    },
    applyOverlays() {
      if (!this.root) return;
      const { why, ...others } = this.latestOverlays || this.overlays || {};
      drawOverlays(this.root, this.sliding || !why ? others : { ...others, why }, (path) => this.findState(path), (name) => this.findEdge(name));
      if (this.pickable) updateTabStops(this.root);
    },
    queryState(path) { // a collapsed state represents the states inside it
      for (let at = path; at; at = at.includes(".") ? at.slice(0, at.lastIndexOf(".")) : "") {
        const state = this.root.querySelector(`[id="s:${CSS.escape(at)}"], [id="s:${at}"]`);
        if (state) return state;
      }
      return null;
    },
    updateHighlights(highlights) { // during a drag they belong to a step that is no longer shown
      if (this.sliding) return;
      this.current = highlights;
      this.applyHighlights();
      this.updateView();
    },
    loadTrack(track) {
      this.track = track;
      if (this.draggedTo) this.showDraggedStep({ detail: this.draggedTo });
    },
    showDraggedStep({ detail: at }) { // null once the slider is released
      this.draggedTo = at;
      const step = at && this.track?.steps[at - 1];
      const before = this.sliding;
      this.sliding = Boolean(step);
      if (this.sliding !== before) this.applyOverlays();
      if (!step || !this.root) return;
      const [active, taken] = step, until = (steps) => Object.keys(steps).filter((name) => steps[name] <= at);
      const around = (path) => path.split(".").slice(0, -1).map((_, depth, parts) => parts.slice(0, depth + 1).join("."));
      this.current = { active, taken, inside: [...new Set(active.flatMap(around))], waiting: active.filter((path) => this.track.waits.includes(path)), visited: until(this.track.visits), traversed: until(this.track.traversed), broken: [], halted: [] };
      this.root.dataset.step = at; // the step shown
      this.applyHighlights();
      this.updateView();
    },
    applyHighlights() { // touches only differences, since a dragged slider passes many steps a second
      if (!this.root) return;
      const highlights = this.current || this.highlights || {}, classesByElement = new Map();
      const addClass = (element, name) => { if (element) classesByElement.set(element, (classesByElement.get(element) || new Set()).add(name)); };
      for (const name of ["visited", "inside", "active", "waiting", "broken", "halted"])
        for (const path of highlights[name] || []) addClass(this.findState(path), name);
      for (const name of ["traversed", "taken"]) for (const edge of highlights[name] || []) addClass(this.findEdge(edge), name);
      for (const [element, names] of this.highlighted) for (const name of names) if (!classesByElement.get(element)?.has(name)) element.classList.remove(name);
      for (const [element, names] of classesByElement) for (const name of names) if (!this.highlighted.get(element)?.has(name)) element.classList.add(name);
      for (const [element, names] of classesByElement) {
        const isNew = (name) => names.has(name) && !this.highlighted.get(element)?.has(name);
        if (element.matches(".gutter > *") && (isNew("taken") || isNew("traversed")) && element.nextSibling && !element.contains(document.activeElement)) element.parentNode.append(element); // above the others
        if (isNew("taken") && this.highlighted.size) this.sendDot(element);
      }
      for (const element of new Set([...this.highlighted.keys(), ...classesByElement.keys()])) {
        this.updateMinimapState(element);
        if (element.matches(".state")) this.labelState(element);
      }
      this.updateStateList();
      this.highlighted = classesByElement;
      if (this.pickable) updateTabStops(this.root);
    },
    onDocumentKey(event) { // `.` and `,` walk the edges from anywhere on the page except fields and dialogs
      const busy = event.target.closest?.("input, select, textarea, [contenteditable], dialog, [role=dialog]");
      const free = !busy && !event.defaultPrevented && !event.ctrlKey && !event.metaKey && !event.altKey;
      if (free && this.$refs.box.offsetParent && !this.$refs.box.contains(event.target)) this.handleEdgeKey(event);
    },
    onKey(event) { // plain arrow keys belong to the player
      const agent = this.foldable && event.target.matches?.(".agent-card") && event.target;
      if (agent && (event.key === "Enter" || event.key === " ")) {
        event.preventDefault();
        event.stopPropagation();
        return this.$emit("fold", agent.id.slice(2));
      }
      if (this.pickable && !event.ctrlKey && !event.metaKey && !event.altKey && this.handleEdgeKey(event)) return;
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      const actions = { "+": () => this.zoomIn(), "=": () => this.zoomIn(), "-": () => this.zoomOut(), 0: () => this.fit() };
      const move = event.shiftKey && moves[event.key];
      if (!this.pickable || !this.root || event.ctrlKey || event.metaKey || event.altKey || !(move || actions[event.key])) return;
      event.preventDefault();
      event.stopPropagation();
      move ? this.pan(move) : actions[event.key]();
    },
    onClick(event) { // waits for a second click, which collapses the state instead
      if (!this.pickable || this.dragged) return;
      const state = event.target.closest(".state"), edge = event.target.closest(`.edge[id^="e:"]`);
      clearTimeout(this.clickTimer);
      if (edge) return this.emitEdge(edge, "press");
      if (this.foldable && state?.matches(".agent-card")) return this.$emit("fold", state.id.slice(2));
      if (state?.id && event.detail < 2) this.clickTimer = setTimeout(() => this.$emit("pick", state.id.slice(2)), 220);
    },
    onDoubleClick(event) {
      const state = this.pickable && event.target.closest(".state");
      if (state?.id && !(this.foldable && state.matches(".agent-card"))) this.$emit("fold", state.id.slice(2));
    },
  },
};
