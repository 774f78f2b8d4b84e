// What a chart's picture says, in words: a name for each state that is drawn, and a list of all states beside it.
const STATUS = [["waiting", "waiting for a person"], ["broken", "failed here"], ["halted", "cancelled here"], ["active", "active"], ["inside", "contains an active state"], ["seen", "visited"]];
const PAUSE = 250; // milliseconds: a slider that is dragged passes many steps in that time
const plain = (path) => path.replaceAll(".", " › ").replaceAll("_", " ");
const parts = (path) => { const cut = path.lastIndexOf("."); return [path.slice(0, cut < 0 ? 0 : cut), path.slice(cut + 1)]; };

export function name(state) { // after each change of its classes
  const [parent, own] = parts(state.id.slice(2)), status = STATUS.find(([word]) => state.classList.contains(word));
  state.setAttribute("aria-label", [plain(own), parent && `in ${plain(parent)}`, status?.[1]].filter(Boolean).join(", "));
}

export const outlining = {
  name, // of a state
  outline() { // the list, for who does not see the picture
    for (const state of this.root?.querySelectorAll(`.state[id^="s:"]`) || []) {
      state.setAttribute("role", "img");
      name(state);
    }
    if (!this.states?.length) return;
    const lists = { "": document.createElement("ul") };
    this.items = new Map();
    for (const path of this.states) {
      const [parent, own] = parts(path), item = document.createElement("li"), said = document.createElement("span");
      item.append(said);
      said.textContent = plain(own);
      this.items.set(path, said);
      lists[parent] ??= this.items.get(parent).parentElement.appendChild(document.createElement("ul")); // parents come first
      lists[parent].append(item);
    }
    lists[""].className = "visually-hidden";
    lists[""].setAttribute("aria-label", `States of the ${this.label || "diagram"}`);
    this.$refs.box.append(lists[""]);
    this.restate();
  },
  restate() {
    if (!this.items) return;
    clearTimeout(this.stating);
    this.stating = setTimeout(() => {
      const lit = this.now || this.lit || {}, said = new Map();
      for (const [word, text] of STATUS) for (const path of lit[word] || []) if (!said.has(path)) said.set(path, text);
      for (const [path, item] of this.items) {
        const text = [plain(parts(path)[1]), said.get(path)].filter(Boolean).join(", ");
        if (item.textContent !== text) item.textContent = text;
      }
    }, PAUSE);
  },
};
