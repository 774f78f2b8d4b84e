// Light or dark mode. NiceGUI's own element sets it on every update, which makes the browser restyle the whole page.
export default {
  props: { value: Boolean },
  mounted() { setDark(this.value); },
  watch: { value(dark) { setDark(dark); } },
};
