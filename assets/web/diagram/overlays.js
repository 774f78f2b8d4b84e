// Overlays of a diagram: extra classes, badges and titles of states and edges. Nothing is laid out again.
const SVG = "http://www.w3.org/2000/svg";

const make = (name, attributes, parent, text = "") => {
  const element = parent.appendChild(document.createElementNS(SVG, name));
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
};

// From the attributes, not measured, since a hidden diagram has no measurements.
export const points = (shape) => {
  const numbers = ((shape.getAttribute("d") || shape.getAttribute("points") || "").match(/-?[\d.]+/g) || []).map(Number);
  return numbers.reduce((pairs, value, at) => (at % 2 ? pairs : [...pairs, [value, numbers[at + 1]]]), []);
};

export function boxOf(state) { // left, top, right, bottom; null for a circle
  const shape = state.querySelector("path, polygon"), all = shape ? points(shape) : [];
  if (!all.length) return null;
  const [xs, ys] = [0, 1].map((axis) => all.map((point) => point[axis]));
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
}

function topRight(state) { // of a box or a circle
  const round = state.querySelector("ellipse");
  if (round) return [Number(round.getAttribute("cx")) + Number(round.getAttribute("rx")), Number(round.getAttribute("cy")) - Number(round.getAttribute("ry"))];
  const [, top, right] = boxOf(state) || [];
  return right === undefined ? null : [right + 3, top - 3];
}

function pointAlong(edge, share) { // of Graphviz's Bézier curve: a point, then three for each piece
  const line = edge.querySelector("path"), all = line ? points(line) : [];
  const pieces = Math.floor((all.length - 1) / 3);
  if (pieces < 1) return null;
  const piece = Math.min(pieces - 1, Math.floor(share * pieces)), t = share * pieces - piece, s = 1 - t;
  const [a, b, c, d] = all.slice(piece * 3);
  return [0, 1].map((axis) => a[axis] * s ** 3 + 3 * b[axis] * s * s * t + 3 * c[axis] * s * t * t + d[axis] * t ** 3);
}

const midpoint = (edge) => pointAlong(edge, 0.5);

// Merges the marks of states that are collapsed into one element.
function merge(marks, find) {
  const merged = new Map();
  for (const [name, mark] of Object.entries(marks || {})) {
    const at = find(name);
    if (!at) continue;
    const all = merged.get(at) || { classes: new Set(), badges: new Set(), titles: new Set(), weight: null };
    merged.set(at, all);
    for (const name of (mark.classes || "").split(/\s+/)) if (name) all.classes.add(name);
    if (mark.badge) all.badges.add(mark.badge);
    if (mark.title) all.titles.add(mark.title);
    if (mark.weight != null) all.weight = Math.max(all.weight ?? 0, mark.weight);
  }
  return merged;
}

const isApart = ([x, y], width, box) =>
  y + 8 <= box.y || y - 8 >= box.y + box.height || x + width / 2 <= box.x || x - width / 2 >= box.x + box.width;

// Moves the centre of an edge's badge aside where it would cover the words of an edge.
function keepClear(place, width, words) {
  for (const box of words) {
    if (isApart(place, width, box)) continue;
    place[0] = place[0] < box.x + box.width / 2 ? box.x - width / 2 - 2 : box.x + box.width + width / 2 + 2;
  }
}

// Moves the centre of an edge's badge along the edge and beside it, to where it covers no other badge, if there is such a place.
function keepApart(edge, place, width, words, badges) {
  const places = [0.5, 0.35, 0.65, 0.2, 0.8].flatMap((share) => [0, -1, 1].map((side) => {
    const [x, y] = pointAlong(edge, share), at = [x + side * (width / 2 + 4), y];
    keepClear(at, width, words);
    return at;
  }));
  Object.assign(place, places.find((at) => badges.every((box) => isApart(at, width, box))) || places[0]);
}

const widthOf = (text) => [...text].reduce((sum, sign) => sum + (sign > "~" ? 13 : 7), 10); // arrows and dots are wider

// Draws a badge and returns its box.
function badge(layer, root, place, text, classes, title, centred) {
  const width = widthOf(text), left = centred ? place[0] - width / 2 : place[0] - width;
  const group = make("g", { class: `overlay-badge overlay-badge-${layer} ${classes}` }, root);
  make("rect", { x: left, y: place[1] - 8, width, height: 16, rx: 8 }, group);
  make("text", { x: left + width / 2, y: place[1] + 4.2, "text-anchor": "middle" }, group, text);
  if (title) make("title", {}, group, title);
  place[0] = centred ? place[0] + width + 2 : left - 2; // where the next layer's badge goes
  return { x: left, y: place[1] - 8, width, height: 16 };
}

// Replaces all overlays with these layers; `findState` and `findEdge` return the element of a state or an edge.
export function drawOverlays(root, layers, findState, findEdge) {
  for (const old of root.querySelectorAll(".overlay-badge, .decorated > title")) old.remove();
  for (const old of root.querySelectorAll(".decorated")) {
    old.classList.remove("decorated", ...(old.dataset.decorations || "").split(" ").filter(Boolean));
    old.style.removeProperty("--weight");
    delete old.dataset.decorations;
  }
  const words = [...root.querySelectorAll(".edge text")].map((text) => text.getBBox());
  const places = new Map(), boxes = [], top = root.querySelector(".graph") || root;
  for (const [layer, marks] of Object.entries(layers || {}))
    for (const [kind, find, anchor] of [["states", findState, topRight], ["edges", findEdge, midpoint]])
      for (const [at, { classes, badges, titles, weight }] of merge(marks[kind], find)) {
        const title = [...titles].join("\n"), previous = (at.dataset.decorations || "").split(" ").filter(Boolean);
        const added = [...classes].filter((name) => previous.includes(name) || !at.classList.contains(name));
        at.dataset.decorations = [...new Set([...previous, ...added])].join(" ");
        at.classList.add("decorated", ...classes);
        if (weight !== null) at.style.setProperty("--weight", weight);
        if (title) {
          const element = at.querySelector(":scope > title") || make("title", {}, at);
          element.textContent = [element.textContent, title].filter(Boolean).join("\n");
        }
        if (!badges.size) continue;
        const isFirst = !places.has(at), isEdge = kind === "edges", text = [...badges].join(" ");
        if (isFirst) places.set(at, anchor(at));
        const place = places.get(at);
        if (!place) continue;
        if (isEdge && isFirst) keepApart(at, place, widthOf(text), words, boxes);
        else if (isEdge) keepClear(place, widthOf(text), words);
        boxes.push(badge(layer, top, place, text, [...classes].join(" "), title, isEdge));
      }
}
