// Untrusted Markdown to HTML: raw HTML is shown as text, images as links, and the result is sanitised by DOMPurify.
import { Marked } from "./vendor/marked.js";

const escape = (text) => text.replace(/[&<>"']/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[c]);
const safe = (href) => /^(https?:|mailto:)/i.test(href || "");

const marked = new Marked({
  gfm: true,
  renderer: {
    html({ text }) { return escape(text); },
    checkbox({ checked }) { return checked ? "☑ " : "☐ "; },
    image({ href, text }) { return escape(text || href || "image"); },
    link({ href, tokens }) {
      const inner = this.parser.parseInline(tokens);
      return safe(href) ? `<a href="${escape(href)}" target="_blank" rel="noopener noreferrer nofollow">${inner}</a>` : inner;
    },
  },
});

export function render(element, text) {
  element.setHTML(marked.parse(text || ""));
}

export class Stream { // text that grows: what can change no more is rendered once, and only its last block anew
  constructor(element) {
    this.element = element;
    this.open = ""; // what may still become something else
    this.settled = 0; // children of the element that stay
  }
  add(text) {
    this.open = (this.open + text).replace(/\r\n|\r(?!$)/g, "\n");
    const tokens = marked.lexer(this.open);
    let last = tokens.length - 1;
    while (last > 0 && tokens[last].type === "space") last -= 1; // a list may go on after an empty line
    const done = tokens.slice(0, Math.max(last, 0)).map((token) => token.raw).join("");
    while (this.element.childNodes.length > this.settled) this.element.lastChild.remove();
    if (done && this.open.startsWith(done)) {
      this.put(done);
      this.settled = this.element.childNodes.length;
      this.open = this.open.slice(done.length);
    }
    this.put(this.open);
  }
  put(text) {
    const box = document.createElement("div");
    render(box, text);
    this.element.append(...box.childNodes);
  }
}
