// A long list of messages: only what is near the window is laid out and drawn. All of its text is in the page, to be found.
import { render } from "/hemicycle/markdown.js";

const NEAR = "1200px"; // how far from the window text is rendered
const END = 60; // pixels from the end that are still the end
const GROUP = 20; // messages that are laid out, or left out, together
const BUDGET = 8; // milliseconds of a frame in which text is rendered
const tall = (text) => 46 + 21 * text.split("\n").reduce((lines, line) => lines + 1 + Math.floor(line.length / 70), 0);

export default {
  template: `<div class="speech">
    <div class="speech-bar" role="search">
      <input type="search" v-model="wanted" @input="sift" @keydown.stop @keyup.stop placeholder="Find a message"
        aria-label="Find messages that contain this text" autocomplete="off" spellcheck="false">
      <span class="muted small num" role="status">{{ said }}</span>
    </div>
    <div class="speech-list" ref="list" role="feed" :aria-label="label" :aria-busy="busy" @scroll.passive="scrolled" @keydown="key">
      <div ref="inner" class="talk"></div>
    </div></div>`,
  props: { label: String },
  data: () => ({ wanted: "", said: "", busy: false }),
  mounted() {
    this.all = []; // { element, text, step, height: a guess }
    this.close = new Set(); // groups near the window that are not yet rendered
    this.until = Infinity;
    this.atEnd = true;
    this.height = 0; // of all of it, when it was looked at last
    this.near = new IntersectionObserver((seen) => this.approach(seen), { root: this.$refs.list, rootMargin: NEAR });
    this.grown = new ResizeObserver(() => this.pin());
    this.grown.observe(this.$refs.inner);
    this.grown.observe(this.$refs.list);
  },
  unmounted() {
    this.near.disconnect();
    this.grown.disconnect();
  },
  methods: {
    before(blocks) { // earlier ones; what is in sight stays where it is
      const list = this.$refs.list, top = list.scrollTop, height = list.scrollHeight;
      const made = blocks.map(this.make), groups = [];
      for (let i = 0; i < made.length; i += GROUP) groups.push(this.group(made.slice(i, i + GROUP)));
      this.$refs.inner.prepend(...groups);
      this.all = [...made, ...this.all];
      this.arrange();
      if (!this.atEnd && top === 0) list.scrollTop = list.scrollHeight - height; // elsewhere the browser holds it
    },
    after(blocks) {
      const made = blocks.map(this.make);
      const last = this.$refs.inner.lastElementChild, room = last ? Math.max(0, GROUP - last.members.length) : 0;
      if (room && made.length) this.fill(last, made.slice(0, room));
      for (let i = room; i < made.length; i += GROUP) this.$refs.inner.append(this.group(made.slice(i, i + GROUP)));
      this.all.push(...made);
      this.arrange();
    },
    group(members) {
      const element = document.createElement("div");
      element.className = "speech-group";
      element.members = [];
      this.fill(element, members);
      return element;
    },
    fill(group, members) {
      group.members.push(...members);
      group.append(...members.map((one) => one.element));
      this.near.unobserve(group); // it is told anew whether the group is near
      this.near.observe(group);
    },
    approach(seen) {
      for (const one of seen) {
        if (one.isIntersecting) this.close.add(one.target);
        else this.close.delete(one.target); // it has gone by
      }
      this.draw();
    },
    draw() { // what came near last first, as much as a frame has time for
      if (this.drawing || !this.close.size) return;
      this.drawing = requestAnimationFrame(() => {
        this.drawing = null;
        const begun = performance.now();
        for (const group of [...this.close].reverse()) {
          for (const body of group.querySelectorAll(".raw")) {
            if (performance.now() - begun > BUDGET) return this.draw();
            const text = body.textContent;
            body.classList.remove("raw");
            render(body, text);
          }
          this.close.delete(group);
          this.near.unobserve(group);
        }
      });
    },
    clear() {
      this.near.disconnect();
      this.close.clear();
      this.$refs.inner.replaceChildren();
      this.all = [];
      this.atEnd = true;
      this.arrange();
    },
    show(until, busy) { // the step that is shown; and whether earlier ones are being read
      this.busy = busy;
      this.until = until;
      this.arrange();
    },
    make(block) {
      const element = document.createElement("article");
      element.className = `block ${block.kind} ${block.ok === false ? "bad" : ""}`;
      element.tabIndex = -1;
      const header = element.appendChild(document.createElement("header"));
      const title = header.appendChild(document.createElement("b")), note = header.appendChild(document.createElement("span"));
      title.textContent = block.title || "";
      note.textContent = block.note || "";
      const body = element.appendChild(document.createElement("div"));
      body.className = "body prose raw";
      body.textContent = block.text || "";
      element.setAttribute("aria-label", [block.title, block.note].filter(Boolean).join(", "));
      const text = `${block.title || ""}\n${block.text || ""}\n${block.note || ""}`.toLowerCase();
      return { element, text, step: block.step, height: tall(block.text || "") };
    },
    sift() {
      this.atEnd = true; // the newest that fits
      this.arrange();
    },
    arrange() { // what is hidden, and the number of each that is not; once a frame
      if (this.frame) return;
      this.frame = requestAnimationFrame(() => {
        this.frame = null;
        const wanted = this.wanted.trim().toLowerCase();
        const there = this.all.filter((one) => one.step <= this.until);
        const shown = new Set(wanted ? there.filter((one) => one.text.includes(wanted)) : there);
        for (const group of this.$refs.inner.children) {
          const left = group.members.filter((one) => shown.has(one));
          const height = `${left.length < group.members.length ? "" : "auto "}${left.reduce((sum, one) => sum + one.height, 0)}px`;
          group.hidden = !left.length;
          if (left.length !== group.children.length || left.some((one, i) => one.element !== group.children[i])) {
            group.replaceChildren(...left.map((one) => one.element));
            if (group.querySelector(".raw")) this.near.observe(group);
          }
          if (group.height !== height) group.style.containIntrinsicBlockSize = group.height = height;
        }
        let number = 0;
        for (const one of this.busy ? [] : shown) { // all numbers change while earlier ones come
          one.element.setAttribute("aria-posinset", number += 1);
          one.element.setAttribute("aria-setsize", shown.size);
        }
        this.listed = [...shown].map((one) => one.element);
        if (!this.listed.includes(this.stop)) this.rove(this.listed.at(-1));
        const count = shown.size.toLocaleString("en"), total = there.length.toLocaleString("en");
        const messages = there.length === 1 ? "message" : "messages";
        this.said = (wanted ? `${count} of ${total} ${messages}` : `${total} ${messages}`) + (this.busy ? ", reading earlier ones" : "");
        this.pin();
      });
    },
    rove(element) { // the one that Tab goes to
      if (this.stop) this.stop.tabIndex = -1;
      this.stop = element;
      if (element) element.tabIndex = 0;
    },
    key(event) { // as the ARIA practices have it for a feed
      const step = { PageDown: 1, PageUp: -1 }[event.key];
      const from = this.listed?.indexOf(event.target.closest("article"));
      if (!step || from === undefined || from < 0) return;
      event.preventDefault();
      const next = this.listed[from + step];
      if (!next) return;
      this.rove(next);
      next.focus({ preventScroll: true });
      next.scrollIntoView({ block: "nearest" });
    },
    scrolled() {
      const list = this.$refs.list;
      if (!list.clientHeight) return; // in a tab that is not open
      const below = list.scrollHeight - list.scrollTop - list.clientHeight;
      const grown = Math.abs(list.scrollHeight - this.height); // what came or was drawn moves the end away, and nobody else did
      if (this.atEnd && below <= grown + END) this.pin();
      else this.atEnd = below < END;
    },
    pin() {
      const list = this.$refs.list;
      if (this.atEnd) list.scrollTop = list.scrollHeight;
      this.height = list.scrollHeight;
    },
  },
};
