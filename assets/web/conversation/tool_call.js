// A tool call: arguments as fields, code or a table; result; state. All of it is untrusted text.
import { cut, make } from "/hemicycle/conversation/element.js";

const STATE_GLYPHS = { asked: "○", waiting: "◆", running: "◐", ok: "✓", failed: "✗", denied: "⊘", dropped: "–" };
const MAX_INLINE = 90; // characters of a value next to its name
const MAX_LINES = 14; // lines before "Show all"

const isFlat = (value) => value !== null && typeof value === "object" && !Array.isArray(value) &&
  Object.values(value).every((cell) => cell === null || typeof cell !== "object");
const isTabular = (value) => Array.isArray(value) && value.length > 0 && value.length <= 500 && value.every(isFlat);

// A value in plain words; "" if only JSON can express it.
function plainText(content) {
  if (content === null) return "none";
  if (typeof content === "boolean") return content ? "yes" : "no";
  if (typeof content === "number") return String(Number.isInteger(content) ? content : Number(content.toPrecision(6)));
  if (typeof content === "string") return content;
  const parts = Object.values(content);
  if (!parts.length) return "none";
  if (parts.some((part) => part !== null && (typeof part === "object" || part === ""))) return "";
  return Array.isArray(content) ? parts.map(plainText).join(", ") : Object.entries(content).map(([name, part]) => `${name}: ${plainText(part)}`).join(" · ");
}

function renderTable(rows) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const box = make("div", "tool-table");
  box.tabIndex = 0;
  const element = box.appendChild(make("table"));
  const head = element.appendChild(make("thead")).appendChild(make("tr"));
  for (const name of names) head.append(make("th", "", name));
  const body = element.appendChild(make("tbody"));
  for (const row of rows) {
    const line = body.appendChild(make("tr"));
    for (const name of names) line.append(make("td", "", row[name] === undefined ? "" : plainText(row[name])));
  }
  return box;
}

function renderCode(text, name) { // a long text is collapsed
  const lines = text.replace(/\n$/, "").split("\n");
  const box = make("div", `tool-code ${name || ""}`);
  const pre = box.appendChild(make("pre"));
  pre.dir = "auto"; // of each line
  const long = lines.length > MAX_LINES || text.length > MAX_LINES * 120;
  const head = cut(lines.slice(0, MAX_LINES).join("\n"), MAX_LINES * 120);
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

function makeValue(classes, text) {
  const value = make("span", classes, text);
  value.dir = "auto";
  return value;
}

function renderValue(content) {
  if (isTabular(content)) return renderTable(content);
  if (typeof content !== "string") {
    const text = plainText(content), line = text || JSON.stringify(content);
    if (line.length <= MAX_INLINE) return makeValue("tool-value lit", line);
    if (!text) return renderCode(JSON.stringify(content, null, 2));
    return renderCode((Array.isArray(content) ? content.map(plainText) : Object.entries(content).map(([name, part]) => `${name}: ${plainText(part)}`)).join("\n"));
  }
  if (content.length <= MAX_INLINE && !content.includes("\n")) return makeValue("tool-value", content === "" ? "“”" : content);
  return renderCode(content);
}

function renderResult(text) {
  if (/^\s*\[\s*\{/.test(text)) {
    try {
      const rows = JSON.parse(text);
      if (isTabular(rows)) return renderTable(rows);
    } catch { /* not a table after all */ }
  }
  return renderCode(text, "result");
}

// Shows the state and the result of a call.
function showOutcome(element, block) {
  const [glyph, , state] = element.firstChild.children, before = element.call;
  element.className = `block tool ${block.state}${block.ok === false ? " bad" : ""}`;
  glyph.textContent = STATE_GLYPHS[block.state] || "○";
  state.textContent = block.note || "";
  element.call = block;
  if (before && before.text === block.text && before.full_result_url === block.full_result_url) return;
  element.outcome?.forEach((part) => part.remove());
  element.outcome = block.text ? [renderResult(block.text)] : [];
  if (block.full_result_url) {
    const all = make("a", "tool-kept", `Download the full result (${block.omitted} more characters)`);
    all.href = path_prefix + block.full_result_url;
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
      line.appendChild(make("dd")).append(renderValue(content));
    }
  }
  if (block.raw) body.append(make("div", "tool-raw", "The arguments are not JSON:"), renderCode(block.raw));
  showOutcome(element, block);
  return element;
}

// Updates the element of the same call in place, to preserve what is open or selected in its arguments; false for another call.
export function updateToolCall(element, block) {
  const callKey = ({ kind, title, tags, arguments: callArguments, raw }) => JSON.stringify([kind, title, tags, callArguments, raw]);
  if (!element?.call || callKey(element.call) !== callKey(block)) return false;
  showOutcome(element, block);
  return true;
}
