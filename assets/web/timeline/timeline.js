// Time drawn to scale: a lane for each agent, blocks of work, flags, an axis, and the head. It knows no framework and no server.
const ROW = 14, LOW_ROW = 5, LABELLED = 12, MAX_LANES_HEIGHT = 84, AXIS = 16, FLAG_ROW = 16; // pixels
const FLAG_WIDTH = 17; // closer flags are merged
const CLICK = 4; // pixels that a pointer may move in a click
const SHARES = { model: 1, tools: 0.6, person: 1, pause: 0.4, engine: 0.6 }; // of a row's height: no kind is told by colour alone
const COLOURS = { model: "--run", tools: "--visited", person: "--wait", pause: "--pause", engine: "--stop" };
const KINDS = Object.keys(SHARES);

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const element = (tag, classes, parent, text = "") => parent.appendChild(Object.assign(document.createElement(tag), { className: classes, textContent: text }));
const firstWhere = (count, holds) => { // binary search: the first index that holds, or count
  let low = 0, high = count;
  while (low < high) { const middle = (low + high) >> 1; if (holds(middle)) high = middle; else low = middle + 1; }
  return low;
};
export const formatTime = (seconds) => {
  const whole = Math.floor(Math.max(seconds, 0)), minutes = Math.floor(whole / 60), padded = (value) => String(value).padStart(2, "0");
  return minutes < 60 ? `${minutes}:${padded(whole % 60)}` : `${Math.floor(minutes / 60)}:${padded(minutes % 60)}:${padded(whole % 60)}`;
};

export class Timeline {
  // `words` are those of the kinds of work; `flags` the kinds of flags, most severe first: name, glyph, title
  // `on`: grab(), move(step), release(step), pick(step) of a flag, open(lane, step) of a block
  constructor(root, { lanes, words, kinds, on, label = "Step", seconds = null }) {
    Object.assign(this, { root, lanes, words, kinds, on, fixedSeconds: seconds });
    this.times = []; // milliseconds after the first step; that of step n is at n - 1
    this.blocks = lanes.map(() => ({ list: [], longest: 0 })); // by lane, in the order in which they ended
    this.open = [];
    this.texts = [];
    this.runFlags = [];
    this.notes = [];
    this.cuts = []; // steps marked by a line over all lanes, such as where two runs part
    this.at = 0;
    this.head = 1;
    this.from = 0; // what is in view, as parts of the whole
    this.to = 1;
    this.equal = this.folded = this.dragging = false;
    this.clock = null; // while the run goes on: seconds since its first step, and when that was so
    this.pointers = new Map();
    this.ranks = new Map(kinds.map(([name], index) => [name, index]));
    this.build(label);
    this.resizeObserver = new ResizeObserver(() => this.layOut());
    this.resizeObserver.observe(this.field);
    this.themeObserver = new MutationObserver(() => this.readTheme());
    this.themeObserver.observe(document.body, { attributes: true, attributeFilter: ["class"] });
    this.readTheme();
    document.fonts.ready.then(() => this.draw()); // the axis is drawn in a font that may load later
  }
  close() {
    this.resizeObserver.disconnect();
    this.themeObserver.disconnect();
    clearTimeout(this.ticking);
    cancelAnimationFrame(this.frame);
  }
  build(label) {
    this.root.classList.add("timeline");
    this.names = element("div", "lane-names", this.root);
    this.names.ariaHidden = "true";
    for (const name of this.lanes) Object.assign(element("span", "lane-name", this.names, name), { title: name });
    this.field = element("div", "lane-field", this.root);
    this.rail = element("div", "rail", this.field);
    this.canvas = element("canvas", "", this.rail);
    this.future = element("div", "lane-future", this.rail);
    this.thumb = element("div", "thumb", this.rail);
    for (const [name, value] of Object.entries({ role: "slider", tabindex: 0, "aria-label": label, "aria-valuemin": 1, "aria-orientation": "horizontal" })) this.rail.setAttribute(name, value);
    this.marks = element("div", "marks", this.field);
    this.marks.setAttribute("role", "toolbar");
    this.marks.setAttribute("aria-label", "Marks");
    this.marks.onkeydown = (event) => this.onMarkKey(event);
    this.tip = element("div", "lane-tip", this.field);
    this.tip.hidden = true;
    this.rail.onpointerdown = (event) => this.press(event);
    this.rail.onpointermove = (event) => this.movePointer(event);
    this.rail.onpointerup = this.rail.onpointercancel = (event) => this.lift(event);
    this.rail.onpointerleave = () => { this.tip.hidden = true; };
    this.rail.ondblclick = () => this.zoom(0, 1);
    this.field.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
  }

