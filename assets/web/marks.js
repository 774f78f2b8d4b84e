// Marks over the slider: what is worth finding again. A mark is a button; its place follows the number of steps.
const GLYPHS = { error: "▲", revision: "↺", human: "●", verdict: "◆", restart: "⟳", budget: "◔" };

export default {
  template: `<div class="marks"></div>`,
  props: { marks: Array, head: Number },
  emits: ["pick"],
  mounted() { this.show(this.marks || [], this.head || 1); },
  methods: {
    show(marks, head) {
      this.$el.replaceChildren(...marks.map((mark) => {
        const button = document.createElement("button");
        button.type = "button";
        button.className = `mark ${mark.kind}`;
        button.title = `${mark.kind}: ${mark.text}`;
        button.setAttribute("aria-label", `Step ${mark.seq}: ${mark.kind}, ${mark.text}`);
        button.textContent = GLYPHS[mark.kind];
        button.dataset.seq = mark.seq;
        button.onclick = () => this.$emit("pick", mark.seq);
        return button;
      }));
      this.place(head);
    },
    place(head) {
      for (const button of this.$el.children) button.style.left = `${(100 * button.dataset.seq) / Math.max(head, 1)}%`;
    },
  },
};
