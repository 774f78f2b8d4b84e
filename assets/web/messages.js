// Messages between agents, as a list or as a sequence diagram. All lines are of one height, so that only those in sight are in
// the page, however many there are. What they say is untrusted: it is set as text and never as HTML.
const HEIGHT = { list: 52, sequence: 44 }, AROUND = 8, COLUMN = 132, GUTTER = 66, MORE = 24;
const words = (name) => name.replaceAll("_", " ").replaceAll("-", " ");
const typed = (type) => words(type).toLowerCase(); // PLAN_REQUEST is for programs
let last = 0;

const made = (tag, name, text) => {
  const element = document.createElement(tag);
  element.className = name;
  if (text !== undefined) element.textContent = text;
  return element;
};

// Puts these into a box in this order. What is there stays, or a click on it while it is drawn anew would be lost.
function settle(box, wanted) {
  const known = new Set(wanted);
  for (const old of [...box.children]) if (!known.has(old)) old.remove();
  wanted.forEach((element, at) => { if (box.children[at] !== element) box.insertBefore(element, box.children[at] || null); });
}

export default {
  template: `<div class="messages-list">
    <div class="messages-scroll" ref="scroll" tabindex="0" role="listbox" :aria-label="label" @scroll="later" @keydown="key">
      <div class="messages-heads" ref="heads" role="presentation"></div>
      <div class="messages-lines" ref="lines" role="presentation"></div>
    </div></div>`,
  props: { rows: Array, parties: Array, form: String, label: String, at: Number, picked: Number },
  mounted() {
    Object.assign(this, { all: this.rows || [], who: this.parties || [], now: this.at || 0, how: this.form || "list", chosen: this.picked || 0, base: `message-${++last}` });
    this.watcher = new ResizeObserver(() => this.later());
    this.watcher.observe(this.$refs.scroll);
    this.be(this.how);
  },
  unmounted() { this.watcher?.disconnect(); },
  methods: {
    splice(keep, rows, parties) { // keep the first `keep` lines, and put these after them
      const box = this.$refs.scroll, ends = box.scrollHeight - box.scrollTop - box.clientHeight < 60 && !this.chosen;
      this.all = [...this.all.slice(0, keep), ...rows];
      this.who = parties;
      this.head();
      this.draw();
      if (ends && keep) box.scrollTop = box.scrollHeight;
    },
    stand(at) { this.now = at; this.draw(); },
    be(form) { this.how = form; this.head(); this.draw(); if (this.chosen) this.reveal(); },
    later() { if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); }); },
    centre(name) { return GUTTER + (this.who.indexOf(name) + 0.5) * this.column; },
    head() { // who takes part, in columns that stay in sight
      const { heads, lines, scroll } = this.$refs, drawn = this.how === "sequence";
      scroll.classList.toggle("drawn", drawn);
      const room = scroll.clientWidth - GUTTER - MORE;
      this.column = Math.max(COLUMN, Math.floor(room / Math.max(1, this.who.length)));
      const columns = drawn ? JSON.stringify([this.column, this.who]) : "";
      if (columns !== this.columns) this.lines = new Map(); // what is drawn, by name: in other columns, all of it anew
      this.columns = columns;
      const width = drawn ? `${GUTTER + this.who.length * this.column + MORE}px` : "";
      heads.style.width = lines.style.width = width;
      heads.replaceChildren(...(drawn ? this.who : []).map((name) => {
        const box = made("div", "party", words(name));
        box.style.left = `${this.centre(name)}px`;
        box.style.maxWidth = `${this.column - 12}px`;
        return box;
      }));
    },
    draw() {
      const { lines, scroll, heads } = this.$refs, high = HEIGHT[this.how];
      if (!scroll?.isConnected) return;
      if (this.how === "sequence" && scroll.clientWidth !== this.wide) { this.wide = scroll.clientWidth; this.head(); }
      lines.style.height = `${this.all.length * high}px`;
      [this.before, this.lines] = [this.lines, new Map()];
      const top = Math.max(0, scroll.scrollTop - heads.offsetHeight);
      const from = Math.max(0, Math.floor(top / high) - AROUND);
      const to = Math.min(this.all.length, Math.ceil((top + scroll.clientHeight) / high) + AROUND);
      const threads = this.how === "sequence" ? this.who.map((name) => this.kept(`thread ${name}`, this.centre(name), () => {
        const thread = made("div", "thread");
        thread.style.left = `${this.centre(name)}px`;
        return thread;
      })) : [];
      settle(lines, [...threads, ...this.all.slice(from, to).map((row, index) => this.line(row, from + index, high))]);
      const active = this.all.findIndex((row) => row[0] === this.chosen);
      if (active >= from && active < to) scroll.setAttribute("aria-activedescendant", `${this.base}-${this.chosen}`);
      else scroll.removeAttribute("aria-activedescendant");
    },
    kept(name, of, make) { // what is drawn already of a name, if it is of the same
      const old = this.before.get(name), element = old?.of === of ? old.element : make();
      this.lines.set(name, { of, element });
      return element;
    },
    line(row, index, high) {
      const [number, seq] = row, element = this.kept(number, row, () => this.made(row));
      element.className = `message ${this.how} ${seq > this.now ? "later" : ""} ${seq === this.now ? "here" : ""} ${number === this.chosen ? "picked" : ""}`;
      element.style.top = `${index * high}px`;
      element.setAttribute("aria-selected", String(number === this.chosen));
      element.setAttribute("aria-posinset", index + 1);
      element.setAttribute("aria-setsize", this.all.length);
      element.setAttribute("aria-label", `${element.said}${seq > this.now ? ", after the step that is shown" : ""}`);
      return element;
    },
    made(row) {
      const [number, , clock, sender, recipient, type, head] = row, element = made("div", "message");
      element.id = `${this.base}-${number}`;
      element.setAttribute("role", "option");
      element.said = `${number}. ${words(sender)} to ${words(recipient)}, ${typed(type)}: ${head}${clock ? `, after ${clock}` : ""}`;
      element.addEventListener("click", () => { this.pick(number); this.$emit("go", number); });
      const count = made("span", "message-number num", number);
      if (this.how === "sequence") element.append(count, ...this.arrow(sender, recipient, type, head));
      else {
        const facts = made("div", "message-facts");
        facts.append(made("b", "message-who", `${words(sender)} → ${words(recipient)}`), made("span", "chip", typed(type)), made("span", "grow"), made("span", "muted num", clock));
        const body = made("div", "message-body");
        body.append(facts, made("div", "message-head", head));
        element.append(count, body);
      }
      return element;
    },
    arrow(sender, recipient, type, head) {
      const a = this.centre(sender), b = this.centre(recipient), own = a === b;
      const shaft = made("div", `shaft ${own ? "own" : a < b ? "right" : "left"} ${/response|result|answer/i.test(type) ? "reply" : ""}`);
      shaft.style.left = `${Math.min(a, b)}px`;
      shaft.style.width = `${own ? 26 : Math.abs(a - b)}px`;
      const label = made("div", "shaft-label"), wide = Math.max(Math.abs(a - b) - 16, this.column + 40), middle = own ? a + 34 + wide / 2 : (a + b) / 2;
      label.append(made("b", "", typed(type)), ` ${head}`);
      label.style.width = `${wide}px`;
      const most = GUTTER + this.who.length * this.column + MORE - wide;
      label.style.left = `${Math.max(GUTTER - 20, Math.min(middle - wide / 2, most))}px`;
      return [shaft, label];
    },
    pick(number) { this.chosen = number; this.draw(); this.$emit("pick", number); },
    reveal() {
      const { scroll, heads } = this.$refs, high = HEIGHT[this.how], index = this.all.findIndex((row) => row[0] === this.chosen);
      if (index < 0) return;
      const top = index * high, room = scroll.clientHeight - heads.offsetHeight;
      if (top < scroll.scrollTop) scroll.scrollTop = top;
      else if (top + high > scroll.scrollTop + room) scroll.scrollTop = top + high - room;
    },
    key(event) {
      if (event.key === "Enter" && this.chosen) this.$emit("go", this.chosen);
      const here = this.all.findIndex((row) => row[0] === this.chosen), end = this.all.length - 1;
      const page = Math.max(1, Math.floor(this.$refs.scroll.clientHeight / HEIGHT[this.how]) - 1);
      const next = { ArrowDown: here + 1, ArrowUp: here < 0 ? end : here - 1, Home: 0, End: end, PageDown: here + page, PageUp: here - page }[event.key];
      if (next === undefined || event.ctrlKey || event.altKey || event.metaKey || !this.all.length) return;
      event.preventDefault();
      event.stopPropagation(); // the player has some of these keys too
      this.pick(this.all[Math.max(0, Math.min(end, next))][0]);
      this.reveal();
    },
  },
};
