// Untrusted Markdown to HTML: raw HTML is shown as text, images as links, and the result is sanitised by DOMPurify.
import { Marked } from "./vendor/marked.js";

const escape = (text) => text.replace(/[&<>"']/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[c]);
const safe = (href) => /^(https?:|mailto:)/i.test(href || "");

const marked = new Marked({
  gfm: true,
  renderer: {
    html({ text }) { return escape(text); },
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
