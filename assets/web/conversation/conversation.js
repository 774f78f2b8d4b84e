// An agent's conversation: finished blocks and the streamed text. The server sends only changes.
import { cut, make } from "/hemicycle/conversation/element.js";
import { render, Stream } from "/hemicycle/conversation/markdown.js";
import { JsonText } from "/hemicycle/conversation/json_text.js";
import { isAtEnd } from "/hemicycle/conversation/scrolling.js";
import { renderToolCall, updateToolCall } from "/hemicycle/conversation/tool_call.js";

const MAX_STALE = 200; // old blocks retained while a person reads them
const SETTLING = 2000; // milliseconds during which an opening page may still size its panes
const changed = new Set(); // conversations with changes since the last frame

function updateAll() { // measures all before changing any: interleaved, each measurement would force a layout
  const all = [...changed];
  changed.clear();
  const scrolls = all.map((conversation) => conversation.rememberScroll());
  for (const conversation of all) conversation.applyChanges();
  all.forEach((conversation, i) => conversation.restoreScroll(scrolls[i]));
}

function schedule(conversation, change) { // in the next frame; a hidden page has no frames
  if (!changed.size) (document.hidden ? setTimeout : requestAnimationFrame)(updateAll);
  conversation.changes.push(change);
  changed.add(conversation);
}

function isRead(box) { // whether a selection or the focus is in its text
  const selection = getSelection(), focused = document.activeElement;
  return (!selection.isCollapsed && box.contains(selection.anchorNode)) || (box.contains(focused) && !!focused.closest(".talk"));
}

