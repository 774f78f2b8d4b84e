// A diagram for screen readers: a label for each drawn state, and a list of all states.
const STATUS = [["waiting", "waiting for a person"], ["broken", "failed here"], ["halted", "cancelled here"], ["active", "active"], ["inside", "contains an active state"], ["visited", "visited"]];
const DEBOUNCE = 250; // milliseconds: a dragged slider passes many steps in that time
const pathText = (path) => path.replaceAll(".", " › ").replaceAll("_", " ");
const splitPath = (path) => { const cut = path.lastIndexOf("."); return [path.slice(0, cut < 0 ? 0 : cut), path.slice(cut + 1)]; };

function labelState(state) { // after each change of its classes
  const [parent, own] = splitPath(state.id.slice(2)), status = STATUS.find(([word]) => state.classList.contains(word));
  state.setAttribute("aria-label", [pathText(own), parent && `in ${pathText(parent)}`, status?.[1]].filter(Boolean).join(", "));
}

export const stateListMethods = {
  labelState,
  buildStateList() {
    for (const state of this.root?.querySelectorAll(`.state[id^="s:"]`) || []) {
      if (!state.hasAttribute("role")) state.setAttribute("role", "img");
      labelState(state);
    }
    if (!this.states?.length) return;
    const lists = { "": document.createElement("ul") };
    this.stateItems = new Map();
    for (const path of this.states) {
      const [parent, own] = splitPath(path), item = document.createElement("li"), label = document.createElement("span");
      item.append(label);
      label.textContent = pathText(own);
      this.stateItems.set(path, label);
      lists[parent] ??= this.stateItems.get(parent).parentElement.appendChild(document.createElement("ul")); // parents come first
      lists[parent].append(item);
    }
    lists[""].className = "visually-hidden";
    lists[""].setAttribute("aria-label", `States of ${this.title || "the diagram"}`);
    this.$refs.box.append(lists[""]);
    this.updateStateList();
  },
  updateStateList() {
    if (!this.stateItems) return;
    clearTimeout(this.listTimer);
    this.listTimer = setTimeout(() => {
      const highlights = this.current || this.highlights || {}, texts = new Map();
      for (const [word, text] of STATUS) for (const path of highlights[word] || []) if (!texts.has(path)) texts.set(path, text);
      for (const [path, item] of this.stateItems) {
        const text = [pathText(splitPath(path)[1]), texts.get(path)].filter(Boolean).join(", ");
        if (item.textContent !== text) item.textContent = text;
      }
    }, DEBOUNCE);
  },
};
