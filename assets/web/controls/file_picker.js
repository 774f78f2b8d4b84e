// Sends chosen or dropped files one after the other; NiceGUI's own element brings all of Quasar's uploader.
export default {
  render() { return Vue.h("input", { type: "file", hidden: true, multiple: this.multiple, onChange: this.choose }); },
  props: { url: String, multiple: Boolean, maxFileSize: Number },
  methods: {
    pickFiles() { this.$el.click(); },
    choose() {
      this.addFiles(this.$el.files);
      this.$el.value = ""; // or the same file cannot be chosen again
    },
    async addFiles(files) {
      const allowed = [...files].filter((file) => file.size <= this.maxFileSize);
      if (allowed.length < files.length) this.$emit("rejected");
      for (const file of allowed) {
        const body = new FormData();
        body.append("file", file, file.name);
        await fetch(window.path_prefix + this.url, { method: "POST", body }).catch(() => this.$emit("failed", file.name));
      }
    },
  },
};
