// A small map of a drawing that is larger than what can be seen of it: where the run is, and what is in sight.
import { points } from "/hemicycle/overlays.js";

export const LEAST = 11.1 / 12; // pixels a unit of the drawing: text, of 12 units, is 11 pixels high, also where sizes are rounded
const LARGEST = [112, 150], SHARE = [0.24, 0.42], EDGE = 12, RIM = 4; // pixels, parts of what the drawing has, pixels to its edge, units of a region's border
const PARTS = [1, 0.8, 0.6], SMALL = 0.1; // sizes, and what a square unit that it does not take is worth of one that it hides
const CORNERS = ["bottom right", "bottom left", "top right", "top left"];
const PLACES = PARTS.flatMap((part) => CORNERS.map((name) => [name, part]));
const LIT = ["inside", "active", "waiting", "broken"];

const make = (name, parent) => Object.assign(parent.appendChild(document.createElement("i")), { className: name });

export const mapping = {
  chart() { // draws the map of a new drawing
    this.map?.remove();
    const [x, y, w, h] = this.whole;
    this.map = this.$refs.box.appendChild(document.createElement("div"));
    this.map.className = "minimap";
    this.map.setAttribute("aria-hidden", "true"); // the keys move the drawing itself
    const graph = this.root.querySelector(".graph")?.transform.baseVal.consolidate()?.matrix, [dx, dy] = [graph?.e || 0, graph?.f || 0];
    this.mapped = new Map();
    this.placed = [];
    for (const state of this.root.querySelectorAll(".state")) {
      const shape = state.querySelector("path, polygon"), all = shape ? points(shape) : [];
      if (!all.length) continue;
      const [left, top, right, bottom] = [Math.min, Math.max].flatMap((end) => [0, 1].map((axis) => end(...all.map((one) => one[axis]))));
      const one = make("", this.map);
      const box = [left + dx, top + dy, right - left, bottom - top];
      this.put(one, box);
      this.placed.push(Object.assign([...box], { region: state.classList.contains("cluster") }));
      this.mapped.set(state, one);
    }
    this.sight = make("sight", this.map);
    const go = (event) => {
      const place = this.map.getBoundingClientRect(), [, , width, height] = this.box();
      this.moved([x + ((event.clientX - place.left) / place.width) * w - width / 2, y + ((event.clientY - place.top) / place.height) * h - height / 2, width, height]);
    };
    this.map.onpointerdown = (event) => { event.stopPropagation(); this.map.setPointerCapture(event.pointerId); go(event); };
    this.map.onpointermove = (event) => { if (this.map.hasPointerCapture(event.pointerId)) go(event); };
    this.map.onclick = this.map.ondblclick = (event) => event.stopPropagation();
  },
  put(one, [x, y, w, h]) { // a box of the drawing, on the map
    const [left, top, width, height] = this.whole, part = (value, all) => `${(100 * value) / all}%`;
    Object.assign(one.style, { left: part(x - left, width), top: part(y - top, height), width: part(w, width), height: part(h, height) });
  },
  settle() { // where it is, and how small: it stays in one corner of a panel, wherever the run goes, until the panel has another size or a hand zooms
    const view = this.box(), size = this.size.map((pixels) => pixels / LEAST), zoomed = this.byHand && Math.abs(view[2] - size[0]) > 1;
    const panel = String([this.size, zoomed && view.slice(2)]), drawing = String([panel, this.whole]);
    if (!this.size[0] || drawing === this.settled) return;
    const stays = this.pickable && panel === this.panel, places = stays ? PLACES.filter(([name]) => name === this.place[0]) : PLACES;
    Object.assign(this, { panel, settled: drawing });
    const views = zoomed ? [view] : this.placed.filter((one) => !one.region).map(([x, y, w, h]) => this.framed([x, y, x + w, y + h], size));
    const cost = (place) => {
      const [left, top, right, bottom] = this.under(view, place), lost = SMALL * (1 / place[1] ** 2 - 1) * (right - left) * (bottom - top);
      return lost + views.reduce((sum, one) => sum + this.covered(one, place), 0) / views.length;
    };
    this.place = places.map((place) => [cost(place), place]).reduce((best, one) => (one[0] < best[0] ? one : best))[1];
  },
  extent(part) { // pixels
    const [, , width, height] = this.whole, [across, down] = this.size;
    const scale = part * Math.min(LARGEST[0] / width, LARGEST[1] / height, (SHARE[0] * across) / width, (SHARE[1] * down) / height);
    return [width * scale, height * scale];
  },
  under([x, y, w, h], [name, part] = this.place) { // left, top, right and bottom of what it hides of a view, in units of the drawing
    const [wide, high] = this.extent(part).map((pixels, axis) => ((pixels + EDGE) * [w, h][axis]) / this.size[axis]);
    const left = name.includes("left") ? x : x + w - wide, top = name.includes("top") ? y : y + h - high;
    return [left, top, left + wide, top + high];
  },
  covered(view, place) { // square units of states that it hides
    const [left, top, right, bottom] = this.under(view, place);
    const over = ([x, y, w, h]) => Math.max(0, Math.min(x + w, right) - Math.max(x, left)) * Math.max(0, Math.min(y + h, bottom) - Math.max(y, top));
    const around = ([x, y, w, h]) => over([x, y, w, h]) - over([x + RIM, y + RIM, w - 2 * RIM, h - 2 * RIM]);
    return this.placed.reduce((sum, one) => sum + (one.region ? around(one) : over(one)), 0);
  },
  beside([x, y, w, h], [left, top, right, bottom]) { // a view in which it does not hide what is to be seen, if there is one
    if (!this.place) return [x, y, w, h]; // it is not drawn yet
    const [from, above, to, below] = this.under([x, y, w, h]), wide = to - from, high = below - above;
    if (left >= to || right <= from || top >= below || bottom <= above) return [x, y, w, h];
    const across = from === x ? left - to : right - from, down = above === y ? top - below : bottom - above;
    const may = [right - left <= w - wide && [Math.abs(across), [x + across, y, w, h]], bottom - top <= h - high && [Math.abs(down), [x, y + down, w, h]]];
    return may.filter(Boolean).sort(([one], [other]) => one - other)[0]?.[1] ?? [x, y, w, h];
  },
  remap(state) {
    const one = this.mapped?.get(state);
    if (one) one.className = LIT.filter((name) => state.classList.contains(name)).join(" ");
  },
  frame([x, y, w, h]) { // what is in sight
    if (!this.map) return;
    this.settle();
    if (!this.place) return;
    const [left, top, width, height] = this.whole;
    const [wide, high] = this.extent(this.place[1]), scale = wide / width;
    this.map.dataset.corner = this.place[0];
    Object.assign(this.map.style, { width: `${wide}px`, height: `${high}px` });
    this.map.classList.toggle("on", x > left + 2 || y > top + 2 || x + w < left + width - 2 || y + h < top + height - 2);
    // By a transform: that the frame goes along with the run is no shift of the page's layout.
    const place = { transform: `translate(${(x - left) * scale}px, ${(y - top) * scale}px)`, width: `${w * scale}px`, height: `${h * scale}px` };
    Object.assign(this.sight.style, place);
  },
};
