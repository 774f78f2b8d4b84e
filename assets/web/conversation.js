// An agent's conversation: settled blocks, and the text that is being streamed. Gets only what is new.
import { render, Stream } from "/hemicycle/markdown.js";
import { describe } from "/hemicycle/tool.js";

const waiting = new Set(); // conversations that have grown since the last frame

function grow() { // all that is measured is measured at once: each layout in between would cost one of the page
  const grown = [...waiting];
  waiting.clear();
  const held = grown.map((talk) => talk.hold());
  for (const talk of grown) talk.write();
  grown.forEach((talk, i) => talk.pin(held[i]));
}

export default {
  template: `<div class="talk" :aria-label="label" role="log" aria-live="off"></div>`,
  props: { blocks: Array, label: String, follow: { type: Boolean, default: true } },
  mounted() {
    this.shown = [];
    this.partial = {};
    this.splice(0, this.blocks || []);
  },
  methods: {
    scroller() { // the pane, or in a narrow window what holds all panes
      let box = this.$el.parentElement;
      while (box && !(box.scrollHeight > box.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(box).overflowY))) box = box.parentElement;
      return box;
    },
    hold() {
      const box = this.scroller();
      return { box, atEnd: !box || box.scrollHeight - box.scrollTop - box.clientHeight < 60 };
    },
    pin({ box, atEnd }) {
      if (!this.follow || !atEnd) return;
      const after = box || this.scroller(); // what was not full may be so now
      if (after) after.scrollTop = after.scrollHeight;
    },
    keepAtEnd(change) {
      const held = this.hold();
      change();
      this.pin(held);
    },
    splice(keep, blocks) { // keep the first `keep` blocks, and put these after them
      this.keepAtEnd(() => {
        while (this.shown.length > keep) this.shown.pop().remove();
        if (keep === 0) this.clear();
        for (const block of blocks) {
          if (block.kind !== "task") this.clear();
          const element = this.make(block);
          this.$el.append(element);
          this.shown.push(element);
        }
      });
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
    append(kind, text) { // a streamed piece; rendered at most once a frame
      let part = this.partial[kind];
      if (!part) {
        const element = this.make({ kind: kind === "reasoning" ? "reasoning" : "text", text: "", open: true });
        element.classList.add("streaming");
        this.$el.append(element);
        part = this.partial[kind] = { stream: new Stream(element.querySelector(".body")), element, fresh: "" };
      }
      part.fresh += text;
      if (!waiting.size) requestAnimationFrame(grow);
      waiting.add(this);
    },
    write() {
      for (const part of Object.values(this.partial)) {
        if (!part.begun && part.fresh.trim()) { // an answer that is to fit a schema, before it is read
          part.fresh = part.fresh.trimStart().startsWith("{") ? `\`\`\`json\n${part.fresh}` : part.fresh;
          part.begun = true;
        }
        if (part.begun && part.fresh) part.stream.add(part.fresh);
        if (part.begun) part.fresh = "";
      }
    },
    clear() { // the streamed text is taken back, or has settled
      for (const part of Object.values(this.partial)) part.element.remove();
      this.partial = {};
    },
  },
};
