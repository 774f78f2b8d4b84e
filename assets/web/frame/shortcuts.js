const OVERLAY = ".q-dialog, .q-menu, dialog[open]"; // opened over the page; also used by focus.js
const FIELD = "input, select, textarea, [contenteditable], dialog, [role=dialog]";

// An Enter that confirms what an input method offers reaches no handler. WebKit sends it after the composition, with key code 229.
window.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.isComposing || event.keyCode === 229)) event.stopImmediatePropagation(); }, true);

// Ctrl+Enter and Cmd+Enter submit a form. A focused checkbox would consume any Enter, so its parent gets the key instead.
(() => {
  const boxes = ".q-checkbox";
  let withModifier = false; // it may be released before Enter
  const forwardEnter = (event) => {
    if (event.key !== "Enter" || !event.isTrusted) return;
    if (event.type === "keydown") withModifier = event.ctrlKey || event.metaKey;
    const box = withModifier && event.target.closest?.(boxes);
    if (!box) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (event.type === "keydown") {
      const { key, ctrlKey, metaKey, repeat } = event;
      box.parentElement.dispatchEvent(new KeyboardEvent("keydown", { key, ctrlKey, metaKey, repeat, bubbles: true, cancelable: true }));
    }
  };
  for (const type of ["keydown", "keyup"]) document.addEventListener(type, forwardEnter, true);
})();

// The question mark shows the keys of the page, except while typing.
document.addEventListener("keydown", (event) => {
  if (event.key !== "?" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.(FIELD)) return;
  const keys = document.querySelector(".keys-dialog");
  if (!keys || keys.open) return;
  event.preventDefault();
  keys.showModal();
});

// On the page of a run, Home, End and the space bar have a single effect: they press or scroll the focused element if possible,
// and otherwise control the player.
(() => {
  const PRESSABLE = "a, button, summary, [role=button], [role=tab]";
  const isScrollable = (element) => element !== document.body && element !== document.documentElement &&
    ((element.scrollHeight > element.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(element).overflowY)) || isScrollable(element.parentElement));
  document.addEventListener("keydown", (event) => {
    const { key, target } = event, ignored = event.ctrlKey || event.metaKey || event.altKey || target.closest(FIELD);
    if (!["Home", "End", " "].includes(key) || ignored || !document.querySelector(".run-grid")) return;
    const presses = key === " " && target.closest(PRESSABLE), moves = !target.closest("[role=slider]") && isScrollable(target);
    if (event.defaultPrevented || presses || moves) event.stopImmediatePropagation();
    else event.preventDefault();
  });
})();

// A field that gets the focus as a dialog opens is selected, as if reached by Tab.
document.addEventListener("focusin", ({ target }) => { if (target.matches("input:is([autofocus], [data-autofocus])")) target.select(); });

// Enter in a single-line field of a dialog or a question submits it. An overlay keeps its keys: Home in a menu does not move the
// run. Escape passes, because Quasar listens for it on the window.
document.addEventListener("keydown", (event) => {
  const field = event.target.closest?.(".q-dialog input:not([type=checkbox]), [aria-label=Question] input:not([type=checkbox])");
  const buttons = field?.closest(".q-dialog, [aria-label=Question]").querySelectorAll(":is(.dialog-actions, .approval-answers) > :is(.primary, .deny)");
  if (event.key === "Enter" && !event.defaultPrevented && !event.repeat) [...(buttons ?? [])].at(-1)?.click();
  if (event.key !== "Escape" && document.querySelector(OVERLAY)) event.stopImmediatePropagation();
});
