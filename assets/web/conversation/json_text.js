// Streamed JSON as readable Markdown: each piece returns the Markdown that it adds.
const LITERALS = { true: "yes", false: "no", null: "none" };
const FENCE = "~~~~~~~~";
const LONG = new Set(["text", "content", "code", "patch", "diff", "old", "new", "change"]); // tool arguments that contain files or parts of files

export class JsonText {
  constructor({ code = false } = {}) {
    this.code = code; // whether long texts are file contents
    this.open = []; // enclosing objects and lists: { list, entries, named }
    this.mode = ""; // "", key, string, escape, unicode, literal
    this.held = ""; // an incomplete literal or escape
    this.key = "";
    this.out = "";
  }
  add(text) {
    this.out = "";
    for (const char of text) this.take(char);
    return this.out;
  }
  get top() { return this.open[this.open.length - 1]; }
  take(char) {
    switch (this.mode) {
      case "escape": return this.escaped(char);
      case "unicode":
        this.held += char;
        if (this.held.length < 4) return;
        this.mode = this.inKey ? "key" : "string";
        return this.write(String.fromCharCode(parseInt(this.held, 16) || 63));
      case "key": case "string":
        if (char === "\\") { this.inKey = this.mode === "key"; this.mode = "escape"; return; }
        if (char === '"') return this.mode === "key" ? this.named() : this.ended();
        return this.write(char);
      case "literal":
        if (!/[\s,\]}]/.test(char)) { this.held += char; return; }
        this.begin(this.held);
        this.out += LITERALS[this.held] || (/\.\d{7,}/.test(this.held) ? String(Number(Number(this.held).toPrecision(6))) : this.held);
        this.mode = "";
    }
    if (char === '"') {
      if (this.top && !this.top.list && !this.top.named) { this.mode = "key"; this.key = ""; return; }
      this.mode = "string";
      this.first = true;
    } else if (char === "{" || char === "[") {
      if (this.open.length) this.begin(char);
      this.open.push({ list: char === "[", entries: 0, named: false });
    } else if (char === "}" || char === "]") {
      const { list, entries } = this.open.pop() || {};
      if (!entries && this.open.length) this.out += list && this.open.length === 1 ? "- none" : "none";
    } else if (!/[\s,:]/.test(char)) { this.mode = "literal"; this.held = char; }
  }
  escaped(char) {
    if (char === "u") { this.mode = "unicode"; this.held = ""; return; }
    this.mode = this.inKey ? "key" : "string";
    this.write({ n: "\n", t: "\t", r: "", b: "", f: "" }[char] ?? char);
  }
  write(char) {
    if (this.mode === "key") { this.key += char; return; }
    if (this.first) { this.first = false; this.begin(char); }
    const inItem = this.open.length > 1 && this.open[1].list;
    this.out += char === "\n" && inItem ? "\n  " : char;
  }
  named() { this.mode = ""; this.top.named = true; }
  ended() {
    if (this.first) {
      this.begin("");
      if (!this.fenced) this.out += "none";
    }
    this.first = false;
    this.mode = "";
    if (this.fenced) this.out += `\n${FENCE}`;
    this.fenced = false;
  }
  begin(start) { // of a value: writes its name or list marker
    const around = this.top;
    if (!around) return;
    const depth = this.open.length, again = around.entries++ > 0;
    if (around.list) {
      this.out += depth === 2 ? `${again ? "\n" : ""}- ` : again ? ", " : "";
      return;
    }
    around.named = false;
    const words = this.key.replaceAll("_", " "), name = words.charAt(0).toUpperCase() + words.slice(1);
    if (depth > 1) { this.out += `${again ? " · " : ""}${name}: `; return; }
    this.out += `${again ? "\n\n" : ""}**${name}**`;
    this.fenced = this.code && LONG.has(this.key) && start !== "[" && start !== "{" && this.mode === "string";
    this.out += this.fenced ? `\n\n${FENCE}\n` : start === "[" ? "\n\n" : /[-*+#>`|\d]/.test(start) && this.mode === "string" ? ":\n\n" : ": ";
  }
}
