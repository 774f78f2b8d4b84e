// Reports whether somebody is reading the surrounding panel: the focus or a selection is in its text.
export default {
  render: () => Vue.h("span", { hidden: true }),
  mounted() {
    this.engaged = false;
    this.update = () => requestAnimationFrame(() => {
      const around = this.$el.parentElement, picked = getSelection();
      const isText = (node) => {
        const body = (node?.nodeType === 1 ? node : node?.parentElement)?.closest(".panel-body");
        return !!body && around?.contains(body);
      };
      const engaged = isText(document.activeElement) || (!!picked && !picked.isCollapsed && isText(picked.anchorNode));
      if (engaged !== this.engaged) this.$emit("change", (this.engaged = engaged));
    });
    for (const name of ["focusin", "focusout", "selectionchange"]) document.addEventListener(name, this.update);
  },
  unmounted() {
    for (const name of ["focusin", "focusout", "selectionchange"]) document.removeEventListener(name, this.update);
  },
};
