// Messages between agents, as a list or as a sequence diagram. All lines have the same height, so that only those in view are
// drawn. Texts are untrusted: always plain text, never HTML.
import { make } from "/hemicycle/conversation/element.js";
import { isAtEnd } from "/hemicycle/conversation/scrolling.js";

const HEIGHT = { list: 52, sequence: 44 }, COLUMN = 132, GUTTER = 66, MARGIN = 24; // pixels
const OVERSCAN = 8; // lines drawn beyond the view
const words = (name) => name.replaceAll("_", " ").replaceAll("-", " ");
const typed = (type) => words(type).toLowerCase(); // PLAN_REQUEST reads as plan request
let last = 0;

// Sets the children of a box, in this order. Existing ones are not replaced, because a click on one would be lost.
function setChildren(box, children) {
  const remaining = new Set(children);
  for (const old of [...box.children]) if (!remaining.has(old)) old.remove();
  children.forEach((element, at) => { if (box.children[at] !== element) box.insertBefore(element, box.children[at] || null); });
}

export default {
  render() {
    const part = (name) => Vue.h("div", { class: `messages-${name}`, ref: name, role: "presentation" });
    const box = { class: "messages-scroll", ref: "scroll", tabindex: 0, role: "listbox", "aria-label": this.label, onScroll: this.scheduleDraw, onKeydown: this.onKey };
    return Vue.h("div", { class: "messages-list" }, [Vue.h("div", box, [part("heads"), part("lines")])]);
  },
  props: { rows: Array, parties: Array, form: String, label: String, at: Number, picked: Number },
  mounted() {
    Object.assign(this, { messages: this.rows || [], people: this.parties || [], step: this.at || 0, layout: this.form || "list", selected: this.picked || 0, idPrefix: `message-${++last}` });
    this.resizeObserver = new ResizeObserver(() => this.scheduleDraw());
    this.resizeObserver.observe(this.$refs.scroll);
    this.setForm(this.layout);
  },
  unmounted() { this.resizeObserver?.disconnect(); },
  methods: {
    splice(keep, rows, parties) { // keeps the first `keep` messages and appends these
      const box = this.$refs.scroll, ends = isAtEnd(box) && !this.selected;
      this.messages = [...this.messages.slice(0, keep), ...rows];
      this.people = parties;
      this.drawHeads();
      this.draw();
      if (ends && keep) box.scrollTop = box.scrollHeight;
    },
    setStep(at) { this.step = at; this.draw(); },
    setForm(form) { this.layout = form; this.drawHeads(); this.draw(); if (this.selected) this.scrollToPicked(); },
    scheduleDraw() { if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); }); },
    centre(name) { return GUTTER + (this.people.indexOf(name) + 0.5) * this.column; },
    drawHeads() { // a column for each participant
      const { heads, lines, scroll } = this.$refs, drawn = this.layout === "sequence";
      scroll.classList.toggle("drawn", drawn);
      const room = scroll.clientWidth - GUTTER - MARGIN;
      this.column = Math.max(COLUMN, Math.floor(room / Math.max(1, this.people.length)));
      const columns = drawn ? JSON.stringify([this.column, this.people]) : "";
      if (columns !== this.columns) this.drawn = new Map(); // drawn elements by key; changed columns need new ones
      this.columns = columns;
      const width = drawn ? `${GUTTER + this.people.length * this.column + MARGIN}px` : "";
      heads.style.width = lines.style.width = width;
      heads.replaceChildren(...(drawn ? this.people : []).map((name) => {
        const box = make("div", "party", words(name));
        box.style.left = `${this.centre(name)}px`;
        box.style.maxWidth = `${this.column - 12}px`;
        return box;
      }));
    },
    draw() {
      const { lines, scroll, heads } = this.$refs, rowHeight = HEIGHT[this.layout];
      if (!scroll?.isConnected) return;
      if (this.layout === "sequence" && scroll.clientWidth !== this.drawnWidth) { this.drawnWidth = scroll.clientWidth; this.drawHeads(); }
      lines.style.height = `${this.messages.length * rowHeight}px`;
      [this.previous, this.drawn] = [this.drawn, new Map()];
      const top = Math.max(0, scroll.scrollTop - heads.offsetHeight);
      const from = Math.max(0, Math.floor(top / rowHeight) - OVERSCAN);
      const to = Math.min(this.messages.length, Math.ceil((top + scroll.clientHeight) / rowHeight) + OVERSCAN);
      const threads = this.layout === "sequence" ? this.people.map((name) => this.reuse(`thread ${name}`, this.centre(name), () => {
        const thread = make("div", "thread");
        thread.style.left = `${this.centre(name)}px`;
        return thread;
      })) : [];
      setChildren(lines, [...threads, ...this.messages.slice(from, to).map((row, index) => this.line(row, from + index, rowHeight))]);
      const active = this.messages.findIndex((row) => row[0] === this.selected);
      if (active >= from && active < to) scroll.setAttribute("aria-activedescendant", `${this.idPrefix}-${this.selected}`);
      else scroll.removeAttribute("aria-activedescendant");
    },
    reuse(key, source, create) { // the drawn element of a key, or a new one if it was drawn for something else
      const old = this.previous.get(key), element = old?.source === source ? old.element : create();
      this.drawn.set(key, { source, element });
      return element;
    },
    line(row, index, rowHeight) {
      const [number, seq] = row, element = this.reuse(number, row, () => this.makeRow(row));
      element.className = `message ${this.layout} ${seq === this.step ? "here" : ""} ${number === this.selected ? "picked" : ""}`;
      element.style.top = `${index * rowHeight}px`;
      element.setAttribute("aria-selected", String(number === this.selected));
      element.setAttribute("aria-posinset", index + 1);
      element.setAttribute("aria-setsize", this.messages.length);
      return element;
    },
    makeRow(row) {
      const [number, , clock, sender, recipient, type, preview] = row, element = make("div", "message");
      element.id = `${this.idPrefix}-${number}`;
      element.setAttribute("role", "option");
      element.addEventListener("click", () => { this.pick(number); this.$emit("go", number); });
      const count = make("span", "message-number num", number);
      if (this.layout === "sequence") {
        element.append(count, ...this.arrow(sender, recipient, type, preview));
        element.append(make("span", "visually-hidden", `${words(sender)} to ${words(recipient)}${clock ? `, after ${clock}` : ""}`));
      } else {
        const facts = make("div", "message-facts");
        facts.append(make("b", "message-who", `${words(sender)} → ${words(recipient)}`), make("span", "chip", typed(type)), make("span", "grow"), make("span", "muted num", clock));
        const body = make("div", "message-body");
        body.append(facts, make("div", "message-head", preview));
        element.append(count, body);
      }
      return element;
    },
    arrow(sender, recipient, type, preview) {
      const a = this.centre(sender), b = this.centre(recipient), own = a === b;
      const shaft = make("div", `shaft ${own ? "own" : a < b ? "right" : "left"} ${/response|result|answer/i.test(type) ? "reply" : ""}`);
      shaft.style.left = `${Math.min(a, b)}px`;
      shaft.style.width = `${own ? 26 : Math.abs(a - b)}px`;
      const label = make("div", "shaft-label"), labelWidth = Math.max(Math.abs(a - b) - 16, this.column + 40), middle = own ? a + 34 + labelWidth / 2 : (a + b) / 2;
      label.append(make("b", "", typed(type)), ` ${preview}`);
      label.style.width = `${labelWidth}px`;
      const maxLeft = GUTTER + this.people.length * this.column + MARGIN - labelWidth;
      label.style.left = `${Math.max(GUTTER - 20, Math.min(middle - labelWidth / 2, maxLeft))}px`;
      return [shaft, label];
    },
    pick(number) { this.selected = number; this.draw(); this.$emit("pick", number); },
    scrollToPicked() {
      const { scroll, heads } = this.$refs, rowHeight = HEIGHT[this.layout], index = this.messages.findIndex((row) => row[0] === this.selected);
      if (index < 0) return;
      const top = index * rowHeight, room = scroll.clientHeight - heads.offsetHeight;
      if (top < scroll.scrollTop) scroll.scrollTop = top;
      else if (top + rowHeight > scroll.scrollTop + room) scroll.scrollTop = top + rowHeight - room;
    },
    onKey(event) {
      if (event.key === "Enter" && this.selected) this.$emit("go", this.selected);
      const here = this.messages.findIndex((row) => row[0] === this.selected), end = this.messages.length - 1;
      const page = Math.max(1, Math.floor(this.$refs.scroll.clientHeight / HEIGHT[this.layout]) - 1);
      const next = { ArrowDown: here + 1, ArrowUp: here < 0 ? end : here - 1, Home: 0, End: end, PageDown: here + page, PageUp: here - page }[event.key];
      if (next === undefined || event.ctrlKey || event.altKey || event.metaKey || !this.messages.length) return;
      event.preventDefault();
      event.stopPropagation(); // the player uses some of these keys
      this.pick(this.messages[Math.max(0, Math.min(end, next))][0]);
      this.scrollToPicked();
    },
  },
};
