// One side of a text comparison, with the parts that the other side lacks marked. Always plain text, never HTML.
export default {
  template: `<div class="pieces"></div>`,
  props: { pieces: Array, side: String },
  mounted() { this.draw(); },
  watch: { pieces() { this.draw(); } },
  methods: {
    draw() {
      this.$el.replaceChildren(...(this.pieces || []).map(([shared, text]) => {
        const part = document.createElement(shared ? "span" : "mark");
        part.textContent = text;
        if (!shared) part.className = `only-${this.side.toLowerCase()}`;
        return part;
      }));
    },
  },
};
