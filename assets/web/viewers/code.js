// Numbered lines of a file or of a diff. Always plain text, never HTML.
import { make } from "/hemicycle/conversation/element.js";

export default {
  render() { return Vue.h("div", { class: "code", tabindex: 0, role: "region", "aria-label": this.label }); },
  props: { rows: Array, label: String },
  mounted() {
    this.show(this.rows || [], this.label);
    this.$el.addEventListener("click", (event) => { // on a line number
      const number = Number(event.target.closest("td.number")?.dataset.number);
      if (number) this.$emit("line", number);
    });
  },
  methods: {
    show(rows, label) { // a row: kind, number before, number after, text; a file has one number
      const diff = rows.some((row) => row[0] !== "");
      const table = make("table"), body = table.appendChild(make("tbody"));
      for (const [kind, before, after, text] of rows) {
        const line = body.appendChild(make("tr", { "+": "added", "-": "removed", "@": "gap", "\\": "note" }[kind]));
        for (const number of diff ? [before, after] : [after]) line.appendChild(make("td", "number")).dataset.number = number || "";
        const cell = line.appendChild(make("td", "line", kind === "@" ? `⋯ ${text}` : text));
        if (diff && (kind === "+" || kind === "-")) cell.dataset.sign = kind;
      }
      this.$el.replaceChildren(table);
      this.$el.setAttribute("aria-label", label || "");
      this.$el.scrollTop = 0;
    },
    reveal(before, after) { // the rows with these numbers; 0 is none
      for (const row of this.$el.querySelectorAll(".revealed")) row.classList.remove("revealed");
      const rows = [...this.$el.querySelectorAll("tr")].filter((row) => {
        const numbers = [...row.querySelectorAll(".number")].map((cell) => Number(cell.dataset.number));
        return (before && numbers.length > 1 && numbers[0] === before) || (after && numbers.at(-1) === after);
      });
      for (const row of rows) row.classList.add("revealed");
      const row = rows.at(-1); // only this list scrolls, not the page
      if (row) this.$el.scrollTo({ top: row.offsetTop - (this.$el.clientHeight - row.offsetHeight) / 2, left: 0 });
    },
  },
};
