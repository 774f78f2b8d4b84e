// The visible part of a diagram: all of it, the active states if that is too small to read, or wherever a person moved it.
import { MIN_SCALE } from "/hemicycle/diagram/minimap.js";

const MAX_SCALE = 1.6; // of a small drawing
const DEBOUNCE = 150; // milliseconds before a new size is reported
const MARGIN = 14; // units around the elements brought into view
export const DURATION = 240; // milliseconds of a movement, as in base.css

const numbers = (root) => root.getAttribute("viewBox").split(/\s+/).map(Number);
const contains = ([x, y, w, h], [left, top, right, bottom]) => x <= left && y <= top && x + w >= right && y + h >= bottom;
const isSame = (a, b) => a.every((value, i) => Math.abs(value - b[i]) < 0.5);
// Start of an interval of `size` centred on `middle` that stays within `length` from `start`; a longer one is centred on it.
const clampInterval = (start, length, middle, size) => size >= length ? start - (size - length) / 2 : Math.max(start, Math.min(middle - size / 2, start + length - size));

export const viewportMethods = {
  initViewport() {
    this.drawing = numbers(this.root);
    this.byHand = false;
    this.root.setAttribute("preserveAspectRatio", "xMidYMin meet");
    this.measure();
    this.drawMinimap();
    this.drawFrame(this.drawing);
    if (!this.resizeObserver) (this.resizeObserver = new ResizeObserver(() => { this.measure(); this.updateView(true); this.drawFrame(this.viewBox()); this.reportRoom(); })).observe(this.$refs.box);
  },
  measure() { // only when it may have changed: reading it forces a layout
    if (this.root) this.size = [this.root.clientWidth, this.root.clientHeight];
  },
  rememberPlace() { // for the next drawing: the state nearest the centre, if a person moved the view, and its offset
    if (!this.root || !this.byHand) return null;
    const [x, y, w, h] = this.viewBox(), off = (state) => { const [left, top, right, bottom] = this.bounds([state]); return [x + w / 2 - (left + right) / 2, y + h / 2 - (top + bottom) / 2]; };
    const near = [...this.root.querySelectorAll(".state[id]")].map((state) => ({ path: state.id.slice(2), off: off(state) }));
    return near.length ? { ...near.reduce((best, other) => (Math.hypot(...other.off) < Math.hypot(...best.off) ? other : best)), size: [w, h] } : null;
  },
  restorePlace(place) {
    const box = place && this.bounds([this.findState(place.path)]);
    if (!box) return;
    const [left, top, right, bottom] = box, [w, h] = place.size;
    this.moveByHand([(left + right) / 2 + place.off[0] - w / 2, (top + bottom) / 2 + place.off[1] - h / 2, w, h]);
  },
  reportRoom() { // the available size, and whether a person moved the view
    clearTimeout(this.reportTimer);
    this.reportTimer = setTimeout(() => {
      const { clientWidth: width, clientHeight: height } = this.$refs.box || {}, now = [width, height, Boolean(this.byHand)];
      if (!width || !height || String(now) === String(this.reportedRoom)) return;
      this.reportedRoom = now;
      this.$emit("room", now);
    }, DEBOUNCE);
  },
  markFitted(room) { this.$refs.box.dataset.room = room.join("x"); }, // the chart was laid out for this size
  wholeBox() { // with space around a small drawing
    const [width, height] = this.size, [x, y, w, h] = this.drawing;
    if (!width || Math.min(width / w, height / h) <= MAX_SCALE) return this.drawing;
    const fullWidth = width / MAX_SCALE, fullHeight = height / MAX_SCALE;
    return [x - (fullWidth - w) / 2, y, fullWidth, fullHeight];
  },
  viewBox() { return this.goal || numbers(this.root); },
  isTooSmall() { // to be read when shown whole
    const [width, height] = this.size, [, , w, h] = this.drawing;
    return width > 0 && height > 0 && Math.min(width / w, height / h) < MIN_SCALE;
  },
  updateView(force) { // moves only if the active states are out of view, or if `force`
    if (!this.root || this.byHand) return;
    if (!force && this.root.querySelector(".edge:focus-visible")) return; // a person is looking at it
    const active = !this.showAll && this.isTooSmall() && this.activeBounds();
    if (!active) return this.moveTo(this.wholeBox(), force);
    const [width, height] = this.size;
    const now = this.viewBox(), size = [width / MIN_SCALE, height / MIN_SCALE], target = this.enclosingBounds(size) || active;
    if (!force && Math.abs(now[2] - size[0]) < 1 && contains(now, target) && isSame(now, this.avoidMinimap(now, active))) return;
    this.moveTo(this.avoidMinimap(this.frameAround(target, size), active), force);
  },
  frameAround([left, top, right, bottom], [w, h]) {
    const [x, y, width, height] = this.drawing, tall = h >= height;
    return [clampInterval(x, width, (left + right) / 2, w), tall ? y : clampInterval(y, height, (top + bottom) / 2, h), w, h];
  },
  activePaths() {
    const highlights = this.current || this.highlights || {};
    return highlights.active?.length ? highlights.active : [...(highlights.broken || []), ...(highlights.halted || [])];
  },
  activeBounds() { return this.bounds(this.activePaths().map((path) => this.findState(path))) || this.bounds([this.root.querySelector(".start")]); },
  enclosingBounds([w, h]) { // of the largest state that contains all active ones and fits
    const [first, ...others] = this.activePaths();
    let enclosing = null;
    for (let at = first || ""; at; at = at.includes(".") ? at.slice(0, at.lastIndexOf(".")) : "") {
      const box = others.every((other) => other.startsWith(`${at}.`)) && this.bounds([this.findState(at)]);
      if (box && box[2] - box[0] <= w && box[3] - box[1] <= h) enclosing = box;
    }
    return enclosing;
  },
  bounds(drawn) { // left, top, right and bottom with a margin; null for no elements
    const graph = this.root.querySelector(".graph")?.transform.baseVal.consolidate()?.matrix;
    const boxes = drawn.filter(Boolean).map((element) => element.getBBox());
    if (!boxes.length) return null;
    const [dx, dy] = [graph?.e || 0, graph?.f || 0], max = (side) => Math.max(...boxes.map(side));
    return [-max((box) => -box.x) + dx - MARGIN, -max((box) => -box.y) + dy - MARGIN, max((box) => box.x + box.width) + dx + MARGIN, max((box) => box.y + box.height) + dy + MARGIN];
  },
  moveTo(goal, atOnce) {
    cancelAnimationFrame(this.animation);
    const from = numbers(this.root);
    this.goal = null;
    if (isSame(from, goal)) return;
    this.drawFrame(goal);
    if (atOnce || matchMedia("(prefers-reduced-motion: reduce)").matches) return this.root.setAttribute("viewBox", goal.join(" "));
    this.goal = goal;
    const began = performance.now();
    const move = (now) => {
      const done = Math.min(1, Math.max(0, (now - began) / DURATION)), eased = done * (2 - done);
      this.root.setAttribute("viewBox", goal.map((value, at) => from[at] + (value - from[at]) * eased).join(" "));
      if (done < 1) this.animation = requestAnimationFrame(move);
      else this.goal = null;
    };
    this.animation = requestAnimationFrame(move);
  },
  moveByHand(box) { // stays there until `fit`
    this.byHand = true;
    this.reportRoom();
    this.moveTo(box, true);
  },
  fit() { // undoes a move by hand; then toggles between the active states and the whole drawing
    if (!this.root) return;
    if (this.byHand) { this.byHand = false; this.reportRoom(); }
    else if (this.isTooSmall()) this.showAll = !this.showAll;
    this.updateView(true);
  },
  bringIntoView(edge) { // when it gets the focus
    const bounds = this.bounds([edge]), now = this.viewBox();
    if (bounds && !contains(now, bounds)) this.moveTo(this.frameAround(bounds, now.slice(2)), true);
  },
  onWheel(event) {
    if (!this.root || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    this.zoomBy(event.deltaY < 0 ? 0.85 : 1 / 0.85);
  },
  zoomBy(factor) {
    const [x, y, w, h] = this.viewBox();
    this.moveByHand([x + (w * (1 - factor)) / 2, y + (h * (1 - factor)) / 2, w * factor, h * factor]);
  },
  zoomIn() { this.zoomBy(0.8); },
  zoomOut() { this.zoomBy(1.25); },
  pan([right, down]) {
    const [x, y, w, h] = this.viewBox();
    this.moveByHand([x + (right * w) / 8, y + (down * h) / 8, w, h]);
  },
  startDrag(event) { this.dragStart = { x: event.clientX, y: event.clientY, box: this.viewBox(), moved: false }; },
  drag(event) { // only a transform, since repainting on each move is slow
    if (!this.dragStart || !this.root) return;
    const dx = event.clientX - this.dragStart.x, dy = event.clientY - this.dragStart.y;
    if (!this.dragStart.moved && Math.abs(dx) + Math.abs(dy) < 5) return;
    if (!this.dragStart.moved) this.root.classList.add("shifted");
    this.dragStart.moved = true;
    this.dragStart.shift = [dx, dy];
    this.root.style.transform = `translate(${dx}px, ${dy}px)`;
  },
  endDrag() {
    this.dragged = this.dragStart?.moved;
    if (this.dragged) {
      const [x, y, w, h] = this.dragStart.box, [dx, dy] = this.dragStart.shift;
      const unit = Math.max(w / this.size[0], h / this.size[1]);
      this.root.classList.remove("shifted");
      this.root.style.transform = "";
      this.moveByHand([x - dx * unit, y - dy * unit, w, h]);
    }
    this.dragStart = null;
  },
};