  // what is shown
  add({ times = [], blocks = [], open = [], words = [], flags = [] }, whole = false) {
    if (whole) { this.times = []; this.texts = []; this.runFlags = []; for (const lane of this.blocks) { lane.list = []; lane.longest = 0; } }
    for (const time of times) this.times.push(time);
    this.texts.push(...words);
    for (const block of blocks) {
      const lane = this.blocks[block[0]];
      lane.list.push(block);
      lane.longest = Math.max(lane.longest, block[3] - block[2]);
    }
    this.open = open;
    this.runFlags.push(...flags);
    this.changed = true;
  }
  setNotes(flags) { this.notes = flags; this.draw(); }
  setSteps(at, head, running = null) { // `running`: seconds since the first step, while the run goes on
    this.clock = running === null ? null : { seconds: running, read: performance.now() };
    const moved = at !== this.at;
    if (head !== this.head || this.changed) { this.head = head; this.changed = false; this.draw(); }
    this.at = at;
    if (!this.dragging) this.place(at, moved);
    this.tick();
  }
  set(options) { Object.assign(this, options); this.from = 0; this.to = 1; this.layOut(); } // folded, equal
  place(at, follow = false) {
    this.thumb.dataset.step = at;
    let part = this.partOf(at);
    if (at >= this.head && this.clock && !this.equal) part = 1;
    if (follow && (part < this.from || part > this.to)) {
      const half = (this.to - this.from) / 2;
      this.zoom(part - half, part + half);
    }
    this.placeAt(this.xOf(part));
  }
  placeAt(x) {
    this.thumb.hidden = x < -1 || x > this.width + 1;
    this.thumb.style.transform = `translateX(${x}px)`;
    this.future.style.left = `${clamp(x, 0, this.width)}px`;
  }
  tick() { // the head moves with the clock, without traffic
    clearTimeout(this.ticking);
    if (!this.clock || this.equal) return;
    const pixel = (1000 * this.seconds * (this.to - this.from)) / Math.max(this.width, 1);
    const least = matchMedia("(prefers-reduced-motion: reduce)").matches ? 1000 : 50;
    this.ticking = setTimeout(() => {
      if (!document.hidden) { this.draw(); if (!this.dragging) this.place(this.at); }
      this.tick();
    }, clamp(pixel, least, 5000));
  }

