// The slider of a run with its marks. The thumb moves immediately; positions are requested as fast as they are answered.
const MARK_WIDTH = 17; // pixels; closer marks are merged
const MAX_PENDING = 2; // requests in flight: one is read while another is drawn
const TIMEOUT = 1500; // milliseconds after which pending requests are given up

export default {
  template: `<div class="track">
    <div class="marks" ref="marks" role="toolbar" aria-label="Marks" @keydown="onMarkKey"></div>
    <div class="rail" ref="rail" role="slider" tabindex="0" aria-label="Step" aria-valuemin="0" @pointerdown="startDrag" @pointermove="drag" @pointerup="endDrag" @pointercancel="endDrag">
      <div class="rail-line"><div class="rail-done" ref="done"></div></div><div class="thumb" ref="thumb"></div>
    </div>
    <div class="player-position"><span class="num player-count"><span ref="count"></span><span class="player-time" ref="time"></span></span><slot></slot></div>
  </div>`,
  props: { kinds: Array, at: Number, head: Number, time: String, link: String, marks: Object },
  emits: ["slide", "pick", "grab"],
  mounted() {
    this.shown = { at: this.at, head: this.head };
    this.all = [...(this.marks?.run || [])];
    this.notes = [...(this.marks?.notes || [])];
    this.pending = []; // positions requested, oldest first
    this.lastSent = 0;
    this.requested = null;
    this.resizeObserver = new ResizeObserver(() => this.drawMarks());
    this.resizeObserver.observe(this.$el);
    this.update(this.at, this.head, this.time, this.link);
  },
  unmounted() { this.resizeObserver.disconnect(); },
  methods: {
    update(at, head, time, link) {
      this.$el.dataset.link = link;
      const hasGrown = head !== this.shown.head;
      this.shown = { at, head };
      const rail = this.$refs.rail;
      rail.setAttribute("aria-valuemax", head);
      rail.setAttribute("aria-valuenow", at);
      rail.setAttribute("aria-valuetext", `Step ${at} of ${head}, after ${time}`);
      if (!this.dragging || Number(this.$refs.thumb.dataset.step) === at) this.showPosition(at, head, ` · ${time}`);
      if (!this.dragging) this.placeThumb(at);
      if (hasGrown) this.drawMarks();
      this.pending.splice(0, this.pending.indexOf(at) + 1);
      this.sendRequest();
    },
    showPosition(at, head, time) { this.$refs.count.textContent = `${at} / ${head}`; this.$refs.time.textContent = time; },
    add(from, marks) { this.all.splice(from, Infinity, ...marks); this.drawMarks(); }, // replaces those from `from` on
    setNotes(marks) { this.notes = marks; this.drawMarks(); },
    placeThumb(at) {
      const part = `${(100 * at) / Math.max(this.shown.head, 1)}%`;
      this.$refs.thumb.style.left = this.$refs.done.style.width = part;
      this.$refs.thumb.dataset.step = at;
    },

    // the thumb
    stepAt(event) {
      const { left, width } = this.dragging && this.railBox ? this.railBox : (this.railBox = this.$refs.rail.getBoundingClientRect());
      return Math.round(Math.min(Math.max((event.clientX - left) / width, 0), 1) * this.shown.head);
    },
    startDrag(event) {
      if (event.button) return;
      this.$refs.rail.setPointerCapture(event.pointerId);
      this.railBox = null;
      this.dragging = true;
      this.$emit("grab");
      this.$el.classList.add("held");
      this.request(this.stepAt(event));
    },
    drag(event) { if (this.dragging) this.request(this.stepAt(event)); },
    endDrag(event) {
      if (!this.dragging) return;
      this.dragging = false;
      this.announceStep(null);
      this.$el.classList.remove("held");
      if (event.type === "pointerup") this.request(this.stepAt(event));
    },
    request(at) {
      this.placeThumb(at);
      this.announceStep(at);
      this.requested = at === (this.pending.at(-1) ?? this.shown.at) ? null : at;
      this.sendRequest();
    },
    announceStep(at) { // elements that have all steps show it immediately; the server follows
      if (!this.dragging) return document.dispatchEvent(new CustomEvent("step-dragged", { detail: null }));
      this.showPosition(at, this.shown.head, "");
      document.dispatchEvent(new CustomEvent("step-dragged", { detail: at }));
    },
    sendRequest() { // only the newest; intermediate ones are skipped
      if (this.requested === null) return;
      const now = performance.now();
      if (this.pending.length && now - this.lastSent > TIMEOUT) this.pending = [];
      if (this.pending.length >= MAX_PENDING) return;
      this.lastSent = now;
      this.pending.push(this.requested);
      this.$emit("slide", this.requested);
      this.requested = null;
    },

    // the marks
    drawMarks() {
      const width = this.$refs.marks.clientWidth, bySeverity = this.kinds.map(([kind]) => kind);
      if (!width) return;
      const placed = [...this.all.filter((mark) => mark.seq <= this.shown.head), ...this.notes].sort((a, b) => a.seq - b.seq);
      const groups = [];
      for (const mark of placed) {
        const x = (width * mark.seq) / Math.max(this.shown.head, 1), last = groups.at(-1);
        if (last && x - last.x < MARK_WIDTH) last.marks.push(mark);
        else groups.push({ x, marks: [mark] });
      }
      const focused = this.$refs.marks.contains(document.activeElement) ? [...this.$refs.marks.children].indexOf(document.activeElement) : -1;
      this.$refs.marks.replaceChildren(...groups.map(({ marks }) => {
        const end = marks.at(-1).seq, first = marks[0].seq;
        const severest = marks.reduce((a, b) => (bySeverity.indexOf(b.kind) < bySeverity.indexOf(a.kind) ? b : a));
        const [kind, glyph, title] = this.kinds.find(([name]) => name === severest.kind);
        const button = document.createElement("button");
        const counts = this.kinds.map(([name, , word]) => [marks.filter((mark) => mark.kind === name).length, word]).filter(([count]) => count);
        button.type = "button";
        button.className = `mark ${kind}`;
        button.tabIndex = -1;
        button.textContent = glyph;
        button.style.left = `${(50 * (first + end)) / Math.max(this.shown.head, 1)}%`;
        const many = marks.length > 99 ? "99+" : marks.length;
        if (marks.length > 1) button.append(Object.assign(document.createElement("sup"), { textContent: many }));
        const label = marks.length === 1 ? `Step ${first}: ${title}, ${severest.text}`
          : `${many} marks, steps ${first} to ${end}: ${counts.map(([count, word]) => (count > 1 ? `${count} × ${word}` : word)).join(", ")}. ${marks.length < 7 ? marks.map((mark) => `${mark.seq}: ${mark.text}`).join("; ") : "Click to step through them."}`;
        button.title = label;
        button.setAttribute("aria-label", label);
        button.dataset.kinds = [...new Set(marks.map((mark) => mark.kind))].join(" ");
        button.onclick = () => this.$emit("pick", (marks.find((mark) => mark.seq > this.shown.at) || marks[0]).seq);
        return button;
      }));
      const buttons = this.$refs.marks.children;
      if (buttons.length) (buttons[Math.max(focused, 0)] || buttons[0]).tabIndex = 0;
      if (focused >= 0) buttons[focused]?.focus();
    },
    onMarkKey(event) { // a single tab stop; the arrow keys move between marks
      const all = [...this.$refs.marks.children], here = all.indexOf(document.activeElement);
      const next = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: all.length - 1 }[event.key];
      if (event.key === "Enter" || event.key === " ") event.stopPropagation();
      if (next === undefined || here < 0) return;
      event.preventDefault();
      event.stopPropagation();
      const to = all[Math.min(Math.max(next, 0), all.length - 1)];
      all.forEach((mark) => { mark.tabIndex = mark === to ? 0 : -1; });
      to.focus();
    },
  },
};
