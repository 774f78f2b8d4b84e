// The edges of a diagram as things to point at, to focus and to press: each says why it was or was not taken.
const SVG = "http://www.w3.org/2000/svg";
const EDGES = `.edge[id^="e:"]`; // not those that only hold regions in rows
const OPEN = 250, CLOSE = 350; // milliseconds until a pointer that rests, or has gone, is believed
const said = (path) => path.replace("[*]", "the beginning").replaceAll(".", " › ").replaceAll("_", " ");

// Gives each edge a wide line that cannot be seen, a name and a role.
export function edged(root) {
  root.querySelectorAll(EDGES).forEach((edge, at) => {
    const line = edge.querySelector("path");
    if (!line || edge.querySelector(".hit")) return;
    const hit = document.createElementNS(SVG, "path");
    hit.setAttribute("d", line.getAttribute("d"));
    hit.setAttribute("class", "hit");
    edge.append(hit);
    edge.setAttribute("role", "button");
    edge.setAttribute("aria-haspopup", "dialog");
    edge.setAttribute("tabindex", at ? "-1" : "0");
  });
}

// Of all edges, those that the step asked about are stops of the Tab key; the others are gone to from them.
export function stops(root) {
  const all = [...root.querySelectorAll(EDGES)];
  const asked = all.filter((edge) => edge.matches(".taken, .barred"));
  const set = (edge, name, value) => { if (edge.getAttribute(name) !== value) edge.setAttribute(name, value); };
  for (const edge of all) {
    set(edge, "tabindex", asked.includes(edge) || (!asked.length && edge === all[0]) ? "0" : "-1");
    const [from, to] = edge.id.slice(2).split(">"), how = edge.matches(".taken") ? ", taken at this step" : edge.matches(".barred") ? ", considered and not taken" : "";
    set(edge, "aria-label", `Edge from ${said(from)} to ${said(to)}${how}`);
  }
}

export const watching = {
  over(event) { // a pointer over an edge
    const edge = this.pickable && event.pointerType !== "touch" && event.target.closest?.(EDGES);
    clearTimeout(this.opening);
    if (!edge) return this.leave();
    clearTimeout(this.closing);
    this.opening = setTimeout(() => this.tell(edge, "hover"), OPEN);
  },
  leave() {
    clearTimeout(this.opening);
    clearTimeout(this.closing);
    this.closing = setTimeout(() => this.$emit("edge", ["", "leave"]), CLOSE);
  },
  tell(edge, how) { this.$emit("edge", [edge.id.slice(2), how]); },
  reach(event) { // an edge gets the focus: by the keyboard, since a press of the mouse pins it anyway
    const edge = event.target.closest?.(EDGES);
    if (!edge?.matches(":focus-visible")) return;
    clearTimeout(this.closing);
    this.bring(edge);
    this.tell(edge, "focus");
  },
  lose({ target, relatedTarget }) { // the focus leaves an edge, and does not go to another or to what is said of it
    if (target.closest?.(EDGES) && !relatedTarget?.closest?.(`.why, ${EDGES}`)) this.leave();
  },
  along(event) { // keys on an edge, or to get to one
    const edge = event.target.closest?.(EDGES), all = [...(this.root?.querySelectorAll(EDGES) || [])];
    if (edge && (event.key === "Enter" || event.key === " ")) this.tell(edge, "press");
    else if (edge && event.key === "Escape") this.$emit("edge", ["", "close"]);
    else if ((event.key === "." || event.key === ",") && all.length) {
      const here = all.indexOf(edge), next = here < 0 ? 0 : (here + (event.key === "." ? 1 : -1) + all.length) % all.length;
      all[next].focus();
    } else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  },
  hang(id, name, into, tries = 40) { // put the popover beside its edge, inside of the window, once it is drawn
    setTimeout(() => {
      const pop = document.getElementById(id), line = this.edge(name)?.querySelector("path");
      if (tries && !pop?.offsetWidth) return this.hang(id, name, into, tries - 1);
      if (!pop || !line) return;
      const at = line.getPointAtLength(line.getTotalLength() / 2).matrixTransform(line.getScreenCTM());
      const { width, height } = pop.getBoundingClientRect(), room = 8;
      pop.style.left = `${Math.max(room, Math.min(at.x + 14, innerWidth - width - room))}px`;
      pop.style.top = `${Math.max(room, Math.min(at.y - height / 3, innerHeight - height - room))}px`;
      pop.onpointerenter = () => clearTimeout(this.closing);
      pop.onpointerleave = () => this.leave();
      if (into) pop.querySelector("button")?.focus();
    }, 30);
  },
  refocus(name) { this.edge(name)?.focus({ focusVisible: false }); },
};
