// An agent's conversation: settled blocks, and the text that is being streamed. Gets only what is new.
import { render, Stream } from "/hemicycle/markdown.js";
import { JsonText } from "/hemicycle/json_text.js";
import { describe, renew } from "/hemicycle/tool.js";

const MOST_STALE = 200; // blocks that are kept for somebody who reads them
const SETTLING = 2000; // milliseconds in which a page that opens may still give a pane its size
const waiting = new Set(); // conversations that have grown since the last frame

function grow() { // all that is measured is measured at once: each layout in between would cost one of the page
  const grown = [...waiting];
  waiting.clear();
  const held = grown.map((talk) => talk.hold());
  for (const talk of grown) talk.catchUp();
  grown.forEach((talk, i) => talk.pin(held[i]));
}

function soon(talk, change) { // with the next frame; a hidden page has none
  if (!waiting.size) (document.hidden ? setTimeout : requestAnimationFrame)(grow);
  talk.due.push(change);
  waiting.add(talk);
}

function isRead(box) { // something in its texts is selected, or has the focus: it stays in sight
  const picked = getSelection(), at = document.activeElement;
  return (!picked.isCollapsed && box.contains(picked.anchorNode)) || (box.contains(at) && !!at.closest(".talk"));
}

export default {
  template: `<div class="talk" :aria-label="label" role="log" aria-live="off"></div>`,
  props: { blocks: Array, label: String, follow: { type: Boolean, default: true } },
  mounted() {
    this.shown = [];
    this.stale = 0; // how many of the first are to go once nobody reads them
    this.partial = {};
    this.due = []; // changes since the last frame, in order
    const held = this.hold();
    this.put(0, this.blocks || []);
    this.pin(held);
    if (!this.follow) return;
    this.sizes = new ResizeObserver(() => {
      const box = this.scroller(); // not what holds all panes: its beginning would leave the window
      if (box !== this.$el.parentElement) return;
      if (!box.scrollTop) this.pin({ box: null, atEnd: true });
      this.sizes.disconnect(); // from now on a person may scroll
    });
    for (const one of [this.$el, this.$el.parentElement]) this.sizes.observe(one);
    setTimeout(() => this.sizes.disconnect(), SETTLING);
  },
  unmounted() { this.sizes?.disconnect(); },
  methods: {
    scroller() { // the pane, or in a narrow window what holds all panes
      let box = this.$el.parentElement;
      while (box && !(box.scrollHeight > box.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(box).overflowY))) box = box.parentElement;
      return box;
    },
    hold() {
      const box = this.scroller();
      return { box, atEnd: !box || (box.scrollHeight - box.scrollTop - box.clientHeight < 60 && !isRead(box)) };
    },
    pin({ box, atEnd }) {
      if (this.stale && (atEnd || this.stale > MOST_STALE)) {
        for (const old of this.shown.splice(0, this.stale)) old.remove();
        this.stale = 0;
      }
      if (!this.follow) return;
      const after = this.scroller();
      const filled = after !== box && (!box || box.contains(after)); // it was not full before: its end was in sight
      if (after && (atEnd || (filled && !isRead(after)))) after.scrollTop = after.scrollHeight;
    },
    splice(keep, blocks) { soon(this, () => this.put(keep, blocks)); },
    shed(count) { soon(this, () => (this.stale += count)); },
    append(kind, text) { soon(this, () => this.take(kind, text)); },
    clear() { soon(this, () => this.drop()); },
    catchUp() {
      for (const change of this.due.splice(0)) change();
      this.write();
    },
    put(keep, blocks) { // keep the first `keep` blocks, and put these after them
      this.write();
      if (keep === 0) this.stale = 0;
      let stay = 0; // calls that are there already
      while (stay < blocks.length && renew(this.shown[keep + this.stale + stay], blocks[stay])) stay += 1;
      while (this.shown.length > keep + this.stale + stay) this.shown.pop().remove();
      if (keep === 0 || stay) this.drop();
      for (const block of blocks.slice(stay)) {
        const kept = this.settled(block);
        if (block.kind !== "task") this.drop();
        const element = kept || this.make(block);
        if (!kept) this.$el.append(element);
        this.shown.push(element);
      }
    },
    make(block) {
      if (block.kind === "tool") return describe(block);
      const element = document.createElement("article");
      element.className = `block ${block.kind} ${block.ok === false ? "bad" : ""}`;
      const aside = block.kind === "task" || block.kind === "reasoning"; // there for who wants it
      const box = aside && !block.open ? element.appendChild(document.createElement("details")) : element;
      const header = document.createElement(box === element ? "header" : "summary");
      if (block.title || block.note || box !== element) {
        const title = document.createElement("b");
        title.textContent = block.title || "";
        const note = document.createElement("span");
        note.textContent = block.note || (box === element ? "" : (block.text || "").slice(0, 160));
        header.append(title, note);
        box.append(header);
      }
      const body = document.createElement("div");
      body.className = "body";
      box.append(body);
      body.classList.add("prose");
      render(body, block.text);
      return element;
    },
    take(kind, text) { // a streamed piece; rendered at most once a frame
      if (kind === "call") { // a tool is called: its arguments follow
        for (const name of text.split("\n").filter(Boolean)) this.begin(`call-${Object.keys(this.partial).length}`, { kind: "text", title: name, note: "is being written", text: "" }, new JsonText({ code: true }));
        return;
      }
      const last = Object.keys(this.partial).filter((name) => name.startsWith("call-")).pop();
      const name = kind === "arguments" ? last : kind;
      if (!name) return;
      const part = this.partial[name] || this.begin(name, { kind: kind === "reasoning" ? "reasoning" : "text", text: "", open: true });
      part.fresh += text;
    },
    begin(name, block, json = null) {
      const element = this.make(block);
      element.classList.add("streaming");
      this.$el.append(element);
      return (this.partial[name] = { stream: new Stream(element.querySelector(".body")), element, fresh: "", json });
    },
    write() {
      for (const part of Object.values(this.partial)) {
        if (!part.begun && part.fresh.trim()) { // an answer that is to fit a schema, before it is read
          part.json ||= part.fresh.trimStart().startsWith("{") ? new JsonText() : null;
          part.begun = true;
        }
        if (part.begun && part.fresh) part.stream.add(part.json ? part.json.add(part.fresh) : part.fresh);
        if (part.begun) part.fresh = "";
      }
    },
    settled(block) { // what was streamed stays as it is, with what somebody has selected in it
      const part = block.kind === "text" && !block.title && !block.note && this.partial.text;
      if (!part || part.fresh || part.stream.text?.trim() !== (block.text || "").trim()) return null;
      delete this.partial.text;
      part.element.classList.remove("streaming");
      part.stream.settle();
      return part.element;
    },
    drop() { // the streamed text is taken back, or has settled
      for (const part of Object.values(this.partial)) part.element.remove();
      this.partial = {};
    },
  },
};
