// A text field with a list that narrows while typing. Any text is allowed; commas separate several values.
export default {
  inheritAttrs: false,
  render() {
    const { h } = Vue, shown = this.open && this.matches.length;
    const input = h("input", Vue.mergeProps(this.$attrs, {
      class: "combo-input", role: "combobox", type: "text", autocomplete: "off", autocapitalize: "off", spellcheck: "false",
      "aria-autocomplete": "list", "aria-haspopup": "listbox", "aria-expanded": String(this.open),
      "aria-controls": shown ? this.listId : null, "aria-activedescendant": this.open && this.at >= 0 ? `${this.listId}-${this.at}` : null,
      "onUpdate:modelValue": (text) => { this.text = text; },
      onInput: this.onInput, onClick: () => this.show(false), onKeydown: this.onKey,
    }));
    const keepFocus = (event) => event.preventDefault();
    return h("div", { class: "combo", onFocusout: this.onFocusOut }, [
      Vue.withDirectives(input, [[Vue.vModelText, this.text]]),
      h("button", { type: "button", class: "combo-open", tabindex: -1, "aria-hidden": "true", onMousedown: keepFocus, onClick: this.toggle }),
      this.open && h("div", { class: "combo-list", ref: "list", onMousedown: keepFocus }, [
        shown
          ? h("div", { role: "listbox", id: this.listId, "aria-label": this.label }, this.matches.map((group) => this.renderGroup(group)))
          : h("div", { class: "combo-none" }, this.none),
        this.busy && h("div", { class: "combo-none" }, this.busy),
      ]),
    ]);
  },
  props: { value: String, groups: Array, busy: String, label: String, none: String, single: Boolean },
  data() { return { text: this.value || "", open: false, at: -1, filtering: false, emitting: true }; },
  watch: {
    value(next) {
      this.emitting = false;
      this.text = next || "";
      this.$nextTick(() => (this.emitting = true));
    },
    text(next) { if (this.emitting) this.$emit("update:value", next); },
  },
  computed: {
    listId() { return `${this.$attrs.id}-list`; },
    start() { return this.single ? 0 : this.text.lastIndexOf(",") + 1; }, // of the value being edited
    query() { return this.text.slice(this.start).trim().toLowerCase(); },
    matches() {
      let index = 0;
      const words = this.filtering ? this.query.split(/\s+/).filter(Boolean) : [];
      return (this.groups || []).map((group) => ({
        ...group,
        options: group.options.filter((value) => words.every((word) => value.toLowerCase().includes(word)))
          .slice(0, 200).map((value) => ({ value, index: index++ })),
      })).filter((group) => group.options.length || (!words.length && group.note));
    },
    options() { return this.matches.flatMap((group) => group.options); },
  },
  methods: {
    renderGroup(group) {
      const heading = [Vue.h("b", group.label), " ", Vue.h("span", group.note)];
      return Vue.h("div", { key: group.label, role: "group", "aria-label": group.label }, [
        group.label && Vue.h("div", { class: "combo-group", "aria-hidden": "true" }, heading),
        ...group.options.map(({ value, index }) => Vue.h("div", {
          key: value, role: "option", class: ["combo-option", { at: index === this.at }], id: `${this.listId}-${index}`,
          "aria-selected": String(index === this.at), onClick: () => this.pick(value),
        }, value)),
      ]);
    },
    show(narrow) {
      this.filtering = narrow;
      this.open = true;
      const here = this.options.findIndex((option) => option.value === this.text);
      const first = this.query && here < 0 && this.options.length ? 0 : -1; // Enter picks it
      this.highlight(!this.single ? -1 : narrow ? first : here);
      if (this.single && !narrow) this.$el.querySelector("input").select(); // typing replaces it
    },
    focus() { this.$el.querySelector("input").focus(); },
    hide() { this.open = false; this.at = -1; },
    toggle() { if (this.open) this.hide(); else { this.$el.querySelector("input").focus(); this.show(false); } },
    onInput() { this.show(true); },
    onFocusOut(event) { if (!this.$el.contains(event.relatedTarget)) this.hide(); },
    move(step) {
      const last = this.options.length - 1;
      if (last < 0) return;
      this.highlight(this.at + step > last ? 0 : this.at + step < 0 ? last : this.at + step);
    },
    highlight(at) {
      this.at = at;
      this.$nextTick(() => this.$refs.list?.querySelector(".at")?.scrollIntoView({ block: "nearest" }));
    },
    pick(value) {
      this.text = this.start ? `${this.text.slice(0, this.start)} ${value}` : value;
      this.hide();
    },
    onKey(event) {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        const opens = !this.open;
        if (opens) this.show(false);
        if (!opens || this.at < 0) this.move(event.key === "ArrowDown" ? 1 : -1);
      } else if (event.key === "Enter" && this.open && this.at >= 0 && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        this.pick(this.options[this.at].value);
      } else if (event.key === "Escape" && this.open) {
        event.stopPropagation();
        this.hide();
      }
    },
  },
};
