// Plays a recorded run from this file alone. Model output is inserted as text or as Markdown built from nodes, never as HTML.
const $ = (id) => document.getElementById(id);
const make = (tag, classes = "", text = "") => {
  const element = document.createElement(tag);
  if (classes) element.className = classes;
  if (text !== "") element.textContent = text;
  return element;
};
const LONGEST_PAUSE = 1500; // milliseconds; longer waits in the recording are shortened
const SNAPSHOT_INTERVAL = 100; // steps
const MAX_SNAPSHOTS = 40; // of memory

const packed = Uint8Array.from(atob(JSON.parse($("data").textContent)), (c) => c.charCodeAt(0));
const run = JSON.parse(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text());
const steps = run.steps, last = steps.length;

// Markdown as nodes
function markdown(text) {
  const box = document.createDocumentFragment();
  let tokens;
  try { tokens = lexMarkdown(text, { gfm: true }); } catch { tokens = [{ type: "text", text }]; }
  box.append(...tokens.map(node));
  return box;
}
const inner = (element, token) => {
  if (token.tokens) element.append(...token.tokens.map(node));
  else element.append(plain(token.text ?? token.raw ?? ""));
  return element;
};
const plain = (text) => document.createTextNode(text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name) => ({ amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" })[name]));
function node(token) {
  switch (token.type) {
    case "paragraph": return inner(make("p"), token);
    case "heading": return inner(make(`h${Math.min(6, token.depth + 2)}`), token);
    case "strong": case "em": case "del": case "blockquote": return inner(make(token.type), token);
    case "codespan": return make("code", "", token.text);
    case "br": return make("br");
    case "hr": return make("hr");
    case "space": case "def": return document.createTextNode("");
    case "link": return /^(https?:|mailto:)/i.test(token.href) ? Object.assign(inner(make("a"), token), { href: token.href, rel: "noopener noreferrer nofollow", target: "_blank" }) : inner(make("span"), token);
    case "code": { const pre = make("pre"); pre.append(make("code", "", token.text)); return pre; }
    case "list": { const list = make(token.ordered ? "ol" : "ul"); list.append(...token.items.map((item) => inner(make("li"), item))); return list; }
    case "table": {
      const table = make("table"), row = (cells, tag) => { const tableRow = make("tr"); tableRow.append(...cells.map((cell) => inner(make(tag), cell))); return tableRow; };
      const head = make("thead"), body = make("tbody");
      head.append(row(token.header, "th"));
      body.append(...token.rows.map((cells) => row(cells, "td")));
      table.append(head, body);
      return table;
    }
    case "text": return token.tokens ? inner(make("span"), token) : plain(token.text);
    default: return document.createTextNode(token.raw ?? token.text ?? ""); // HTML and images are shown as source
  }
}

// Memory: changes are JSON Patches, applied to a copy of the nearest snapshot
const snapshots = new Map([[0, { memory: {}, agents: {}, told: {}, history: {} }]]);
let current = { at: 0, document: structuredClone(snapshots.get(0)) };
const pointerParts = (path) => path.split("/").slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
const lookup = (document, path) => pointerParts(path).reduce((found, part) => (found == null ? undefined : found[part]), document);
function apply(document, [op, path, value]) {
  const keys = pointerParts(path), key = keys.pop(), target = keys.reduce((found, part) => found[part], document), fresh = structuredClone(value ?? null);
  if (!Array.isArray(target)) { if (op === "remove") delete target[key]; else target[key] = fresh; }
  else if (op === "remove") target.splice(Number(key), 1);
  else if (op === "replace") target[Number(key)] = fresh;
  else if (key === "-") target.push(fresh);
  else target.splice(Number(key), 0, fresh);
}
function memory(at) {
  if (at < current.at || at - current.at > SNAPSHOT_INTERVAL) {
    const from = Math.max(...[...snapshots.keys()].filter((seq) => seq <= at));
    if (at < current.at || from > current.at) current = { at: from, document: structuredClone(snapshots.get(from)) };
  }
  while (current.at < at) {
    for (const change of steps[current.at].changes || []) apply(current.document, change);
    current.at += 1;
    if (current.at % SNAPSHOT_INTERVAL === 0 && !snapshots.has(current.at)) {
      snapshots.set(current.at, structuredClone(current.document));
      if (snapshots.size > MAX_SNAPSHOTS) snapshots.delete([...snapshots.keys()][1 + Math.floor(Math.random() * (MAX_SNAPSHOTS - 2))]);
    }
  }
  return current.document;
}

// The diagram
const svg = $("chart").querySelector("svg");
const whole = svg?.getAttribute("viewBox");
const findState = (path) => {
  for (let at = path; at; at = at.includes(".") ? at.slice(0, at.lastIndexOf(".")) : "") {
    const element = document.getElementById(`s:${at}`);
    if (element) return element;
  }
  return null;
};
const findEdge = (name) => document.getElementById(`e:${name}`) || document.getElementById(`e:${name.split(">").map((path) => findState(path)?.id.slice(2) ?? path).join(">")}`);
const visited = new Map(), traversed = new Map(); // states and edges, with the first step that reached them
steps.forEach((step, i) => {
  for (const path of step.entered || []) if (!visited.has(path)) visited.set(path, i + 1);
  for (const name of step.lit?.taken || []) if (!traversed.has(name)) traversed.set(name, i + 1);
});
const HIGHLIGHTS = ["active", "inside", "visited", "waiting", "broken", "halted", "taken", "traversed"];
function highlight(at) {
  if (!svg) return;
  for (const name of HIGHLIGHTS) for (const element of svg.querySelectorAll(`.${name}`)) element.classList.remove(name);
  const step = at ? steps[at - 1].lit || {} : {};
  for (const [path, first] of visited) if (first <= at) findState(path)?.classList.add("visited");
  for (const [name, first] of traversed) if (first <= at) findEdge(name)?.classList.add("traversed");
  for (const name of ["inside", "active", "waiting", "broken", "halted"]) for (const path of step[name] || []) findState(path)?.classList.add(name);
  for (const name of step.taken || []) findEdge(name)?.classList.add("taken");
  svg.setAttribute("aria-label", `State diagram of ${run.pattern}. Active: ${(step.active || []).join(", ") || "nothing"}`);
}
if (svg) {
  svg.setAttribute("role", "img");
  svg.setAttribute("preserveAspectRatio", "xMidYMin meet");
  const scale = (factor) => {
    const [x, y, w, h] = svg.getAttribute("viewBox").split(/\s+/).map(Number);
    svg.setAttribute("viewBox", [x + (w * (1 - factor)) / 2, y + (h * (1 - factor)) / 2, w * factor, h * factor].join(" "));
  };
  $("closer").onclick = () => scale(0.8);
  $("out").onclick = () => scale(1.25);
  $("fit").onclick = () => svg.setAttribute("viewBox", whole);
  let from = null;
  svg.onpointerdown = (event) => { from = { x: event.clientX, y: event.clientY, box: svg.getAttribute("viewBox").split(/\s+/).map(Number), moved: false }; };
  svg.onpointermove = (event) => {
    if (!from) return;
    const [x, y, w, h] = from.box, pixel = Math.max(w / svg.clientWidth, h / svg.clientHeight);
    if (Math.abs(event.clientX - from.x) + Math.abs(event.clientY - from.y) > 5) from.moved = true;
    if (from.moved) svg.setAttribute("viewBox", [x - (event.clientX - from.x) * pixel, y - (event.clientY - from.y) * pixel, w, h].join(" "));
  };
  svg.onpointerup = (event) => {
    const path = !from?.moved && event.target.closest(".state")?.id.slice(2);
    from = null;
    if (!path) return;
    const visits = steps.flatMap((step, i) => ((step.entered || []).some((one) => one === path || one.startsWith(`${path}.`)) ? [i + 1] : []));
    if (visits.length) go(visits.find((seq) => seq > at) ?? visits[0]);
  };
  svg.onpointerleave = () => { from = null; };
}

// The transcript: text is rendered when it gets near the viewport
const messages = [];
const near = new IntersectionObserver((found) => {
  for (const one of found) if (one.isIntersecting && one.target.text !== undefined) {
    one.target.querySelector(".body").replaceChildren(markdown(one.target.text));
    one.target.text = undefined;
    one.target.querySelector(".body").classList.remove("raw");
    near.unobserve(one.target);
  }
}, { root: $("scroller"), rootMargin: "900px" });
steps.forEach((step, i) => {
  if (!step.block) return;
  const { kind, title, note, text } = step.block;
  const article = make("article", `block ${kind}`), header = make("header"), button = make("button", "goto", note || `step ${i + 1}`);
  button.type = "button";
  button.setAttribute("aria-label", `${button.textContent}, ${title || kind}: go there`);
  button.onclick = () => go(i + 1);
  header.append(make("b", "", title || kind), button);
  article.append(header, make("div", "body prose raw", text || ""));
  article.text = text || "";
  article.hidden = true;
  messages.push({ seq: i + 1, article });
  near.observe(article);
});
$("talk").append(...messages.map((one) => one.article));
let shown = 0, marked = null;
function showMessages(at) {
  let count = shown;
  while (count < messages.length && messages[count].seq <= at) messages[count++].article.hidden = false;
  while (count > 0 && messages[count - 1].seq > at) messages[--count].article.hidden = true;
  shown = count;
  $("silent").hidden = count > 0;
  $("count").textContent = `${count} of ${messages.length} ${messages.length === 1 ? "message" : "messages"}`;
  marked?.classList.remove("here");
  marked = count && messages[count - 1].seq === at ? messages[count - 1].article : null;
  marked?.classList.add("here");
  scrollToEnd();
}
const scrollToEnd = () => { $("scroller").scrollTop = $("scroller").scrollHeight; };
let atEnd = true; // rendering makes text grow, which must not move what a person reads
$("scroller").onscroll = () => { const box = $("scroller"); atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 60 || (atEnd && box.dataset.height !== String(box.scrollHeight)); box.dataset.height = box.scrollHeight; };
new ResizeObserver(() => { if (atEnd) scrollToEnd(); }).observe($("talk"));

// The inspector
const panes = {};
const ownPanels = new Map(run.panels.filter(([name]) => offlinePanels[name]).map(([name, field]) => [offlinePanels[name].title, [offlinePanels[name], field]]));
const tabs = [...ownPanels.keys(), "Step", "Memory", "Usage", ...(run.files.length ? ["Files"] : [])].map((name, i, all) => {
  const tab = make("button", "tab", name), pane = make("div", "pane");
  Object.assign(tab, { type: "button", id: `tab-${name}`, onclick: () => open(name) });
  tab.setAttribute("role", "tab");
  tab.setAttribute("aria-controls", `pane-${name}`);
  Object.assign(pane, { id: `pane-${name}`, tabIndex: 0 });
  pane.setAttribute("role", "tabpanel");
  pane.setAttribute("aria-labelledby", tab.id);
  tab.onkeydown = (event) => {
    const turn = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!turn) return;
    event.stopPropagation();
    event.preventDefault();
    const next = all[(i + turn + all.length) % all.length];
    open(next);
    $(`tab-${next}`).focus();
  };
  panes[name] = pane;
  return tab;
});
$("tabs").append(...tabs);
$("panes").append(...Object.values(panes));
let tab = "Step";
function open(name) {
  tab = name;
  for (const one of tabs) {
    const here = one.textContent === name;
    one.setAttribute("aria-selected", here);
    one.tabIndex = here ? 0 : -1;
    panes[one.textContent].hidden = !here;
  }
  inspect(at);
}
const isScalar = (value) => value === null || typeof value !== "object";
const constants = new Map(Object.entries(run.constants));
function valueText(value) { // a value in plain words, or JSON if it is nested
  if (typeof value === "string") return constants.get(value) ?? value;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(6)));
  if (isScalar(value)) return value === null ? "none" : String(value ?? "");
  const parts = Object.entries(value);
  if (!parts.length) return "empty";
  if (!parts.every(([, part]) => isScalar(part))) return JSON.stringify(value);
  return Array.isArray(value) ? value.map(valueText).join(", ") : parts.map(([name, part]) => `${name.replaceAll("_", " ")}: ${valueText(part)}`).join("\n");
}
const shortText = (value) => {
  const text = valueText(value);
  if (text.length <= 400) return text;
  const { index } = new Intl.Segmenter().segment(text.slice(0, 460)).containing(399); // not inside an emoji
  return `${text.slice(0, index || 399)}…`;
};
const formatDuration = (seconds) => (seconds < 10 ? `${Math.max(seconds, 0).toFixed(1)} s` : seconds < 60 ? `${Math.floor(seconds)} s`
  : `${seconds >= 3600 ? `${Math.floor(seconds / 3600)}:${String(Math.floor(seconds / 60) % 60).padStart(2, "0")}` : Math.floor(seconds / 60)}:${String(Math.floor(seconds) % 60).padStart(2, "0")}`);
