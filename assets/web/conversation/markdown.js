// Untrusted Markdown to HTML: raw HTML becomes text, images become their names, and DOMPurify sanitises the result.
import { addExtras } from "/hemicycle/conversation/markdown_extras.js";
import { Marked } from "/hemicycle/vendor/marked.js";

const escape = (text) => text.replace(/[&<>"']/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[c]);
const isSafe = (href) => /^(https?:|mailto:)/i.test(href || "");

// Formulas: $$…$$ and \\[…\\] on lines of their own, $…$ and \\(…\\) inline, unless it is an amount of money.
const BLOCK = /^(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])(?:\n|$)/;
const INLINE = /^(?:\$\$([^$]+?)\$\$|\$(?![\s\d.,]+\s)((?:\\.|[^\\$\n])+?)(?<!\s)\$(?!\d)|\\\(([\s\S]+?)\\\))/;
const formula = (level, pattern, start) => ({
  name: `${level}Math`,
  level,
  start: (text) => text.search(start),
  tokenizer(text) {
    const match = pattern.exec(text);
    return match && { type: `${level}Math`, raw: match[0], text: match.slice(1).find(Boolean).trim(), display: level === "block" || match[0].startsWith("$$") };
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
      return isSafe(href) ? `<a href="${escape(href)}" target="_blank" rel="noopener noreferrer nofollow">${inner}</a>` : inner;
    },
  },
});

const TOP_LEVEL = 3; // levels 1 and 2 belong to the page

// Moves headings below those of the page without skipping a level; `depth-N` preserves their appearance.
function nestHeadings(box, above) {
  for (const heading of box.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const depth = Number(heading.tagName[1]);
    while (above.length && above.at(-1) >= depth) above.pop();
    above.push(depth);
    const lower = document.createElement(`h${Math.min(TOP_LEVEL + above.length - 1, 6)}`);
    lower.className = `depth-${depth}`;
    lower.append(...heading.childNodes);
    heading.replaceWith(lower);
  }
}

const LONG_WORD = /\S{25}(?=\S{5})/g; // part of a hash, a path or a URL

// Tables do not break words, so an endless one would push the other columns out of view.
function addBreaks(cell) {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), long = [];
  while (texts.nextNode()) if (texts.currentNode.data.search(LONG_WORD) >= 0) long.push(texts.currentNode);
  for (const text of long) {
    const parts = text.data.replace(LONG_WORD, "$&\u0000").split("\u0000");
    text.replaceWith(...parts.flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part])));
  }
}

function renderInto(box, text, above) {
  box.setHTML(marked.parse(text));
  nestHeadings(box, above);
  for (const cell of box.querySelectorAll("th, td")) addBreaks(cell);
  for (const item of box.querySelectorAll("li")) if (/^[☐☑] /.test(item.textContent)) item.className = "task-item";
  for (const block of box.querySelectorAll(":scope > :not(pre)")) block.dir = "auto"; // right-to-left text starts at the right
  for (const cell of box.querySelectorAll("th:empty")) cell.replaceWith(document.createElement("td")); // an empty header cell describes nothing
}

export function render(element, text) {
  renderInto(element, text || "", []);
  addExtras(element);
}

export class Stream { // growing text: finished blocks are rendered once, the last one repeatedly
  constructor(element) {
    this.element = element;
    this.text = ""; // all of it
    this.open = ""; // the last block, which may still change
    this.settled = 0; // finished children of the element
    this.above = []; // levels of the enclosing headings
  }
  add(text) {
    this.text += text;
    this.open = (this.open + text).replace(/\r\n|\r(?!$)/g, "\n");
    const tokens = marked.lexer(this.open);
    let last = tokens.length - 1;
    while (last > 0 && tokens[last].type === "space") last -= 1; // a list may continue after an empty line
    const done = tokens.slice(0, Math.max(last, 0)).map((token) => token.raw).join("");
    while (this.element.childNodes.length > this.settled) this.element.lastChild.remove();
    if (done && this.open.startsWith(done)) {
      this.appendRendered(done, true);
      this.settled = this.element.childNodes.length;
      this.open = this.open.slice(done.length);
    }
    this.appendRendered(this.open);
  }
  settle() { // the text is complete
    const last = document.createElement("div");
    last.append(...[...this.element.childNodes].slice(this.settled));
    addExtras(last);
    this.element.append(...last.childNodes);
  }
  appendRendered(text, settled = false) {
    const box = document.createElement("div");
    renderInto(box, text, settled ? this.above : [...this.above]);
    if (settled) addExtras(box); // not for every piece
    this.element.append(...box.childNodes);
  }
}
