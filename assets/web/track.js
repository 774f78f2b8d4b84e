// The slider of a run, and marks over it. It moves at once, and asks for positions as fast as they come.
const ROOM = 17; // pixels that a mark takes: those that stand closer are drawn as one
const AHEAD = 2; // positions that are asked for before the first is there: one is read while one is drawn
const PATIENCE = 1500; // milliseconds after which a position that never came is not waited for any more

export default {
  template: `<div class="track">
    <div class="marks" ref="marks" role="toolbar" aria-label="Marks" @keydown="walk"></div>
    <div class="rail" ref="rail" role="slider" tabindex="0" aria-label="Step" aria-valuemin="0" @pointerdown="grab" @pointermove="drag" @pointerup="drop" @pointercancel="drop">
      <div class="rail-line"><div class="rail-done" ref="done"></div></div><div class="thumb" ref="thumb"></div>
    </div>
    <div class="player-said"><span class="num player-count"><span ref="count"></span><span class="player-time" ref="time"></span></span><slot></slot></div>
  </div>`,
  props: { kinds: Array, at: Number, head: Number, said: String, link: String, marks: Object },
  emits: ["slide", "pick", "grab"],
  mounted() {
    this.shown = { at: this.at, head: this.head };
    this.all = [...(this.marks?.run || [])];
    this.notes = [...(this.marks?.notes || [])];
    this.flying = []; // positions asked for, oldest first
    this.since = 0;
    this.wish = null;
    this.sized = new ResizeObserver(() => this.lay());
    this.sized.observe(this.$el);
    this.stand(this.at, this.head, this.said, this.link);
  },
  unmounted() { this.sized.disconnect(); },
  methods: {
    stand(at, head, said, link) {
      this.$el.dataset.link = link;
      const grown = head !== this.shown.head;
      this.shown = { at, head };
      const rail = this.$refs.rail;
      rail.setAttribute("aria-valuemax", head);
      rail.setAttribute("aria-valuenow", at);
      rail.setAttribute("aria-valuetext", `Step ${at} of ${head}, after ${said}`);
      if (!this.held || Number(this.$refs.thumb.dataset.step) === at) this.count(at, head, ` · ${said}`);
      if (!this.held) this.place(at);
      if (grown) this.lay();
      this.flying.splice(0, this.flying.indexOf(at) + 1);
      this.ask();
    },
    count(at, head, time) { this.$refs.count.textContent = `${at} / ${head}`; this.$refs.time.textContent = time; },
    add(from, marks) { this.all.splice(from, Infinity, ...marks); this.lay(); }, // those may be there already
    note(marks) { this.notes = marks; this.lay(); },
    place(at) {
      const part = `${(100 * at) / Math.max(this.shown.head, 1)}%`;
      this.$refs.thumb.style.left = this.$refs.done.style.width = part;
      this.$refs.thumb.dataset.step = at;
    },

    // the thumb
    step(event) {
      const { left, width } = this.held && this.rail ? this.rail : (this.rail = this.$refs.rail.getBoundingClientRect());
      return Math.round(Math.min(Math.max((event.clientX - left) / width, 0), 1) * this.shown.head);
    },
    grab(event) {
      if (event.button) return;
      this.$refs.rail.setPointerCapture(event.pointerId);
      this.rail = null;
      this.held = true;
      this.$emit("grab");
      this.$el.classList.add("held");
      this.want(this.step(event));
    },
    drag(event) { if (this.held) this.want(this.step(event)); },
    drop(event) {
      if (!this.held) return;
      this.held = false;
      this.tell(null);
      this.$el.classList.remove("held");
      if (event.type === "pointerup") this.want(this.step(event));
    },
    want(at) {
      this.place(at);
      this.tell(at);
      this.wish = at === (this.flying.at(-1) ?? this.shown.at) ? null : at;
      this.ask();
    },
    tell(at) { // what has all steps shows this one at once; the server follows
      if (!this.held) return document.dispatchEvent(new CustomEvent("slid", { detail: null }));
      this.count(at, this.shown.head, "");
      document.dispatchEvent(new CustomEvent("slid", { detail: at }));
    },
    ask() { // the newest wish only: those in between are passed over
      if (this.wish === null) return;
      const now = performance.now();
      if (this.flying.length && now - this.since > PATIENCE) this.flying = [];
      if (this.flying.length >= AHEAD) return;
      this.since = now;
      this.flying.push(this.wish);
      this.$emit("slide", this.wish);
      this.wish = null;
    },

    // the marks
    lay() {
      const width = this.$refs.marks.clientWidth, grave = this.kinds.map(([kind]) => kind);
      if (!width) return;
      const placed = [...this.all.filter((mark) => mark.seq <= this.shown.head), ...this.notes].sort((a, b) => a.seq - b.seq);
      const groups = [];
      for (const mark of placed) {
        const x = (width * mark.seq) / Math.max(this.shown.head, 1), last = groups.at(-1);
        if (last && x - last.x < ROOM) last.marks.push(mark);
        else groups.push({ x, marks: [mark] });
      }
      const focused = this.$refs.marks.contains(document.activeElement) ? [...this.$refs.marks.children].indexOf(document.activeElement) : -1;
      this.$refs.marks.replaceChildren(...groups.map(({ marks }) => {
        const end = marks.at(-1).seq, first = marks[0].seq;
        const most = marks.reduce((a, b) => (grave.indexOf(b.kind) < grave.indexOf(a.kind) ? b : a));
        const [kind, glyph, title] = this.kinds.find(([name]) => name === most.kind);
        const button = document.createElement("button");
        const counts = this.kinds.map(([name, , word]) => [marks.filter((one) => one.kind === name).length, word]).filter(([many]) => many);
        button.type = "button";
        button.className = `mark ${kind}`;
        button.tabIndex = -1;
        button.textContent = glyph;
        button.style.left = `${(50 * (first + end)) / Math.max(this.shown.head, 1)}%`;
        if (marks.length > 1) button.append(Object.assign(document.createElement("sup"), { textContent: marks.length > 99 ? "99+" : marks.length }));
        const said = marks.length === 1 ? `Step ${first}: ${title}, ${most.text}`
          : `Steps ${first} to ${end}: ${counts.map(([many, word]) => (many > 1 ? `${many} × ${word}` : word)).join(", ")}. ${marks.length < 7 ? marks.map((one) => `${one.seq}: ${one.text}`).join("; ") : "Click to step through them."}`;
        button.title = said;
        button.setAttribute("aria-label", said);
        button.dataset.kinds = [...new Set(marks.map((one) => one.kind))].join(" ");
        button.onclick = () => this.$emit("pick", (marks.find((one) => one.seq > this.shown.at) || marks[0]).seq);
        return button;
      }));
      const buttons = this.$refs.marks.children;
      if (buttons.length) (buttons[Math.max(focused, 0)] || buttons[0]).tabIndex = 0;
      if (focused >= 0) buttons[focused]?.focus();
    },
    walk(event) { // one stop of the Tab key; the arrow keys go from mark to mark
      const all = [...this.$refs.marks.children], here = all.indexOf(document.activeElement);
      const next = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: all.length - 1 }[event.key];
      if (event.key === "Enter" || event.key === " ") event.stopPropagation();
      if (next === undefined || here < 0) return;
      event.preventDefault();
      event.stopPropagation();
      const to = all[Math.min(Math.max(next, 0), all.length - 1)];
      all.forEach((one) => { one.tabIndex = one === to ? 0 : -1; });
      to.focus();
    },
  },
};
