// Where a diagram looks: at all of it or, where that is too small to read, at what is active; or where a hand moved it.
import { LEAST } from "/hemicycle/minimap.js";

const MOST = 1.3; // a small drawing is not blown up
const REST = 150; // milliseconds after which a new size is believed
const ROOM = 14; // units around what is looked at
const MOVE = 180; // milliseconds of going there

const numbers = (root) => root.getAttribute("viewBox").split(/\s+/).map(Number);
const holds = ([x, y, w, h], [left, top, right, bottom]) => x <= left && y <= top && x + w >= right && y + h >= bottom;
const same = (one, other) => one.every((value, at) => Math.abs(value - other[at]) < 0.5);
// Of a line of `length` from `start`, a part of `size` about `middle`; one that is longer than it lies about it.
const part = (start, length, middle, size) => size >= length ? start - (size - length) / 2 : Math.max(start, Math.min(middle - size / 2, start + length - size));

export const looking = {
  begin() { // a drawing is there
    this.whole = numbers(this.root);
    this.byHand = false;
    this.root.setAttribute("preserveAspectRatio", "xMidYMin meet");
    this.measure();
    this.chart();
    this.frame(this.whole);
    if (!this.sizes) (this.sizes = new ResizeObserver(() => { this.measure(); this.look(true); this.frame(this.box()); this.report(); })).observe(this.$refs.box);
  },
  measure() { // asked only where it may have changed: the browser lays the page out to answer, which takes a tenth of a slider's move
    if (this.root) this.size = [this.root.clientWidth, this.root.clientHeight];
  },
  kept() { // for the drawing that replaces this one: what a hand moved into the middle, and how far from it that is
    if (!this.root || !this.byHand) return null;
    const [x, y, w, h] = this.box(), off = (state) => { const [left, top, right, bottom] = this.bounds([state]); return [x + w / 2 - (left + right) / 2, y + h / 2 - (top + bottom) / 2]; };
    const near = [...this.root.querySelectorAll(".state[id]")].map((state) => ({ path: state.id.slice(2), off: off(state) }));
    return near.length ? { ...near.reduce((best, one) => (Math.hypot(...one.off) < Math.hypot(...best.off) ? one : best)), size: [w, h] } : null;
  },
  keep(place) {
    const box = place && this.bounds([this.find(place.path)]);
    if (!box) return;
    const [left, top, right, bottom] = box, [w, h] = place.size;
    this.moved([(left + right) / 2 + place.off[0] - w / 2, (top + bottom) / 2 + place.off[1] - h / 2, w, h]);
  },
  report() { // how much room there is, and whether a hand has moved what is shown
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      const { clientWidth: width, clientHeight: height } = this.$refs.box || {}, now = [width, height, Boolean(this.byHand)];
      if (!width || !height || String(now) === String(this.reported)) return;
      this.reported = now;
      this.$emit("room", now);
    }, REST);
  },
  fitted(room) { this.$refs.box.dataset.room = room.join("x"); }, // the chart was laid out for this room
  full() { // all of it, with room around what is small
    const [width, height] = this.size, [x, y, w, h] = this.whole;
    if (!width || Math.min(width / w, height / h) <= MOST) return this.whole;
    const wide = width / MOST, high = height / MOST;
    return [x - (wide - w) / 2, y, wide, high];
  },
  box() { return this.goal || numbers(this.root); },
  tight() { // all of it would be too small to read
    const [width, height] = this.size, [, , w, h] = this.whole;
    return width > 0 && height > 0 && Math.min(width / w, height / h) < LEAST;
  },
  look(anew) { // moves only where what is to be seen is not, or all of it is to be looked at `anew`
    if (!this.root || this.byHand) return;
    if (!anew && this.root.querySelector(".edge:focus-visible")) return; // it is what a person looks at
    const lit = !this.all && this.tight() && this.lights();
    if (!lit) return this.go(this.full(), anew);
    const [width, height] = this.size;
    const now = this.box(), size = [width / LEAST, height / LEAST], aim = this.around(size) || lit;
    if (!anew && Math.abs(now[2] - size[0]) < 1 && holds(now, aim) && same(now, this.beside(now, lit))) return;
    this.go(this.beside(this.framed(aim, size), lit), anew);
  },
  framed([left, top, right, bottom], [w, h]) {
    const [x, y, width, height] = this.whole, tall = h >= height;
    return [part(x, width, (left + right) / 2, w), tall ? y : part(y, height, (top + bottom) / 2, h), w, h];
  },
  active() {
    const lit = this.now || this.lit || {};
    return lit.active?.length ? lit.active : [...(lit.broken || []), ...(lit.halted || [])];
  },
  lights() { return this.bounds(this.active().map((path) => this.find(path))) || this.bounds([this.root.querySelector(".start")]); },
  around([w, h]) { // the largest state around all that is active which still can be read whole
    const [first, ...others] = this.active();
    let found = null;
    for (let at = first || ""; at; at = at.includes(".") ? at.slice(0, at.lastIndexOf(".")) : "") {
      const box = others.every((other) => other.startsWith(`${at}.`)) && this.bounds([this.find(at)]);
      if (box && box[2] - box[0] <= w && box[3] - box[1] <= h) found = box;
    }
    return found;
  },
  bounds(drawn) { // left, top, right and bottom of what is drawn, with some room; null where nothing is
    const graph = this.root.querySelector(".graph")?.transform.baseVal.consolidate()?.matrix;
    const boxes = drawn.filter(Boolean).map((one) => one.getBBox());
    if (!boxes.length) return null;
    const [dx, dy] = [graph?.e || 0, graph?.f || 0], most = (side) => Math.max(...boxes.map(side));
    return [-most((box) => -box.x) + dx - ROOM, -most((box) => -box.y) + dy - ROOM, most((box) => box.x + box.width) + dx + ROOM, most((box) => box.y + box.height) + dy + ROOM];
  },
  go(goal, atOnce) {
    cancelAnimationFrame(this.going);
    const from = numbers(this.root);
    this.goal = null;
    if (same(from, goal)) return;
    this.frame(goal);
    if (atOnce || matchMedia("(prefers-reduced-motion: reduce)").matches) return this.root.setAttribute("viewBox", goal.join(" "));
    this.goal = goal;
    const began = performance.now();
    const move = (now) => {
      const done = Math.min(1, Math.max(0, (now - began) / MOVE)), eased = done * (2 - done);
      this.root.setAttribute("viewBox", goal.map((value, at) => from[at] + (value - from[at]) * eased).join(" "));
      if (done < 1) this.going = requestAnimationFrame(move);
      else this.goal = null;
    };
    this.going = requestAnimationFrame(move);
  },
  moved(box) { // by hand: it stays there until `fit`
    this.byHand = true;
    this.report();
    this.go(box, true);
  },
  fit() { // back from where a hand moved it; again: from what is active to all of it, and back
    if (!this.root) return;
    if (this.byHand) { this.byHand = false; this.report(); }
    else if (this.tight()) this.all = !this.all;
    this.look(true);
  },
  bring(edge) { // something that got the focus out of sight
    const lit = this.bounds([edge]), now = this.box();
    if (lit && !holds(now, lit)) this.go(this.framed(lit, now.slice(2)), true);
  },
  zoom(event) {
    if (!this.root || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    this.scale(event.deltaY < 0 ? 0.85 : 1 / 0.85);
  },
  scale(factor) {
    const [x, y, w, h] = this.box();
    this.moved([x + (w * (1 - factor)) / 2, y + (h * (1 - factor)) / 2, w * factor, h * factor]);
  },
  closer() { this.scale(0.8); },
  out() { this.scale(1.25); },
  shift([right, down]) {
    const [x, y, w, h] = this.box();
    this.moved([x + (right * w) / 8, y + (down * h) / 8, w, h]);
  },
  grab(event) { this.from = { x: event.clientX, y: event.clientY, box: this.box(), moved: false }; },
  drag(event) { // the drawing is only shifted meanwhile: to paint it anew for each move is slow
    if (!this.from || !this.root) return;
    const dx = event.clientX - this.from.x, dy = event.clientY - this.from.y;
    if (!this.from.moved && Math.abs(dx) + Math.abs(dy) < 5) return;
    if (!this.from.moved) this.root.classList.add("shifted");
    this.from.moved = true;
    this.from.shift = [dx, dy];
    this.root.style.transform = `translate(${dx}px, ${dy}px)`;
  },
  drop() {
    this.dragged = this.from?.moved;
    if (this.dragged) {
      const [x, y, w, h] = this.from.box, [dx, dy] = this.from.shift;
      const unit = Math.max(w / this.size[0], h / this.size[1]);
      this.root.classList.remove("shifted");
      this.root.style.transform = "";
      this.moved([x - dx * unit, y - dy * unit, w, h]);
    }
    this.from = null;
  },
};
