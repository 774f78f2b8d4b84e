// A long list of messages: only those near the viewport are laid out and rendered, but all text is in the page, for the browser's search.
import { make } from "/hemicycle/conversation/element.js";
import { render } from "/hemicycle/conversation/markdown.js";
import { END_MARGIN, spaceBelow } from "/hemicycle/conversation/scrolling.js";

const RENDER_MARGIN = "1200px"; // from the viewport: messages that are rendered
const GROUP_SIZE = 20; // messages laid out or skipped together
const FRAME_BUDGET = 8; // milliseconds of rendering per frame
const guessHeight = (text) => 46 + 21 * text.split("\n").reduce((lines, line) => lines + 1 + Math.floor(line.length / 70), 0);

export default {
  render() {
    const { h } = Vue, stop = (event) => event.stopPropagation();
    const field = h("input", {
      type: "search", placeholder: "Find a message", "aria-label": "Find messages that contain this text", autocomplete: "off", spellcheck: "false",
      "onUpdate:modelValue": (text) => { this.filter = text; }, onInput: this.onFilter, onKeydown: stop, onKeyup: stop,
    });
    const feed = { class: "transcript-feed", ref: "list", role: "feed", "aria-label": this.label, "aria-busy": this.busy, onScrollPassive: this.onScroll, onKeydown: this.onKey };
    return h("div", { class: "transcript-list" }, [
      h("div", { class: "transcript-search", role: "search" }, [
        Vue.withDirectives(field, [[Vue.vModelText, this.filter]]),
        h("span", { class: "muted small num", role: "status" }, this.summary),
      ]),
      h("div", feed, [h("div", { ref: "inner", class: "talk" })]),
    ]);
  },
  props: { label: String },
  data: () => ({ filter: "", summary: "", busy: false }),
  mounted() {
    this.items = []; // { element, text, step, height (a guess) }
    this.nearGroups = new Set(); // groups near the viewport that are not rendered yet
    this.lastStep = Infinity;
    this.atEnd = true;
    this.height = 0; // of the content, when last measured
    this.nearObserver = new IntersectionObserver((seen) => this.onNearChange(seen), { root: this.$refs.list, rootMargin: RENDER_MARGIN });
    this.resizeObserver = new ResizeObserver(() => this.keepAtEnd());
    this.resizeObserver.observe(this.$refs.inner);
    this.resizeObserver.observe(this.$refs.list);
  },
  unmounted() {
    this.nearObserver.disconnect();
    this.resizeObserver.disconnect();
  },
  methods: {
    prepend(blocks) { // what is in view stays in place
      const list = this.$refs.list, top = list.scrollTop, height = list.scrollHeight;
      const items = blocks.map(this.make), groups = [];
      for (let i = 0; i < items.length; i += GROUP_SIZE) groups.push(this.makeGroup(items.slice(i, i + GROUP_SIZE)));
      this.$refs.inner.prepend(...groups);
      this.items = [...items, ...this.items];
      this.updateShown();
      if (!this.atEnd && top === 0) list.scrollTop = list.scrollHeight - height; // at other positions the browser anchors the scroll
    },
    append(blocks) {
      const items = blocks.map(this.make);
      const last = this.$refs.inner.lastElementChild, room = last ? Math.max(0, GROUP_SIZE - last.members.length) : 0;
      if (room && items.length) this.addToGroup(last, items.slice(0, room));
      for (let i = room; i < items.length; i += GROUP_SIZE) this.$refs.inner.append(this.makeGroup(items.slice(i, i + GROUP_SIZE)));
      this.items.push(...items);
      this.updateShown();
    },
    makeGroup(members) {
      const element = make("div", "transcript-group");
      element.members = [];
      this.addToGroup(element, members);
      return element;
    },
    addToGroup(group, members) {
      group.members.push(...members);
      group.append(...members.map((one) => one.element));
      this.nearObserver.unobserve(group); // so that the observer reports it again
      this.nearObserver.observe(group);
    },
    onNearChange(seen) {
      for (const one of seen) {
        if (one.isIntersecting) this.nearGroups.add(one.target);
        else this.nearGroups.delete(one.target); // scrolled past
      }
      this.renderNear();
    },
    renderNear() { // latest first, within the budget of a frame
      if (this.renderFrame || !this.nearGroups.size) return;
      this.renderFrame = requestAnimationFrame(() => {
        this.renderFrame = null;
        const begun = performance.now();
        for (const group of [...this.nearGroups].reverse()) {
          for (const body of group.querySelectorAll(".raw")) {
            if (performance.now() - begun > FRAME_BUDGET) return this.renderNear();
            const text = body.textContent;
            body.classList.remove("raw");
            render(body, text);
          }
          this.nearGroups.delete(group);
          this.nearObserver.unobserve(group);
        }
      });
    },
    clear() {
      this.nearObserver.disconnect();
      this.nearGroups.clear();
      this.$refs.inner.replaceChildren();
      this.items = [];
      this.atEnd = true;
      this.updateShown();
    },
    show(until, busy) { // up to this step; `busy` while earlier ones are read
      this.busy = busy;
      this.lastStep = until;
      this.updateShown();
    },
    make(block) {
      const element = make("article", `block ${block.kind} ${block.ok === false ? "bad" : ""}`);
      element.tabIndex = -1;
      element.appendChild(make("header")).append(make("b", "", block.title || ""), make("span", "", block.note || ""));
      element.append(make("div", "body prose raw", block.text || ""));
      element.setAttribute("aria-label", [block.title, block.note].filter(Boolean).join(", "));
      const text = `${block.title || ""}\n${block.text || ""}\n${block.note || ""}`.toLowerCase();
      return { element, text, step: block.step, height: guessHeight(block.text || "") };
    },
    onFilter() {
      this.atEnd = true; // shows the newest match
      this.updateShown();
    },
    updateShown() { // once a frame
      if (this.updateFrame) return;
      this.updateFrame = requestAnimationFrame(() => {
        this.updateFrame = null;
        const filter = this.filter.trim().toLowerCase();
        const reached = this.items.filter((one) => one.step <= this.lastStep);
        const shown = new Set(filter ? reached.filter((one) => one.text.includes(filter)) : reached);
        for (const group of this.$refs.inner.children) {
          const left = group.members.filter((one) => shown.has(one));
          const height = `${left.length < group.members.length ? "" : "auto "}${left.reduce((sum, one) => sum + one.height, 0)}px`;
          group.hidden = !left.length;
          if (left.length !== group.children.length || left.some((one, i) => one.element !== group.children[i])) {
            group.replaceChildren(...left.map((one) => one.element));
            if (group.querySelector(".raw")) this.nearObserver.observe(group);
          }
          if (group.height !== height) group.style.containIntrinsicBlockSize = group.height = height;
        }
        let number = 0;
        for (const one of this.busy ? [] : shown) { // numbers still change while earlier messages arrive
          one.element.setAttribute("aria-posinset", number += 1);
          one.element.setAttribute("aria-setsize", shown.size);
        }
        this.shownElements = [...shown].map((one) => one.element);
        if (!this.shownElements.includes(this.tabStop)) this.setTabStop(this.shownElements.at(-1));
        const count = shown.size.toLocaleString("en"), total = reached.length.toLocaleString("en");
        const messages = reached.length === 1 ? "message" : "messages";
        this.summary = (filter ? `${count} of ${total} ${messages}` : `${total} ${messages}`) + (this.busy ? ", reading earlier ones" : "");
        this.keepAtEnd();
      });
    },
    setTabStop(element) { // roving tabindex
      if (this.tabStop) this.tabStop.tabIndex = -1;
      this.tabStop = element;
      if (element) element.tabIndex = 0;
    },
    onKey(event) { // ARIA feed pattern
      const step = { PageDown: 1, PageUp: -1 }[event.key];
      const from = this.shownElements?.indexOf(event.target.closest("article"));
      if (!step || from === undefined || from < 0) return;
      event.preventDefault();
      const next = this.shownElements[from + step];
      if (!next) return;
      this.setTabStop(next);
      next.focus({ preventScroll: true });
      next.scrollIntoView({ block: "nearest" });
    },
    onScroll() {
      const list = this.$refs.list;
      if (!list.clientHeight) return; // in a hidden tab
      const below = spaceBelow(list);
      const grown = Math.abs(list.scrollHeight - this.height); // new content moves the end away without anyone scrolling
      if (this.atEnd && below <= grown + END_MARGIN) this.keepAtEnd();
      else this.atEnd = below < END_MARGIN;
    },
    keepAtEnd() {
      const list = this.$refs.list;
      if (this.atEnd) list.scrollTop = list.scrollHeight;
      this.height = list.scrollHeight;
    },
  },
};
