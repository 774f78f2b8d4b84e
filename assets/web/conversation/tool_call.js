// A tool call: arguments as fields, code or a table; result; state. All of it is untrusted text.
const GLYPHS = { asked: "○", waiting: "◆", running: "◐", ok: "✓", failed: "✗", denied: "⊘", dropped: "–" };
const INLINE = 90; // characters of a value next to its name
const FOLD = 14; // lines before "Show all"

const make = (tag, name, text) => {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== undefined) element.textContent = text;
  return element;
};

const flat = (value) => value !== null && typeof value === "object" && !Array.isArray(value) &&
  Object.values(value).every((cell) => cell === null || typeof cell !== "object");
const tabular = (value) => Array.isArray(value) && value.length > 0 && value.length <= 500 && value.every(flat);

// A value in plain words; "" if only JSON can express it.
function words(content) {
  if (content === null) return "none";
  if (typeof content === "boolean") return content ? "yes" : "no";
  if (typeof content === "number") return String(Number.isInteger(content) ? content : Number(content.toPrecision(6)));
  if (typeof content === "string") return content;
  const parts = Object.values(content);
  if (!parts.length) return "none";
  if (parts.some((part) => part !== null && (typeof part === "object" || part === ""))) return "";
  return Array.isArray(content) ? parts.map(words).join(", ") : Object.entries(content).map(([name, part]) => `${name}: ${words(part)}`).join(" · ");
}

function table(rows) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const box = make("div", "tool-table");
  box.tabIndex = 0;
  const element = box.appendChild(make("table"));
  const head = element.appendChild(make("thead")).appendChild(make("tr"));
  for (const name of names) head.append(make("th", "", name));
  const body = element.appendChild(make("tbody"));
  for (const row of rows) {
    const line = body.appendChild(make("tr"));
    for (const name of names) line.append(make("td", "", row[name] === undefined ? "" : words(row[name])));
  }
  return box;
}

function code(text, name) { // a long text is folded
  const lines = text.replace(/\n$/, "").split("\n");
  const box = make("div", `tool-code ${name || ""}`);
  const pre = box.appendChild(make("pre"));
  const long = lines.length > FOLD || text.length > FOLD * 120;
  const head = lines.slice(0, FOLD).join("\n").slice(0, FOLD * 120);
  pre.textContent = long ? head : lines.join("\n");
  if (!long) return box;
  pre.classList.add("cut");
  const more = box.appendChild(make("button", "btn quiet small"));
  more.type = "button";
  const show = (open) => {
    pre.textContent = open ? text : head;
    pre.classList.toggle("cut", !open);
    more.textContent = open ? "Show less" : lines.length > 1 ? `Show all ${lines.length} lines` : `Show all ${text.length} characters`;
    more.setAttribute("aria-expanded", String(open));
  };
  more.onclick = () => show(more.getAttribute("aria-expanded") !== "true");
  show(false);
  return box;
}

function value(content) {
  if (tabular(content)) return table(content);
  if (typeof content !== "string") {
    const said = words(content), line = said || JSON.stringify(content);
    if (line.length <= INLINE) return make("span", "tool-value lit", line);
    if (!said) return code(JSON.stringify(content, null, 2));
    return code((Array.isArray(content) ? content.map(words) : Object.entries(content).map(([name, part]) => `${name}: ${words(part)}`)).join("\n"));
  }
  if (content.length <= INLINE && !content.includes("\n")) return make("span", "tool-value", content === "" ? "“”" : content);
  return code(content);
}

function result(text) {
  if (/^\s*\[\s*\{/.test(text)) {
    try {
      const rows = JSON.parse(text);
      if (tabular(rows)) return table(rows);
    } catch { /* not a table after all */ }
  }
  return code(text, "result");
}

// Shows the state and the result of a call.
function showOutcome(element, block) {
  const [glyph, , state] = element.firstChild.children, before = element.call;
  element.className = `block tool ${block.state}${block.ok === false ? " bad" : ""}`;
  glyph.textContent = GLYPHS[block.state] || "○";
  state.textContent = block.note || "";
  element.call = block;
  if (before && before.text === block.text && before.kept === block.kept) return;
  element.outcome?.forEach((part) => part.remove());
  element.outcome = block.text ? [result(block.text)] : [];
  if (block.kept) {
    const all = make("a", "tool-kept", `Download the full result (${block.cut} more characters)`);
    all.href = block.kept;
    all.setAttribute("download", "");
    element.outcome.push(all);
  }
  element.lastChild.append(...element.outcome);
}

export function renderToolCall(block) {
  const element = make("article");
  const head = element.appendChild(make("header"));
  head.append(make("span", "tool-glyph"), make("b", "mono", block.title), make("span", "tool-state"));
  head.firstChild.setAttribute("aria-hidden", "true");
  for (const tag of block.tags || []) head.append(make("span", "chip", tag));
  const body = element.appendChild(make("div", "body"));
  if (block.arguments?.length) {
    const list = body.appendChild(make("dl", "tool-arguments"));
    for (const [name, content] of block.arguments) {
      const line = list.appendChild(make("div"));
      line.append(make("dt", "", name));
      line.appendChild(make("dd")).append(value(content));
    }
  }
  if (block.raw) body.append(make("div", "tool-raw", "The arguments are not JSON:"), code(block.raw));
  showOutcome(element, block);
  return element;
}

// Updates the element of the same call in place, to preserve what is open or selected in its arguments; false for another call.
export function updateToolCall(element, block) {
  const called = ({ kind, title, tags, arguments: given, raw }) => JSON.stringify([kind, title, tags, given, raw]);
  if (!element?.call || called(element.call) !== called(block)) return false;
  showOutcome(element, block);
  return true;
}
