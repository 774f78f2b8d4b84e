// A small map of a drawing that is larger than what can be seen of it: where the run is, and what is in sight.
import { points } from "/hemicycle/overlays.js";

const LARGEST = [112, 150], SHARE = [0.24, 0.42], EDGE = 12, RIM = 4, PARTS = [1, 0.8, 0.6]; // pixels, parts of what the drawing has, pixels to its edge, units of a region's border, and smaller sizes where the largest covers something
const CORNERS = ["bottom right", "bottom left", "top right", "top left"];
const PLACES = PARTS.flatMap((part) => CORNERS.map((name) => [name, part]));
const LIT = ["inside", "active", "waiting", "broken"];

const make = (name, parent) => Object.assign(parent.appendChild(document.createElement("i")), { className: name });

export const mapping = {
  chart() { // draws the map of a new drawing
    this.map?.remove();
    this.place = null;
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
  putAway([x, y, w, h], width, height) { // where, and how small, it covers least of states; it stays where it covers none
    const covered = ([name, part]) => { // square units of the drawing
      const [mapWide, mapHigh] = [((width * part + EDGE) * w) / this.size[0], ((height * part + EDGE) * h) / this.size[1]];
      const left = name.includes("left") ? x : x + w - mapWide, top = name.includes("top") ? y : y + h - mapHigh;
      const over = ([a, b, wide, high]) => Math.max(0, Math.min(a + wide, left + mapWide) - Math.max(a, left)) * Math.max(0, Math.min(b + high, top + mapHigh) - Math.max(b, top));
      const around = ([a, b, wide, high]) => over([a, b, wide, high]) - over([a + RIM, b + RIM, wide - 2 * RIM, high - 2 * RIM]);
      return this.placed.reduce((sum, one) => sum + (one.region ? around(one) : over(one)), 0);
    };
    let least = covered(this.place ??= PLACES[0]);
    for (const one of PLACES) {
      if (!least) break;
      const area = covered(one);
      if (area < least) [this.place, least] = [one, area];
    }
    const [name, part] = this.place;
    this.map.dataset.corner = name;
    return part;
  },
  remap(state) {
    const one = this.mapped?.get(state);
    if (one) one.className = LIT.filter((name) => state.classList.contains(name)).join(" ");
  },
  frame([x, y, w, h]) { // what is in sight
    if (!this.map) return;
    const [left, top, width, height] = this.whole, [clientWidth, clientHeight] = this.size;
    const most = Math.min(LARGEST[0] / width, LARGEST[1] / height, (SHARE[0] * clientWidth) / width, (SHARE[1] * clientHeight) / height);
    const scale = most * this.putAway([x, y, w, h], width * most, height * most);
    Object.assign(this.map.style, { width: `${width * scale}px`, height: `${height * scale}px` });
    this.map.classList.toggle("on", x > left + 2 || y > top + 2 || x + w < left + width - 2 || y + h < top + height - 2);
    // By a transform: that the frame goes along with the run is no shift of the page's layout.
    const place = { transform: `translate(${(x - left) * scale}px, ${(y - top) * scale}px)`, width: `${w * scale}px`, height: `${h * scale}px` };
    Object.assign(this.sight.style, place);
  },
};
