// Streamed JSON as readable Markdown: each piece returns the Markdown that it adds.
const LITERALS = { true: "yes", false: "no", null: "none" };
const FENCE = "~~~~~~~~";
const LONG = new Set(["text", "content", "code", "patch", "diff", "old", "new", "change"]); // tool arguments that contain files or parts of files

export class JsonText {
  constructor({ code = false } = {}) {
    this.code = code; // whether long texts are file contents
    this.open = []; // enclosing objects and lists: { list, entries, named }
    this.mode = ""; // "", key, string, escape, unicode, literal
    this.pending = ""; // an incomplete literal or escape
    this.key = "";
    this.out = "";
  }
  add(text) {
    this.out = "";
    for (const char of text) this.read(char);
    return this.out;
  }
  get top() { return this.open[this.open.length - 1]; }
  read(char) {
    switch (this.mode) {
      case "escape": return this.readEscape(char);
      case "unicode":
        this.pending += char;
        if (this.pending.length < 4) return;
        this.mode = this.inKey ? "key" : "string";
        return this.write(String.fromCharCode(parseInt(this.pending, 16) || 63));
      case "key": case "string":
        if (char === "\\") { this.inKey = this.mode === "key"; this.mode = "escape"; return; }
        if (char === '"') return this.mode === "key" ? this.endKey() : this.endString();
        return this.write(char);
      case "literal":
        if (!/[\s,\]}]/.test(char)) { this.pending += char; return; }
        this.beginValue(this.pending);
        this.out += LITERALS[this.pending] || (/\.\d{7,}/.test(this.pending) ? String(Number(Number(this.pending).toPrecision(6))) : this.pending);
        this.mode = "";
    }
    if (char === '"') {
      if (this.top && !this.top.list && !this.top.named) { this.mode = "key"; this.key = ""; return; }
      this.mode = "string";
      this.first = true;
    } else if (char === "{" || char === "[") {
      if (this.open.length) this.beginValue(char);
      this.open.push({ list: char === "[", entries: 0, named: false });
    } else if (char === "}" || char === "]") {
      const { list, entries } = this.open.pop() || {};
      if (!entries && this.open.length) this.out += list && this.open.length === 1 ? "- none" : "none";
    } else if (!/[\s,:]/.test(char)) { this.mode = "literal"; this.pending = char; }
  }
  readEscape(char) {
    if (char === "u") { this.mode = "unicode"; this.pending = ""; return; }
    this.mode = this.inKey ? "key" : "string";
    this.write({ n: "\n", t: "\t", r: "", b: "", f: "" }[char] ?? char);
  }
  write(char) {
    if (this.mode === "key") { this.key += char; return; }
    if (this.first) { this.first = false; this.beginValue(char); }
    const inItem = this.open.length > 1 && this.open[1].list;
    this.out += char === "\n" && inItem ? "\n  " : char;
  }
  endKey() { this.mode = ""; this.top.named = true; }
  endString() {
    if (this.first) {
      this.beginValue("");
      if (!this.fenced) this.out += "none";
    }
    this.first = false;
    this.mode = "";
    if (this.fenced) this.out += `\n${FENCE}`;
    this.fenced = false;
  }
  beginValue(start) { // of a value: writes its name or list marker
    const parent = this.top;
    if (!parent) return;
    const depth = this.open.length, isFollowing = parent.entries++ > 0;
    if (parent.list) {
      this.out += depth === 2 ? `${isFollowing ? "\n" : ""}- ` : isFollowing ? ", " : "";
      return;
    }
    parent.named = false;
    const words = this.key.replaceAll("_", " "), name = words.charAt(0).toUpperCase() + words.slice(1);
    if (depth > 1) { this.out += `${isFollowing ? " · " : ""}${name}: `; return; }
    this.out += `${isFollowing ? "\n\n" : ""}**${name}**`;
    this.fenced = this.code && LONG.has(this.key) && start !== "[" && start !== "{" && this.mode === "string";
    this.out += this.fenced ? `\n\n${FENCE}\n` : start === "[" ? "\n\n" : /[-*+#>`|\d]/.test(start) && this.mode === "string" ? ":\n\n" : ": ";
  }
}
