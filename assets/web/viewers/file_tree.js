// The files of a folder as a tree with collapsible folders. Names are untrusted text.
import { make } from "/hemicycle/conversation/element.js";

export default {
  render() { return Vue.h("div", { class: "filetree", role: "group", "aria-label": this.label }); },
  props: { files: Array, picked: String, label: String },
  emits: ["pick"],
  mounted() { this.closed = new Set(); this.show(this.files || [], this.picked); },
  methods: {
    show(files, picked) {
      const root = { folders: new Map(), files: [] };
      for (const file of files) {
        const parts = file.path.split("/");
        let at = root;
        for (const part of parts.slice(0, -1)) {
          if (!at.folders.has(part)) at.folders.set(part, { folders: new Map(), files: [] });
          at = at.folders.get(part);
        }
        at.files.push({ ...file, name: parts.at(-1) });
      }
      this.$el.replaceChildren(...this.entries(root, ""));
      this.pick(picked);
    },
    entries(folder, path) {
      const elements = [];
      for (const [name, inner] of [...folder.folders].sort()) {
        const here = `${path}${name}/`;
        const element = make("details");
        element.open = !this.closed.has(here);
        element.addEventListener("toggle", () => (element.open ? this.closed.delete(here) : this.closed.add(here)));
        element.append(make("summary", "", `${name}/`), ...this.entries(inner, here));
        elements.push(element);
      }
      for (const file of folder.files) {
        const button = make("button");
        button.type = "button";
        button.dataset.path = file.path;
        button.append(make("span", "file-name", file.name), make("span", "file-mark", file.mark || ""), make("span", "file-size", file.note));
        button.onclick = () => this.$emit("pick", file.path);
        elements.push(button);
      }
      return elements;
    },
    pick(path) {
      for (const button of this.$el.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.path === path));
    },
  },
};
