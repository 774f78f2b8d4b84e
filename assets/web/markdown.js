// Untrusted Markdown to HTML: raw HTML is shown as text, images as their names, and the result is sanitised by DOMPurify.
import { dress } from "./dress.js";
import { Marked } from "./vendor/marked.js";

const escape = (text) => text.replace(/[&<>"']/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[c]);
const safe = (href) => /^(https?:|mailto:)/i.test(href || "");

// Formulas: $$…$$ and \\[…\\] on lines of their own, $…$ and \\(…\\) in a line, where no amount of money is meant.
const BLOCK = /^(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])(?:\n|$)/;
const INLINE = /^(?:\$\$([^$]+?)\$\$|\$(?![\s\d.,]+\s)((?:\\.|[^\\$\n])+?)(?<!\s)\$(?!\d)|\\\(([\s\S]+?)\\\))/;
const formula = (level, pattern, start) => ({
  name: `${level}Math`,
  level,
  start: (text) => text.search(start),
  tokenizer(text) {
    const found = pattern.exec(text);
    return found && { type: `${level}Math`, raw: found[0], text: found.slice(1).find(Boolean).trim(), display: level === "block" || found[0].startsWith("$$") };
  },
  renderer: ({ text, display }) => (level === "block" ? `<p><code class="math display">${escape(text)}</code></p>` : `<code class="math${display ? " display" : ""}">${escape(text)}</code>`),
});

const marked = new Marked({
  gfm: true,
  extensions: [formula("block", BLOCK, /\$\$|\\\[/), formula("inline", INLINE, /\$|\\\(/)],
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

const TOP = 3; // the page has the first level, and its parts the second

// Headings go below those of the page and skip no level, but look as they were written.
function outline(box, above) {
  for (const heading of box.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const depth = Number(heading.tagName[1]);
    while (above.length && above.at(-1) >= depth) above.pop();
    above.push(depth);
    const lower = document.createElement(`h${Math.min(TOP + above.length - 1, 6)}`);
    lower.className = `depth-${depth}`;
    lower.append(...heading.childNodes);
    heading.replaceWith(lower);
  }
}

const LONG = /\S{25}(?=\S{5})/g; // of a word that is no word: a hash, a path, an address

// A table breaks no words, and so a word without end would push its other columns out of sight.
function breakable(cell) {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), long = [];
  while (texts.nextNode()) if (texts.currentNode.data.search(LONG) >= 0) long.push(texts.currentNode);
  for (const text of long) {
    const parts = text.data.replace(LONG, "$&\u0000").split("\u0000");
    text.replaceWith(...parts.flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part])));
  }
}

function fill(box, text, above) {
  box.setHTML(marked.parse(text));
  outline(box, above);
  for (const cell of box.querySelectorAll("th, td")) breakable(cell);
  for (const block of box.querySelectorAll(":scope > :not(pre)")) block.dir = "auto"; // Hebrew begins at the right
  for (const cell of box.querySelectorAll("th:empty")) cell.replaceWith(document.createElement("td")); // it heads nothing
}

export function render(element, text) {
  fill(element, text || "", []);
  dress(element);
}

export class Stream { // text that grows: what can change no more is rendered once, and only its last block anew
  constructor(element) {
    this.element = element;
    this.text = ""; // all of it
    this.open = ""; // what may still become something else
    this.settled = 0; // children of the element that stay
    this.above = []; // the headings that what follows is under
  }
  add(text) {
    this.text += text;
    this.open = (this.open + text).replace(/\r\n|\r(?!$)/g, "\n");
    const tokens = marked.lexer(this.open);
    let last = tokens.length - 1;
    while (last > 0 && tokens[last].type === "space") last -= 1; // a list may go on after an empty line
    const done = tokens.slice(0, Math.max(last, 0)).map((token) => token.raw).join("");
    while (this.element.childNodes.length > this.settled) this.element.lastChild.remove();
    if (done && this.open.startsWith(done)) {
      this.put(done, true);
      this.settled = this.element.childNodes.length;
      this.open = this.open.slice(done.length);
    }
    this.put(this.open);
  }
  settle() { // nothing follows
    const last = document.createElement("div");
    last.append(...[...this.element.childNodes].slice(this.settled));
    dress(last);
    this.element.append(...last.childNodes);
  }
  put(text, settled = false) {
    const box = document.createElement("div");
    fill(box, text, settled ? this.above : [...this.above]);
    if (settled) dress(box); // what may still change is not coloured again and again
    this.element.append(...box.childNodes);
  }
}
