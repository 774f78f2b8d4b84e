// A text in pieces, those that the other text does not have marked. Plain text always, never as a page.
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
