// Reports whether somebody is reading the surrounding panel: the focus or a selection is in its text.
export default {
  template: `<span hidden></span>`,
  mounted() {
    this.was = false;
    this.look = () => requestAnimationFrame(() => {
      const around = this.$el.parentElement, picked = getSelection();
      const text = (node) => {
        const body = (node?.nodeType === 1 ? node : node?.parentElement)?.closest(".panel-body");
        return !!body && around?.contains(body);
      };
      const is = text(document.activeElement) || (!!picked && !picked.isCollapsed && text(picked.anchorNode));
      if (is !== this.was) this.$emit("change", (this.was = is));
    });
    for (const name of ["focusin", "focusout", "selectionchange"]) document.addEventListener(name, this.look);
  },
  unmounted() {
    for (const name of ["focusin", "focusout", "selectionchange"]) document.removeEventListener(name, this.look);
  },
};