  // scale
  get seconds() { return this.frozen ?? this.whole; }
  get whole() { // from the first step to the right end of the whole
    const running = this.clock ? this.clock.seconds + (performance.now() - this.clock.read) / 1000 : 0;
    return Math.max(this.fixedSeconds ?? 0, running, (this.times.at(-1) ?? 0) / 1000, 0.001);
  }
  partOf(step) {
    const known = this.times.length;
    if (this.equal || !known || step > known) return clamp((step - 1) / Math.max(this.head - 1, 1), 0, 1);
    return this.times[Math.max(step, 1) - 1] / 1000 / this.seconds;
  }
  xOf(part) { return ((part - this.from) / (this.to - this.from)) * this.width; }
  partAt(x) { return this.from + (x / Math.max(this.width, 1)) * (this.to - this.from); }
  stepAt(x) {
    const known = this.times.length;
    if (this.equal || !known) return clamp(Math.round(this.partAt(x) * (this.head - 1)) + 1, 1, this.head);
    if (x >= this.width && this.to >= 1) return this.head;
    const time = this.partAt(x + 0.5) * this.seconds * 1000;
    return clamp(firstWhere(known, (index) => this.times[index] > time), 1, this.head);
  }
  zoom(from, to) {
    const least = 1 / Math.max(50, this.head * 4), size = clamp(to - from, Math.min(least, 1), 1);
    this.from = clamp(from, 0, 1 - size);
    this.to = this.from + size;
    this.root.classList.toggle("zoomed", size < 1);
    this.draw();
    if (!this.dragging) this.place(this.at);
  }
  zoomAround(x, factor) {
    const held = this.partAt(x);
    this.zoom(held - (held - this.from) * factor, held + (this.to - held) * factor);
  }