export default {
  render() { return Vue.h("div", { class: "talk", "aria-label": this.label, role: "log", "aria-live": "off" }); },
  props: { blocks: Array, label: String, follow: { type: Boolean, default: true } },
  mounted() {
    this.elements = [];
    this.stale = 0; // number of leading blocks to remove once nobody reads them
    this.parts = {};
    this.changes = []; // changes since the last frame, in order
    const scroll = this.rememberScroll();
    this.showBlocks(0, this.blocks || []);
    this.restoreScroll(scroll);
    if (!this.follow) return;
    this.resizeObserver = new ResizeObserver(() => {
      const box = this.scroller(); // not the container of all panes: that would scroll the window
      if (box !== this.$el.parentElement) return;
      if (!box.scrollTop) this.restoreScroll({ box: null, atEnd: true });
      this.resizeObserver.disconnect(); // from now on a person may have scrolled
    });
    for (const observed of [this.$el, this.$el.parentElement]) this.resizeObserver.observe(observed);
    setTimeout(() => this.resizeObserver.disconnect(), SETTLING);
  },
  unmounted() { this.resizeObserver?.disconnect(); },
  methods: {
    scroller() { // the pane, or in a narrow window the container of all panes
      let box = this.$el.parentElement;
      while (box && !(box.scrollHeight > box.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(box).overflowY))) box = box.parentElement;
      return box;
    },
    rememberScroll() {
      const box = this.scroller();
      return { box, height: box?.scrollHeight, atEnd: !box || (isAtEnd(box) && !isRead(box)) };
    },
    restoreScroll({ box, height, atEnd }) {
      if (this.stale && (atEnd || this.stale > MAX_STALE)) {
        for (const old of this.elements.splice(0, this.stale)) old.remove();
        this.stale = 0;
      }
      if (!this.follow) return;
      const after = this.scroller();
      const filled = after !== box && (!box || box.contains(after)); // it did not overflow before, so its end was in view
      if (after && (atEnd || (filled && !isRead(after)))) after.scrollTop = after.scrollHeight;
      else if (after === box && after === this.$el.parentElement && after.scrollHeight > height) this.showUnread(after);
      this.hideUnread();
    },
    showUnread(pane) { // a button over the text, since the pane stays where a person has scrolled it
      if (this.unread) return;
      this.unread = pane.appendChild(make("div", "unread-text"));
      const button = this.unread.appendChild(make("button", "btn small", "↓ New text"));
      button.type = "button";
      button.onclick = () => {
        pane.focus({ preventScroll: true });
        pane.scrollTop = pane.scrollHeight;
      };
      pane.onscroll = () => this.hideUnread();
    },
    hideUnread() { // once the end is in view, by scrolling or because the text got shorter
      if (!this.unread || !isAtEnd(this.unread.parentElement)) return;
      this.unread.parentElement.onscroll = null;
      this.unread.remove();
      this.unread = null;
    },
    splice(keep, blocks) { schedule(this, () => this.showBlocks(keep, blocks)); },
    markStale(count) { schedule(this, () => (this.stale += count)); },
    append(kind, text) { schedule(this, () => this.appendStreamed(kind, text)); },
    clearStream() { schedule(this, () => this.dropStream()); },
    applyChanges() {
      for (const change of this.changes.splice(0)) change();
      this.flush();
    },
    showBlocks(keep, blocks) { // keeps the first `keep` blocks and appends these
      this.flush();
      if (keep === 0) this.stale = 0;
      let updated = 0; // tool calls updated in place
      while (updated < blocks.length && updateToolCall(this.elements[keep + this.stale + updated], blocks[updated])) updated += 1;
      while (this.elements.length > keep + this.stale + updated) this.elements.pop().remove();
      if (keep === 0 || updated) this.dropStream();
      for (const block of blocks.slice(updated)) {
        const adopted = this.adoptStreamed(block);
        if (block.kind !== "task") this.dropStream();
        const element = adopted || this.make(block);
        if (!adopted) this.$el.append(element);
        this.elements.push(element);
      }
    },
    make(block) {
      if (block.kind === "tool") return renderToolCall(block);
      const element = make("article", `block ${block.kind} ${block.ok === false ? "bad" : ""}`);
      const aside = block.kind === "task" || block.kind === "reasoning"; // collapsed
      const box = aside && !block.open ? element.appendChild(make("details")) : element;
      if (block.title || block.note || box !== element) {
        const note = block.note || (box === element ? "" : cut(block.text || "", 160));
        const header = box.appendChild(make(box === element ? "header" : "summary"));
        header.append(make("b", "", block.title || ""), make("span", "", note));
      }
      render(box.appendChild(make("div", "body prose")), block.text);
      return element;
    },
    appendStreamed(kind, text) { // streamed; rendered at most once a frame
      if (kind === "call") { // a tool call; its arguments follow
        for (const name of text.split("\n").filter(Boolean)) this.startPart(`call-${Object.keys(this.parts).length}`, { kind: "text", title: `Calling ${name}…`, text: "" }, new JsonText({ code: true }));
        return;
      }
      const last = Object.keys(this.parts).filter((name) => name.startsWith("call-")).pop();
      const name = kind === "arguments" ? last : kind;
      if (!name) return;
      const part = this.parts[name] || this.startPart(name, { kind: kind === "reasoning" ? "reasoning" : "text", text: "", open: true });
      part.pending += text;
    },
    startPart(name, block, json = null) {
      const element = this.make(block);
      element.classList.add("streaming");
      this.$el.append(element);
      return (this.parts[name] = { stream: new Stream(element.querySelector(".body")), element, pending: "", json });
    },
    flush() {
      for (const part of Object.values(this.parts)) {
        if (!part.begun && part.pending.trim()) { // structured output
          part.json ||= part.pending.trimStart().startsWith("{") ? new JsonText() : null;
          part.begun = true;
        }
        if (part.begun && part.pending) part.stream.add(part.json ? part.json.add(part.pending) : part.pending);
        if (part.begun) part.pending = "";
      }
    },
    adoptStreamed(block) { // the streamed element becomes the finished one, so that a selection in it survives
      const part = block.kind === "text" && !block.title && !block.note && this.parts.text;
      if (!part || part.pending || part.stream.text?.trim() !== (block.text || "").trim()) return null;
      delete this.parts.text;
      part.element.classList.remove("streaming");
      part.stream.settle();
      return part.element;
    },
    dropStream() { // when it was discarded or is finished
      for (const part of Object.values(this.parts)) part.element.remove();
      this.parts = {};
    },
  },
};