function stepPane(at) {
  const step = steps[at - 1], box = make("div", "step");
  if (!step) { box.append(make("p", "empty", "No steps yet.")); return box; }
  box.append(make("div", "step-number num", `Step ${at}`), make("h2", "step-title", step.title));
  if (step.facts) box.append(make("p", "muted small", step.facts));
  if (step.error) box.append(make("p", "notice fail", step.error));
  if (step.notes) {
    const list = make("ul", "note-list");
    list.setAttribute("aria-label", "Notes on this step");
    for (const [text, written] of step.notes) {
      const item = make("li", "step-note");
      item.append(make("p", "note-text", text), make("div", "note-foot muted small", written));
      list.append(item);
    }
    box.append(list);
  }
  for (const guard of step.guards || []) box.append(make("div", "guard", guard));
  if (step.others) {
    const details = make("details", "other-outcomes");
    details.append(make("summary", "muted small", step.others_title));
    for (const { to, reason, guards } of step.others) {
      const row = make("div", "edge-outcome");
      row.append(make("b", "", to), make("span", "muted small", ` ${reason}`), ...guards.map((guard) => make("div", "guard", guard)));
      details.append(row);
    }
    box.append(details);
  }
  const changes = step.changes || [];
  box.append(make("h3", "step-section", `Changes (${changes.length})`));
  if (!changes.length) box.append(make("p", "muted small", "No changes."));
  const before = memory(at - 1), replaced = changes.map(([, path]) => lookup(before, path)).map((value) => (value === undefined ? undefined : shortText(value)));
  changes.forEach(([op, path, value], i) => {
    const row = make("div", "change");
    row.append(make("div", "mono change-path", path.slice(1).replace(/\/-$/, " · added").replaceAll("/", " › ").replaceAll("_", " ")));
    if (op !== "add" && replaced[i] !== undefined) row.append(labelled(make("div", "before", replaced[i]), "before"));
    row.append(op === "remove" ? make("div", "muted small", "removed") : labelled(make("div", "after", shortText(value)), "after"));
    box.append(row);
  });
  return box;
}
function labelled(element, label) { element.setAttribute("role", "group"); element.setAttribute("aria-label", label); return element; }
const branches = Object.assign({ $el: make("div", "tree") }, tree.methods, { open: new Set(["", "/memory"]) });
panes.Memory.append(branches.$el);
const summaries = []; // facts about the whole run at each step
steps.reduce((before, step) => { const now = { ...before, ...step.now }; summaries.push(now); return now; }, {});
function usagePane(at) {
  const now = summaries[at - 1] || {}, box = make("div", "step");
  box.append(make("h2", "step-title", now.used || "No usage yet."));
  for (const [text, used, limit] of now.budget || []) {
    const row = make("p", "", text), bar = make("progress");
    Object.assign(bar, { max: limit, value: Math.min(used, limit) });
    bar.setAttribute("aria-label", text);
    row.append(bar);
    box.append(row);
  }
  if (now.spending?.length) {
    const table = make("table"), head = make("tr");
    head.append(...["Agent", "Usage", "Models"].map((name) => make("th", "", name)));
    table.append(head);
    for (const [agent, used, models] of now.spending) {
      const row = make("tr");
      row.append(make("td", "", agent), make("td", "num", used), make("td", "", models.join(", ")));
      table.append(row);
    }
    box.append(table);
  }
  return box;
}
function filesPane() {
  const box = make("div", "step");
  box.append(make("p", "muted small", "As of the last step."));
  for (const { agent, files, more } of run.files) {
    box.append(make("h3", "step-section", agent));
    for (const [path, size, text] of files) {
      const details = make("details", "file");
      details.append(make("summary", "mono", `${path} · ${size} B`), make("pre", "", text));
      box.append(details);
    }
    if (more) box.append(make("p", "muted small", `and ${more} more`));
    if (!files.length) box.append(make("p", "muted small", "no files"));
  }
  return box;
}
if (panes.Files) panes.Files.append(filesPane());
function inspect(at) {
  const [panel, field] = ownPanels.get(tab) || [];
  if (panel) panes[tab].replaceChildren(panel.draw(memory(at).memory, field));
  else if (tab === "Step") panes.Step.replaceChildren(stepPane(at));
  else if (tab === "Memory") { const { memory: state, agents } = memory(at); branches.show(structuredClone({ memory: state, agents }), (steps[at - 1]?.changes || []).map((change) => change[1]), run.constants); }
  else if (tab === "Usage") panes.Usage.replaceChildren(usagePane(at));
}

