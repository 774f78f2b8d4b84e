// The focused element may disappear: when a button such as Pause or Allow is pressed, when the run progresses, or when its part
// of the page is redrawn (`data-redrawn`). The focus then moves to its replacement or its surroundings, never to `body`.
(() => {
  let last = null, beforeOverlay = null; // last focus; last focus before an overlay opened
  const isFocusLost = () => document.activeElement === document.body;
  const isShown = (element) => element.isConnected && !element.disabled && element.checkVisibility({ visibilityProperty: true });
  const label = (element) => element.ariaLabel || element.getAttribute("href") || (element.lastElementChild ?? element).textContent; // without the icon
  const name = (element) => `${element.closest("[data-ask]")?.dataset.ask} ${label(element)}`; // never the button of another question
  const namesakes = (focus) => [...focus.part.querySelectorAll(focus.element.tagName)].filter((other) => name(other) === focus.name);
  const findRedrawn = (focus) => {
    const all = focus.part ? namesakes(focus) : [];
    return all[focus.index] ?? all.at(-1);
  };
  const findSubstitute = (focus) => {
    if (isShown(focus.element)) return focus.element;
    const replacement = [findRedrawn(focus), focus.replaced].find((element) => element && isShown(element));
    if (replacement) return replacement;
    const parent = focus.parents.find(isShown);
    if (parent === document.body) return focus.inOverlay && beforeOverlay ? findSubstitute(beforeOverlay) : null;
    const pane = focus.element.matches(".debug-action") ? parent.closest(".agent") : null;
    const buttons = [...(parent.closest("[role=toolbar]")?.querySelectorAll("button") ?? pane?.querySelectorAll(".debug-action") ?? [])];
    const button = buttons.sort((a, b) => b.matches(".debug-action") - a.matches(".debug-action")).find(isShown);
    const section = parent.closest("section, header, main, [role=dialog]"); // not the next question's button: a second press would answer it unread
    if (!button && section) section.tabIndex = -1;
    return button ?? section;
  };
  const redrawObserver = new MutationObserver(() => { if (isFocusLost()) (last.element.isConnected ? last.element : findRedrawn(last))?.focus({ preventScroll: true }); });
  document.addEventListener("focusin", ({ target }) => {
    if (!target.closest(OVERLAY) && document.querySelector(".q-dialog")) return; // Tab has left a dialog, which takes it back
    redrawObserver.disconnect();
    const parents = [], inOverlay = Boolean(target.closest(OVERLAY)), part = target.closest("[data-redrawn]");
    for (let parent = target.parentElement; parent; parent = parent.parentElement) parents.push(parent);
    if (inOverlay && !last?.inOverlay) beforeOverlay = last;
    const replaced = last && !last.inOverlay && !isShown(last.element) ? last.element : null; // replaced by this one, but may come back
    last = { element: target, parents, inOverlay, replaced, part, name: part && name(target) };
    if (!part) return;
    last.index = namesakes(last).indexOf(target);
    redrawObserver.observe(part, { childList: true, subtree: true });
  });
  document.addEventListener("focusout", () => setTimeout(() => { // a click elsewhere, or into the address bar
    if (isFocusLost() && last && isShown(last.element)) { last.left = !last.inOverlay; redrawObserver.disconnect(); }
  }));
  let open = false; // a dialog that closes before it has taken the focus also returns it
  const restore = () => {
    const was = open;
    open = isFocusLost() && Boolean(document.querySelector(OVERLAY));
    if (last && isFocusLost() && (last.inOverlay || !open) && ((was && !open) || (!last.left && !isShown(last.element)))) findSubstitute(last)?.focus({ preventScroll: true });
  };
  let isScheduled = false; // a hidden or disabled element loses the focus at the next paint, without an event
  const scheduleRestore = () => {
    if (isScheduled) return;
    isScheduled = true;
    requestAnimationFrame(() => setTimeout(() => { isScheduled = false; restore(); }));
  };
  new MutationObserver(scheduleRestore).observe(document, { subtree: true, childList: true, attributes: true });
  for (const name of ["focusout", "resize", "transitionend"]) addEventListener(name, scheduleRestore);
})();
