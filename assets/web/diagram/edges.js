// Makes the edges of a diagram interactive: hover, focus or press one to see why it was or was not taken.
const SVG = "http://www.w3.org/2000/svg";
const EDGES = `.edge[id^="e:"]`; // not the invisible ones that keep regions in rows
const OPEN_DELAY = 250, CLOSE_DELAY = 350; // milliseconds
const pathText = (path) => path.replace("[*]", "the beginning").replaceAll(".", " › ").replaceAll("_", " ");

// Gives each edge a role and a wide invisible hit area.
export function prepareEdges(root) {
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

// Only edges that the step evaluated are Tab stops; `.` and `,` reach the others.
export function updateTabStops(root) {
  const all = [...root.querySelectorAll(EDGES)];
  const evaluated = all.filter((edge) => edge.matches(".taken, .not-taken"));
  const set = (edge, name, value) => { if (edge.getAttribute(name) !== value) edge.setAttribute(name, value); };
  for (const edge of all) {
    set(edge, "tabindex", evaluated.includes(edge) || (!evaluated.length && edge === all[0]) ? "0" : "-1");
    const words = edge.textContent.trim().replace(/\s+/g, " ");
    const [from, to] = edge.id.slice(2).split(">"), how = edge.matches(".taken") ? ", taken at this step" : edge.matches(".not-taken") ? ", considered and not taken" : "";
    set(edge, "aria-label", `Edge from ${pathText(from)} to ${pathText(to)}${words && `: ${words}`}${how}`);
  }
}

export const edgeMethods = {
  onPointerOver(event) {
    const edge = this.pickable && event.pointerType !== "touch" && event.target.closest?.(EDGES);
    clearTimeout(this.openTimer);
    if (!edge) return this.scheduleLeave();
    clearTimeout(this.closeTimer);
    this.openTimer = setTimeout(() => this.emitEdge(edge, "hover"), OPEN_DELAY);
  },
  scheduleLeave() {
    clearTimeout(this.openTimer);
    clearTimeout(this.closeTimer);
    this.closeTimer = setTimeout(() => this.$emit("edge", ["", "leave"]), CLOSE_DELAY);
  },
  emitEdge(edge, how) { this.$emit("edge", [edge.id.slice(2), how]); },
  onFocusIn(event) { // by keyboard only: a click pins the popover anyway
    const edge = event.target.closest?.(EDGES);
    if (!edge?.matches(":focus-visible")) return;
    clearTimeout(this.closeTimer);
    this.bringIntoView(edge);
    this.emitEdge(edge, "focus");
  },
  onFocusOut({ target, relatedTarget }) { // unless the focus moves to another edge or the popover
    if (target.closest?.(EDGES) && !relatedTarget?.closest?.(`.why, ${EDGES}`)) this.scheduleLeave();
  },
  handleEdgeKey(event) { // returns whether the key was handled
    const edge = event.target.closest?.(EDGES), all = [...(this.root?.querySelectorAll(EDGES) || [])];
    if (edge && (event.key === "Enter" || event.key === " ")) this.emitEdge(edge, "press");
    else if (edge && event.key === "Escape") this.$emit("edge", ["", "close"]);
    else if ((event.key === "." || event.key === ",") && all.length) {
      const here = all.indexOf(edge), next = here < 0 ? 0 : (here + (event.key === "." ? 1 : -1) + all.length) % all.length;
      all[next].focus();
    } else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  },
  placePopover(id, name, into, tries = 40) { // next to its edge and inside the window, once it is drawn
    setTimeout(() => {
      const pop = document.getElementById(id), line = this.findEdge(name)?.querySelector("path");
      if (tries && !pop?.offsetWidth) return this.placePopover(id, name, into, tries - 1);
      if (!pop || !line) return;
      const at = line.getPointAtLength(line.getTotalLength() / 2).matrixTransform(line.getScreenCTM());
      const { width, height } = pop.getBoundingClientRect(), room = 8;
      pop.style.left = `${Math.max(room, Math.min(at.x + 14, innerWidth - width - room))}px`;
      pop.style.top = `${Math.max(room, Math.min(at.y - height / 3, innerHeight - height - room))}px`;
      pop.onpointerenter = () => clearTimeout(this.closeTimer);
      pop.onpointerleave = () => this.scheduleLeave();
      if (into) pop.querySelector("button")?.focus();
    }, 30);
  },
  focusEdge(name) { this.findEdge(name)?.focus({ focusVisible: false }); },
};
