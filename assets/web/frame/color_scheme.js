// Light or dark. NiceGUI's own element sets it with every update, and each time the browser restyles the whole page.
export default {
  props: { value: Boolean },
  mounted() { setDark(this.value); },
  watch: { value(dark) { setDark(dark); } },
};