  // drawing
  readTheme() {
    const style = getComputedStyle(document.body), read = (name) => style.getPropertyValue(name).trim();
    this.colours = Object.fromEntries(Object.entries(COLOURS).map(([kind, name]) => [kind, read(name)]));
    Object.assign(this.colours, { line: read("--line"), muted: read("--muted"), cut: read("--text"), font: `${read("--small")} ${read("--sans")}` });
    this.draw();
  }
  layOut() {
    const many = this.folded ? 1 : this.lanes.length;
    this.row = clamp(Math.floor(MAX_LANES_HEIGHT / many), LOW_ROW, ROW);
    this.gap = this.folded || this.row < LABELLED ? FLAG_ROW : 0; // low lanes have their flags in a row above
    this.root.classList.toggle("folded", this.folded);
    this.root.classList.toggle("unlabelled", this.row < LABELLED || this.folded);
    this.lanesHeight = this.gap + many * this.row;
    this.axis = matchMedia("(max-height: 600px)").matches ? 0 : AXIS;
    const height = this.lanesHeight + this.axis;
    this.root.style.setProperty("--lane", `${this.row}px`);
    this.root.style.height = `${height}px`;
    this.future.style.height = this.thumb.style.height = `${this.lanesHeight}px`;
    this.width = this.field.clientWidth;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.height = `${height}px`;
    this.draw();
    this.place(this.at);
  }
  draw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => { this.frame = 0; this.paint(); });
  }
  paint() {
    if (!this.width || !this.canvas.height) return;
    this.frozen = this.whole; // of one moment, however long it takes to draw
    const context = this.canvas.getContext("2d"), ratio = devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.lanesHeight + this.axis);
    context.fillStyle = this.colours.line;
    for (let lane = 0; lane < (this.folded ? 1 : this.lanes.length); lane += 1) context.fillRect(0, this.gap + lane * this.row + this.row / 2 - 0.5, this.width, 1);
    this.paintAxis(context, this.seconds);
    this.blocks.forEach(({ list, longest }, lane) => this.paintLane(context, lane, list, longest));
    for (const block of this.open) this.paintOngoing(context, block);
    context.fillStyle = this.colours.cut;
    for (const step of this.cuts) context.fillRect(Math.round(this.xOf(this.partOf(step))) - 1, 0, 2, this.lanesHeight);
    this.drawMarks();
    this.frozen = null;
  }
  get scale() { // the x of a step or of a time in milliseconds is `offset + factor * it`
    const factor = this.width / (this.to - this.from), offset = -this.from * factor;
    return this.equal || !this.times.length ? { factor: factor / Math.max(this.head - 1, 1), offset } : { factor: factor / (1000 * this.seconds), offset };
  }
  paintLane(context, lane, list, longest) {
    const first = this.stepAt(0), last = this.stepAt(this.width) + 1, { factor, offset } = this.scale, { times, equal, width } = this;
    const xOf = equal ? (step) => offset + factor * (step - 1) : (step) => offset + factor * times[step - 1];
    const tops = KINDS.map((kind) => this.topOf(lane, kind)), heights = KINDS.map((kind) => this.heightOf(kind)), colours = KINDS.map((kind) => this.colours[kind]);
    let filled = -1; // the last pixel that a narrow block has filled: far out, blocks merge
    for (let index = firstWhere(list.length, (at) => list[at][3] >= first); index < list.length; index += 1) {
      const block = list[index];
      if (block[3] - longest > last) break;
      if (block[2] > last) continue;
      const left = Math.max(xOf(block[2]), 0), size = Math.min(xOf(block[3]), width) - left, kind = block[1];
      if (size < 2 && Math.floor(left) <= filled) continue;
      if (size < 2) filled = Math.floor(left);
      context.fillStyle = colours[kind];
      context.fillRect(left, tops[kind], Math.max(size > 4 ? size - 1 : size, 1), heights[kind]);
    }
  }
  heightOf(kind) { return Math.max(Math.round((this.row - 3) * SHARES[kind]), 2); }
  topOf(lane, kind) { return this.gap + (this.folded ? 0 : lane) * this.row + (this.row - this.heightOf(kind)) / 2; }
  paintOngoing(context, block) {
    const { left, right } = this.extent(block), kind = KINDS[block[1]], begin = Math.max(left, 0);
    context.fillStyle = this.colours[kind];
    if (left <= this.width && right >= 0) context.fillRect(begin, this.topOf(block[0], kind), Math.max(Math.min(right, this.width) - begin, 1), this.heightOf(kind));
  }
  extent([, , first, last]) {
    return { left: this.xOf(this.partOf(first)), right: last ? this.xOf(this.partOf(last)) : this.xOf(this.equal ? 1 : this.clock ? 1 : this.partOf(this.head)) };
  }
  paintAxis(context, seconds) {
    const many = Math.max(Math.floor(this.width / 90), 1), whole = this.equal ? this.head : seconds, seen = whole * (this.to - this.from);
    const sizes = this.equal ? [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000] : [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];
    const size = sizes.find((one) => seen / one <= many) ?? Math.ceil(seen / many / 86400) * 86400;
    context.font = this.colours.font;
    context.textBaseline = "bottom";
    const end = this.lanesHeight + this.axis;
    for (let tick = Math.ceil((this.from * whole) / size) * size; tick <= this.to * whole + 1e-9; tick += size) {
      if (this.equal && !tick) continue;
      const x = this.xOf(this.equal ? this.partOf(tick) : tick / whole);
      const text = this.equal ? String(tick) : size < 1 ? `${tick.toFixed(1)} s` : formatTime(tick);
      context.fillStyle = this.colours.line;
      context.fillRect(Math.round(x), this.gap, 1, this.lanesHeight - this.gap + 3);
      if (!this.axis) continue;
      context.fillStyle = this.colours.muted;
      context.textAlign = x < 20 ? "left" : x > this.width - 20 ? "right" : "center";
      context.fillText(text, clamp(x, 0, this.width), end);
    }
  }

  // the pointer
  press(event, pick = null) { // `pick`: called instead if a flag was clicked
    if (event.button) return;
    this.rail.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, event.clientX);
    this.box = this.rail.getBoundingClientRect();
    this.tip.hidden = true;
    if (this.pointers.size > 1) { this.dragging = false; this.root.classList.remove("held"); return; } // a pinch
    this.pressed = { x: event.clientX, pick, moved: false };
    this.dragging = true;
    this.root.classList.add("held");
    this.on.grab?.();
    if (!pick) this.drag(event);
  }
  movePointer(event) {
    if (this.pointers.size > 1 && this.pointers.has(event.pointerId)) return this.pinch(event);
    if (!this.dragging) return this.hover(event);
    if (Math.abs(event.clientX - this.pressed.x) > CLICK) this.pressed.moved = true;
    if (this.pressed.moved || !this.pressed.pick) this.drag(event);
  }
  drag(event) {
    const x = clamp(event.clientX - this.box.left, 0, this.width), step = this.stepAt(x);
    this.thumb.dataset.step = step;
    this.placeAt(x);
    this.on.move(step);
  }
  pinch(event) {
    const [other] = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, x]) => x), before = this.pointers.get(event.pointerId);
    const apart = Math.max(Math.abs(event.clientX - other), 8);
    this.zoomAround((event.clientX + other) / 2 - this.box.left, clamp(Math.max(Math.abs(before - other), 8) / apart, 0.5, 2));
    this.pointers.set(event.pointerId, event.clientX);
  }
  lift(event) {
    this.pointers.delete(event.pointerId);
    if (!this.dragging) return;
    this.dragging = false;
    this.root.classList.remove("held");
    const x = event.clientX - this.box.left, step = this.stepAt(clamp(x, 0, this.width)), { pick, moved } = this.pressed;
    if (pick && !moved) {
      this.on.release(null);
      if (event.type === "pointerup") pick();
      return this.place(this.at);
    }
    this.on.release(event.type === "pointerup" ? step : null);
    const block = event.type === "pointerup" && !moved && this.blockAt(x, event.clientY - this.box.top);
    if (block) this.on.open?.(block[0], clamp(step, block[2], block[3] || this.head));
    this.place(this.at);
  }
  onWheel(event) {
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const by = (event.deltaX / Math.max(this.width, 1)) * (this.to - this.from);
      return this.zoom(this.from + by, this.to + by);
    }
    this.zoomAround(event.clientX - this.rail.getBoundingClientRect().left, Math.exp(clamp(event.deltaY, -100, 100) * (event.ctrlKey ? 0.01 : 0.003)));
  }
  blockAt(x, y) {
    const lane = Math.floor((y - this.gap) / this.row), lanes = this.folded ? this.blocks.map((_, index) => index) : [lane];
    if (y < this.gap || y >= this.lanesHeight) return null;
    const step = this.stepAt(x), covers = (block) => { const { left, right } = this.extent(block); return x >= left - 2 && x <= Math.max(right, left + 1) + 2; };
    for (const block of this.open) if (lanes.includes(block[0]) && covers(block)) return block;
    for (const index of lanes) {
      const { list, longest } = this.blocks[index] ?? { list: [], longest: 0 };
      for (let at = firstWhere(list.length, (one) => list[one][3] >= step); at < list.length && list[at][3] - longest <= step + 1; at += 1) if (covers(list[at])) return list[at];
    }
    return null;
  }
  hover(event) {
    if (event.pointerType === "touch") return;
    const box = this.rail.getBoundingClientRect(), x = event.clientX - box.left, block = this.blockAt(x, event.clientY - box.top);
    this.rail.style.cursor = block && this.on.open ? "pointer" : "";
    const step = this.stepAt(x), time = this.times[step - 1];
    this.tip.textContent = block ? this.describe(block) : time === undefined ? `Step ${step}` : `Step ${step} · ${formatTime(time / 1000)}`;
    this.tip.hidden = false;
    this.tip.style.left = `${clamp(x, this.tip.offsetWidth / 2, Math.max(this.width - this.tip.offsetWidth / 2, this.tip.offsetWidth / 2))}px`;
  }
  describe([lane, work, first, last, word]) {
    const begin = (this.times[first - 1] ?? 0) / 1000, took = (last ? (this.times[last - 1] ?? 0) / 1000 : this.seconds) - begin;
    const text = this.texts[word], steps = last ? `steps ${first} to ${last}` : `since step ${first}`;
    return [this.lanes[lane], this.words[work] + (text ? `: ${text}` : ""), `${formatTime(begin)}, ${took < 10 ? took.toFixed(1) : Math.floor(took)} s`, steps].join(" · ");
  }

  // flags
  drawMarks() {
    const drawn = [this.from, this.to, this.seconds, this.equal, this.width, this.gap, this.row, this.head, this.runFlags.length, this.notes];
    if (this.drawn?.every((value, index) => value === drawn[index])) return;
    this.drawn = drawn;
    const groups = [], last = new Map(); // by row: the newest group
    const placed = this.notes.length ? [...this.runFlags, ...this.notes].sort((a, b) => a[0] - b[0]) : this.runFlags;
    const [begin, end] = [this.stepAt(-FLAG_WIDTH), this.stepAt(this.width + FLAG_WIDTH)];
    for (let index = firstWhere(placed.length, (at) => placed[at][0] >= begin); index < placed.length && placed[index][0] <= end; index += 1) {
      const [seq, lane, kind, text] = placed[index], x = this.xOf(this.partOf(seq)), row = this.gap ? 0 : lane;
      if (x < -8 || x > this.width + 8) continue;
      const group = last.get(row), mark = { seq, kind, text };
      if (group && x - group.begin < FLAG_WIDTH) { group.marks.push(mark); group.end = x; }
      else { const fresh = { begin: x, end: x, row, marks: [mark] }; last.set(row, fresh); groups.push(fresh); }
    }
    const focused = this.marks.contains(document.activeElement) ? [...this.marks.children].indexOf(document.activeElement) : -1;
    this.marks.replaceChildren(...groups.map((group) => this.markButton(group)));
    const buttons = this.marks.children;
    if (buttons.length) (buttons[Math.max(focused, 0)] || buttons[0]).tabIndex = 0;
    if (focused >= 0) buttons[focused]?.focus();
  }
  markButton({ begin, end, row, marks }) {
    const first = marks[0].seq, last = marks.at(-1).seq, severity = (mark) => this.ranks.get(mark.kind);
    const severest = marks.reduce((a, b) => (severity(b) < severity(a) ? b : a)), [kind, glyph, title] = this.kinds[severity(severest)];
    const tally = new Map();
    for (const { kind: each } of marks) tally.set(each, (tally.get(each) ?? 0) + 1);
    const counts = this.kinds.filter(([name]) => tally.has(name)).map(([name, , word]) => [tally.get(name), word]);
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: `mark ${kind}`, tabIndex: -1, textContent: glyph });
    button.style.left = `${clamp((begin + end) / 2, 6, this.width - 6)}px`;
    button.style.top = `${this.gap ? 0 : row * this.row}px`;
    const many = marks.length > 99 ? "99+" : marks.length;
    if (marks.length > 1) element("sup", "", button, many);
    const label = marks.length === 1 ? `Step ${first}: ${title === severest.text ? title : `${title}, ${severest.text}`}`
      : `${many} marks, steps ${first} to ${last}: ${counts.map(([count, word]) => (count > 1 ? `${count} × ${word}` : word)).join(", ")}. ${marks.length < 7 ? marks.map((mark) => `${mark.seq}: ${mark.text}`).join("; ") : "Click to step through them."}`;
    button.title = label;
    button.setAttribute("aria-label", label);
    button.dataset.kinds = [...tally.keys()].join(" ");
    const pick = () => this.on.pick((marks.find((mark) => mark.seq > this.at) || marks[0]).seq);
    button.onpointerdown = (event) => this.press(event, pick); // which also drags the head
    button.onclick = (event) => { if (!event.detail) pick(); }; // by key
    return button;
  }
  onMarkKey(event) { // a single tab stop; the arrow keys move between flags
    const all = [...this.marks.children], here = all.indexOf(document.activeElement);
    const next = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: all.length - 1 }[event.key];
    if (event.key === "Enter" || event.key === " ") event.stopPropagation();
    if (next === undefined || here < 0) return;
    event.preventDefault();
    event.stopPropagation();
    const to = all[clamp(next, 0, all.length - 1)];
    all.forEach((mark) => { mark.tabIndex = mark === to ? 0 : -1; });
    to.focus();
  }
}
