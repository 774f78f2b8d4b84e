// Ctrl+K and Cmd+K open the palette. Python finds the entries; the keys that choose one are handled here.
(() => {
  const MAX_ACTIONS = 40, OUTSIDE = "dialog, .q-dialog, .q-menu, li, tr, .run-list";
  const parts = () => {
    const palette = document.getElementById("palette");
    return palette && { palette, field: palette.querySelector("input"), list: palette.querySelector("[role=listbox]") };
  };
  let buttons = new Map(), accepted = false;

  const nameOf = (button) => {
    const words = button.cloneNode(true);
    words.querySelectorAll(".q-icon, .q-focus-helper").forEach((icon) => icon.remove());
    return (button.getAttribute("aria-label") ?? words.textContent).replace(/\s+/g, " ").trim();
  };
  // The buttons of the page itself: not those of each row of a list, nor answers to questions that nobody has read here.
  const actionsOfPage = () => {
    const named = new Map(), twice = new Set();
    for (const button of document.querySelectorAll("main button, main [role=button]")) {
      const name = nameOf(button), off = button.matches("[disabled], [aria-disabled=true]") || button.closest(OUTSIDE);
      if (!name || off || !button.checkVisibility({ visibilityProperty: true })) continue;
      if (named.has(name)) twice.add(name);
      named.set(name, button);
    }
    twice.forEach((name) => named.delete(name)); // of which one, nobody could say
    return new Map([...named].slice(0, MAX_ACTIONS));
  };
  const ask = (field) => field.dispatchEvent(new CustomEvent("ask", { detail: { query: field.value, actions: [...buttons.keys()] } }));
  const select = ({ field, list }, entry) => {
    for (const other of list.children) other.setAttribute("aria-selected", other === entry);
    if (entry) field.setAttribute("aria-activedescendant", entry.id);
    else field.removeAttribute("aria-activedescendant");
    entry?.scrollIntoView({ block: "nearest" });
  };
  const selected = (list) => list.querySelector("[aria-selected=true]");

  window.hemicycleOpenPalette = () => {
    const here = parts();
    if (!here || here.palette.open || document.querySelector(".q-dialog, dialog[open]")) return;
    buttons = actionsOfPage();
    accepted = false;
    here.field.value = "";
    here.palette.showModal();
    ask(here.field);
    if (here.palette.watched) return;
    here.palette.watched = true;
    here.field.addEventListener("input", () => { accepted = false; ask(here.field); });
    new MutationObserver(() => {
      if (!here.list.contains(selected(here.list))) select(here, here.list.firstElementChild);
      if (accepted && here.list.dataset.query === here.field.value) { accepted = false; selected(here.list)?.click(); }
    }).observe(here.list, { childList: true, attributes: true, attributeFilter: ["data-query"] });
    here.palette.addEventListener("click", (event) => {
      const entry = event.target.closest("[role=option]");
      if (!entry && event.target !== here.palette) return; // beside the palette is its backdrop
      here.palette.close();
      const button = buttons.get(entry?.dataset.action);
      if (button?.isConnected) { button.focus(); button.click(); }
    });
  };

  document.addEventListener("keydown", (event) => {
    const here = parts();
    if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
      event.preventDefault();
      event.stopImmediatePropagation();
      if (here?.palette.open) here.palette.close();
      else window.hemicycleOpenPalette();
    } else if (here?.palette.open && ["ArrowDown", "ArrowUp", "Enter"].includes(event.key)) {
      event.preventDefault();
      event.stopImmediatePropagation();
      const entries = [...here.list.children], at = entries.indexOf(selected(here.list)), step = event.key === "ArrowDown" ? 1 : -1;
      if (event.key !== "Enter") select(here, entries[(at + step + entries.length) % entries.length]);
      else if (here.list.dataset.query === here.field.value) selected(here.list)?.click();
      else accepted = true; // chosen once the entries for these words are there
    }
  }, true);
})();
