// The bar of time of a run. The head moves immediately; positions are requested as fast as they are answered.
import { Timeline, formatTime } from "/hemicycle/timeline/timeline.js";
const MAX_PENDING = 2; // requests in flight: one is read while another is drawn
const TIMEOUT = 1500; // milliseconds after which pending requests are given up
const SMALL = "(max-width: 800px), (max-height: 840px)"; // windows in which the lanes are folded, unless a person unfolds them
const FOLDED = "hemicycle.lanes.folded", EQUAL = "hemicycle.lanes.equal";

export default {
  render: () => Vue.h("div", { class: "track" }, [
    Vue.h("div", { ref: "bar" }),
    Vue.h("div", { class: "player-position num" }, [
      Vue.h("span", { class: "player-count" }, [Vue.h("span", { ref: "count" }), Vue.h("span", { class: "player-time", ref: "time" })]),
    ]),
  ]),
  props: { lanes: Array, words: Array, kinds: Array, at: Number, head: Number, time: String, said: String, link: String, running: Number, whole: Object, notes: Array, line: Boolean, label: String },
  emits: ["slide", "pick", "grab", "open"],
  mounted() {
    this.shown = { at: this.at, head: this.head };
    this.pending = []; // positions requested, oldest first
    this.lastSent = 0;
    this.requested = null;
    this.timeline = new Timeline(this.$refs.bar, {
      label: this.label, lanes: this.lanes, words: this.words, kinds: this.kinds,
      on: {
        grab: () => this.$emit("grab"),
        move: (step) => this.request(step),
        release: (step) => { this.preview(null); if (step !== null) this.request(step, true); },
        pick: (step) => this.$emit("pick", step),
        open: (lane, step) => this.$emit("open", [lane, step]),
      },
    });
    this.$refs.bar.timeline = this.timeline;
    this.small = matchMedia(SMALL);
    this.small.onchange = () => this.fold();
    this.timeline.equal = !this.line && localStorage.getItem(EQUAL) === "true";
    this.fold();
    this.timeline.notes = this.notes || [];
    this.timeline.add(this.whole, true);
    this.update(this.at, this.head, this.time, this.said, this.link, this.running, {});
  },
  unmounted() { this.small.onchange = null; this.timeline.close(); },
  methods: {
    fold() { this.timeline.set({ folded: this.line || (localStorage.getItem(FOLDED) ?? String(this.small.matches)) === "true" }); },
    update(at, head, time, said, link, running, news) {
      this.$el.dataset.link = link;
      if (!this.timeline.dragging || Number(this.timeline.thumb.dataset.step) === at) this.showPosition(at, ` · ${time}`, head);
      this.shown = { at, head };
      if (news.times) this.timeline.add(news);
      this.timeline.setSteps(at, head, running);
      const { rail } = this.timeline;
      rail.setAttribute("aria-valuemax", head);
      rail.setAttribute("aria-valuenow", at);
      rail.setAttribute("aria-valuetext", said);
      this.pending.splice(0, this.pending.indexOf(at) + 1);
      this.sendRequest();
    },
    setScale(seconds, cuts) { Object.assign(this.timeline, { fixedSeconds: seconds, cuts }); this.timeline.set({}); },
    setNotes(flags) { this.timeline.setNotes(flags); },
    toggle(option) {
      this.timeline.set({ [option]: !this.timeline[option] });
      if (!this.line) localStorage.setItem(option === "folded" ? FOLDED : EQUAL, this.timeline[option]);
    },
    request(at, last = false) {
      if (!last) this.preview(at);
      this.requested = at === (this.pending.at(-1) ?? this.shown.at) ? null : at;
      this.sendRequest();
    },
    preview(at) { // elements that have all steps show it immediately; the server follows
      document.dispatchEvent(new CustomEvent("step-dragged", { detail: at }));
      if (at !== null) this.showPosition(at, ` · ${formatTime((this.timeline.times[at - 1] ?? 0) / 1000)}`, this.shown.head);
    },
    showPosition(at, time, head) { this.$refs.count.textContent = `${at} / ${head}`; this.$refs.time.textContent = time; },
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
  },
};