// The player
let at = 0, playing = null;
function show(to) {
  at = Math.min(Math.max(to, Math.min(1, last)), last);
  const now = summaries[at - 1] || {};
  $("status").className = `pill ${now.status || ""} ${now.status === "done" && now.error ? "issues" : ""}`;
  $("status").textContent = now.status === "done" && now.error ? "Done with issues" : run.words[now.status] || "Not started";
  $("where").textContent = [now.where, now.error].filter(Boolean).join(" · ");
  $("used").textContent = now.used || "";
  const passed = at ? steps[at - 1].time - steps[0].time : 0;
  $("place").textContent = `${at} / ${last} · ${formatDuration(passed)}`;
  bar.setSteps(at, Math.max(last, 1));
  for (const [name, value] of Object.entries({ max: Math.max(last, 1), now: at, text: `Step ${at} of ${last}, after ${formatDuration(passed)}: ${steps[at - 1]?.title || "none"}` })) bar.rail.setAttribute(`aria-value${name}`, value);
  highlight(at);
  showMessages(at);
  inspect(at);
}
function go(to) { stop(); show(to); $("news").textContent = `Step ${at}: ${steps[at - 1]?.title || ""}`; history.replaceState(null, "", `#step=${at}`); }
function stop() { clearTimeout(playing); playing = null; $("play").textContent = "▶"; $("play").setAttribute("aria-label", "Play (space)"); }
function tick() {
  if (at >= last) return stop();
  const pause = Math.min(LONGEST_PAUSE, 1000 * Math.max(steps[at].time - steps[at - 1].time, 0.05));
  playing = setTimeout(() => { show(at + 1); tick(); }, pause / Number($("speed").value));
}
function toggle() {
  if (playing) return stop();
  if (at >= last) show(1);
  $("play").textContent = "❚❚";
  $("play").setAttribute("aria-label", "Stop playing (space)");
  tick();
}
const bar = new Timeline($("bar"), {
  lanes: run.timeline.lanes, words: run.timeline.words, kinds: run.timeline.kinds,
  on: { move: (step) => { stop(); show(step); }, release: (step) => { if (step !== null) go(step); }, pick: go },
});
bar.set({ folded: matchMedia("(max-width: 900px)").matches });
$("bar").timeline = bar;
bar.notes = run.timeline.notes;
bar.add(run.timeline.news);
const marks = [...(run.timeline.news.flags || []), ...bar.notes].map(([seq]) => ({ seq })).sort((a, b) => a.seq - b.seq);
const toMark = (turn) => { const mark = turn > 0 ? marks.find((mark) => mark.seq > at) : marks.findLast((mark) => mark.seq < at); if (mark) go(mark.seq); };
$("next").disabled = !marks.length;
const actions = {
  ArrowLeft: () => go(at - 1), ArrowRight: () => go(at + 1), Home: () => go(1), End: () => go(last), n: () => toMark(1), p: () => toMark(-1),
};
$("back").onclick = actions.ArrowLeft;
$("on").onclick = actions.ArrowRight;
$("next").onclick = actions.n;
$("play").onclick = toggle;
$("equal").onclick = () => bar.set({ equal: !bar.equal });
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches("select")) return;
  if (event.key === " " && !event.target.matches("button, a, summary")) { event.preventDefault(); return toggle(); }
  const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action) return;
  event.preventDefault();
  action();
});
const hashStep = () => Number(/step=(\d+)/.exec(location.hash)?.[1]);
addEventListener("hashchange", () => { if (hashStep() && hashStep() !== at) go(hashStep()); });

// The frame
for (const [name, text] of run.facts) $("facts").append(make("dt", "", name), make("dd", "", text));
const dark = matchMedia("(prefers-color-scheme: dark)");
const setDark = (isDark) => document.body.classList.toggle("body--dark", isDark);
dark.onchange = () => setDark(dark.matches);
setDark(dark.matches);
$("dark").onclick = () => setDark(!document.body.classList.contains("body--dark"));
open("Step");
show(hashStep() || last);
document.documentElement.dataset.ready = "yes";
