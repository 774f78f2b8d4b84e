// Light or dark. NiceGUI's own element sets it with each rendering of the page, and the browser styles all of it anew.
export default {
  props: { value: Boolean },
  mounted() { setDark(this.value); },
  watch: { value(dark) { setDark(dark); } },
};
