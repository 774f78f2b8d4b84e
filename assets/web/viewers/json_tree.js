// A JSON document as a tree. Open branches stay open; changes of the last step are marked.
const shortNumber = (value) => // six significant digits are enough for reading
  typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(6))) : String(value);

export default {
  render: () => Vue.h("div", { class: "tree" }),
  props: { value: Object, changed: Array, words: Object, follows: Boolean },
  emits: ["follow"],
  mounted() { this.open = new Set([""]); this.show(this.value, this.changed, this.words); },
  methods: {
    show(value, changed, words) {
      this.displayTexts = new Map(Object.entries(words || {}));
      this.marks = new Set(changed || []);
      for (const path of this.marks) // changes are visible without a click
        for (let at = path; at; at = at.slice(0, at.lastIndexOf("/"))) this.open.add(at);
      this.$el.replaceChildren(...Object.entries(value || {}).map(([key, item]) => this.node(key, item, `/${key}`)));
    },
    node(key, value, path) {
      const branch = value !== null && typeof value === "object";
      const element = document.createElement(branch ? "details" : "div");
      if (this.marks.has(path)) element.classList.add("changed");
      const name = document.createElement("span");
      name.className = "key";
      name.textContent = key;
      if (!branch) {
        element.classList.add("leaf");
        const text = document.createElement("span");
        text.className = typeof value === "string" ? "str" : "lit";
        text.textContent = typeof value === "string" ? (value === "" ? "“”" : this.displayTexts.get(value) ?? value) : shortNumber(value);
        if (text.textContent !== String(value) && value !== "") text.title = String(value);
        element.append(name, ": ", text, ...this.followButton(key, path));
        return element;
      }
      const entries = Array.isArray(value) ? value.map((item, index) => [String(index), item]) : Object.entries(value);
      const summary = document.createElement("summary");
      const count = document.createElement("span");
      count.className = "count";
      count.textContent = Array.isArray(value) ? ` [${entries.length}]` : ` {${entries.length}}`;
      summary.append(name, count);
      element.append(summary);
      const fill = () => {
        if (element.childElementCount === 1) element.append(...entries.map(([k, item]) => this.node(k, item, `${path}/${k.replaceAll("~", "~0").replaceAll("/", "~1")}`)));
      };
      element.addEventListener("toggle", () => { if (element.open) { this.open.add(path); fill(); } else this.open.delete(path); });
      if (this.open.has(path)) { element.open = true; fill(); }
      if (!this.follows) return element;
      const node = document.createElement("div"); // a summary must not contain a button
      node.className = "tree-node";
      node.append(element, ...this.followButton(key, path));
      return node;
    },
    followButton(key, path) { // to the next step that writes there
      if (!this.follows) return [];
      const button = document.createElement("button");
      button.type = "button";
      button.className = "tree-follow";
      button.title = `Next change of ${key}`;
      button.setAttribute("aria-label", button.title);
      button.textContent = "⇥";
      button.onclick = (event) => { event.preventDefault(); this.$emit("follow", path); };
      return [button];
    },
  },
};
