// Numbered lines of a file or of a diff. Always plain text, never HTML.
export default {
  template: `<div class="code" tabindex="0" role="region" :aria-label="label"></div>`,
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
      const table = document.createElement("table");
      const body = table.appendChild(document.createElement("tbody"));
      for (const [kind, before, after, text] of rows) {
        const line = body.appendChild(document.createElement("tr"));
        line.className = { "+": "added", "-": "removed", "@": "gap", "\\": "note" }[kind] || "";
        for (const number of diff ? [before, after] : [after]) {
          const cell = line.appendChild(document.createElement("td"));
          cell.className = "number";
          cell.dataset.number = number || "";
        }
        const cell = line.appendChild(document.createElement("td"));
        cell.className = "line";
        if (diff && (kind === "+" || kind === "-")) cell.dataset.sign = kind;
        cell.textContent = kind === "@" ? `⋯ ${text}` : text;
      }
      this.$el.replaceChildren(table);
      this.$el.setAttribute("aria-label", label || "");
      this.$el.scrollTop = 0;
    },
  },
};
