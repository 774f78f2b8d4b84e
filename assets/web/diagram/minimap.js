// A small map of a diagram that does not fit its panel: the active states, and a frame around the visible part.
import { points } from "/hemicycle/diagram/overlays.js";

export const MIN_SCALE = 11.1 / 12; // pixels per unit: text of 12 units is at least 11 pixels high, even after rounding
const MAX_SIZE = [112, 150]; // pixels
const MAX_SHARE = [0.24, 0.42]; // of the panel
const INSET = 12; // pixels from the edge of the panel
const BORDER = 4; // units of a region that count as its border
const SCALES = [1, 0.8, 0.6];
const SHRINKING = 0.1; // cost of a square unit the minimap loses, relative to one it hides
const CORNERS = ["bottom right", "bottom left", "top right", "top left"];
const PLACES = SCALES.flatMap((scale) => CORNERS.map((name) => [name, scale]));
const SHOWN_CLASSES = ["inside", "active", "waiting", "broken"];

const make = (name, parent) => Object.assign(parent.appendChild(document.createElement("i")), { className: name });

export const minimapMethods = {
  drawMinimap() {
    this.minimap?.remove();
    const [x, y, w, h] = this.drawing;
    this.minimap = this.$refs.box.appendChild(document.createElement("div"));
    this.minimap.className = "minimap";
    this.minimap.setAttribute("aria-hidden", "true"); // the keyboard moves the diagram itself
    const graph = this.root.querySelector(".graph")?.transform.baseVal.consolidate()?.matrix, [dx, dy] = [graph?.e || 0, graph?.f || 0];
    this.minimapStates = new Map();
    this.stateBoxes = [];
    for (const state of this.root.querySelectorAll(".state")) {
      const shape = state.querySelector("path, polygon"), all = shape ? points(shape) : [];
      if (!all.length) continue;
      const [left, top, right, bottom] = [Math.min, Math.max].flatMap((end) => [0, 1].map((axis) => end(...all.map((one) => one[axis]))));
      const one = make("", this.minimap);
      const box = [left + dx, top + dy, right - left, bottom - top];
      this.placeOnMinimap(one, box);
      this.stateBoxes.push(Object.assign([...box], { region: state.classList.contains("cluster") }));
      this.minimapStates.set(state, one);
    }
    this.frameMark = make("visible-area", this.minimap);
    const go = (event) => {
      const place = this.minimap.getBoundingClientRect(), [, , width, height] = this.viewBox();
      this.moveByHand([x + ((event.clientX - place.left) / place.width) * w - width / 2, y + ((event.clientY - place.top) / place.height) * h - height / 2, width, height]);
    };
    this.minimap.onpointerdown = (event) => { event.stopPropagation(); this.minimap.setPointerCapture(event.pointerId); go(event); };
    this.minimap.onpointermove = (event) => { if (this.minimap.hasPointerCapture(event.pointerId)) go(event); };
    this.minimap.onclick = this.minimap.ondblclick = (event) => event.stopPropagation();
  },
  placeOnMinimap(one, [x, y, w, h]) {
    const [left, top, width, height] = this.drawing, part = (value, all) => `${(100 * value) / all}%`;
    Object.assign(one.style, { left: part(x - left, width), top: part(y - top, height), width: part(w, width), height: part(h, height) });
  },
  chooseCorner() { // and a size; both are fixed until the panel is resized or a person zooms
    const view = this.viewBox(), size = this.size.map((pixels) => pixels / MIN_SCALE), zoomed = this.byHand && Math.abs(view[2] - size[0]) > 1;
    const panel = String([this.size, zoomed && view.slice(2)]), drawing = String([panel, this.drawing]);
    if (!this.size[0] || drawing === this.settledFor) return;
    const stays = this.pickable && panel === this.minimapPanel, places = stays ? PLACES.filter(([name]) => name === this.corner[0]) : PLACES;
    Object.assign(this, { minimapPanel: panel, settledFor: drawing });
    const views = zoomed ? [view] : this.stateBoxes.filter((one) => !one.region).map(([x, y, w, h]) => this.frameAround([x, y, x + w, y + h], size));
    const cost = (place) => {
      const [left, top, right, bottom] = this.hiddenBox(view, place), lost = SHRINKING * (1 / place[1] ** 2 - 1) * (right - left) * (bottom - top);
      return lost + views.reduce((sum, one) => sum + this.hiddenArea(one, place), 0) / views.length;
    };
    this.corner = places.map((place) => [cost(place), place]).reduce((best, one) => (one[0] < best[0] ? one : best))[1];
  },
  minimapSize(part) { // pixels
    const [, , width, height] = this.drawing, [across, down] = this.size;
    const scale = part * Math.min(MAX_SIZE[0] / width, MAX_SIZE[1] / height, (MAX_SHARE[0] * across) / width, (MAX_SHARE[1] * down) / height);
    return [width * scale, height * scale];
  },
  hiddenBox([x, y, w, h], [name, part] = this.corner) { // left, top, right and bottom of the part of a view that the minimap hides, in units
    const [wide, high] = this.minimapSize(part).map((pixels, axis) => ((pixels + INSET) * [w, h][axis]) / this.size[axis]);
    const left = name.includes("left") ? x : x + w - wide, top = name.includes("top") ? y : y + h - high;
    return [left, top, left + wide, top + high];
  },
  hiddenArea(view, place) { // square units of states that the minimap hides
    const [left, top, right, bottom] = this.hiddenBox(view, place);
    const over = ([x, y, w, h]) => Math.max(0, Math.min(x + w, right) - Math.max(x, left)) * Math.max(0, Math.min(y + h, bottom) - Math.max(y, top));
    const around = ([x, y, w, h]) => over([x, y, w, h]) - over([x + BORDER, y + BORDER, w - 2 * BORDER, h - 2 * BORDER]);
    return this.stateBoxes.reduce((sum, one) => sum + (one.region ? around(one) : over(one)), 0);
  },
  avoidMinimap([x, y, w, h], [left, top, right, bottom]) { // the nearest view in which the minimap does not hide the box, if any
    if (!this.corner) return [x, y, w, h]; // not drawn yet
    const [from, above, to, below] = this.hiddenBox([x, y, w, h]), wide = to - from, high = below - above;
    if (left >= to || right <= from || top >= below || bottom <= above) return [x, y, w, h];
    const across = from === x ? left - to : right - from, down = above === y ? top - below : bottom - above;
    const shifts = [right - left <= w - wide && [Math.abs(across), [x + across, y, w, h]], bottom - top <= h - high && [Math.abs(down), [x, y + down, w, h]]];
    return shifts.filter(Boolean).sort(([one], [other]) => one - other)[0]?.[1] ?? [x, y, w, h];
  },
  updateMinimapState(state) {
    const one = this.minimapStates?.get(state);
    if (one) one.className = SHOWN_CLASSES.filter((name) => state.classList.contains(name)).join(" ");
  },
  drawFrame([x, y, w, h]) { // around the visible part
    if (!this.minimap) return;
    this.chooseCorner();
    if (!this.corner) return;
    const [left, top, width, height] = this.drawing;
    const [wide, high] = this.minimapSize(this.corner[1]), scale = wide / width;
    this.minimap.dataset.corner = this.corner[0];
    Object.assign(this.minimap.style, { width: `${wide}px`, height: `${high}px` });
    this.minimap.classList.toggle("on", x > left + 2 || y > top + 2 || x + w < left + width - 2 || y + h < top + height - 2);
    // With a transform, so that moving the frame is not a layout shift.
    const place = { transform: `translate(${(x - left) * scale}px, ${(y - top) * scale}px)`, width: `${w * scale}px`, height: `${h * scale}px` };
    Object.assign(this.frameMark.style, place);
  },
};
