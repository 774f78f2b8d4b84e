// One side of a text comparison, with the parts that the other side lacks marked. Always plain text, never HTML.
import { make } from "/hemicycle/conversation/element.js";

export default {
  render: () => Vue.h("div", { class: "pieces" }),
  props: { pieces: Array, side: String },
  mounted() { this.draw(); },
  watch: { pieces() { this.draw(); } },
  methods: {
    draw() {
      const own = `only-${this.side.toLowerCase()}`;
      this.$el.replaceChildren(...(this.pieces || []).map(([shared, text]) => (shared ? make("span", "", text) : make("mark", own, text))));
    },
  },
};
