// Ctrl+Enter and Cmd+Enter send a form. A box that has the focus takes any Enter for itself, and is
// ticked or unticked: here the key goes past it, to whatever holds the box.
(() => {
  const boxes = ".q-checkbox, .q-toggle, .q-radio";
  let held = false; // the modifier may be let go of before Enter is
  const pass = (event) => {
    if (event.key !== "Enter" || !event.isTrusted) return;
    if (event.type === "keydown") held = event.ctrlKey || event.metaKey;
    const box = held && event.target.closest?.(boxes);
    if (!box) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (event.type === "keydown") {
      const { key, ctrlKey, metaKey, repeat } = event;
      box.parentElement.dispatchEvent(new KeyboardEvent("keydown", { key, ctrlKey, metaKey, repeat, bubbles: true, cancelable: true }));
    }
  };
  for (const type of ["keydown", "keyup"]) document.addEventListener(type, pass, true);
})();

// The question mark shows the keys of the page, wherever nothing is being typed.
document.addEventListener("keydown", (event) => {
  if (event.key !== "?" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, select, textarea, [contenteditable], dialog, [role=dialog]")) return;
  const keys = document.querySelector(".keys-dialog");
  if (!keys || keys.open) return;
  event.preventDefault();
  keys.showModal();
});

// A dialog that is taken off the page gives the focus back to what had it: Quasar does so only where one is hidden.
(() => {
  let last = null;
  document.addEventListener("focusin", ({ target }) => { if (!target.closest(".q-menu") && !document.querySelector(".q-dialog")) last = target; });
  const gone = ({ removedNodes }) => [...removedNodes].some((node) => node.id?.startsWith("q-portal--dialog"));
  const watch = () => new MutationObserver((changes) => {
    if (document.activeElement === document.body && changes.some(gone)) last?.focus({ preventScroll: true });
  }).observe(document.body, { childList: true });
  if (document.body) watch(); else document.addEventListener("DOMContentLoaded", watch);
})();

// A part that is drawn anew when something else changes (`data-redrawn`) gives the focus to what replaced its holder.
(() => {
  let held = null, called = "", place = null, nth = 0;
  const said = (one) => one.ariaLabel || one.getAttribute("href") || (one.lastElementChild ?? one).textContent; // without the icon
  const name = (one) => `${one.closest("[data-ask]")?.dataset.ask} ${said(one)}`; // never another question's button
  const alike = () => [...place.querySelectorAll(held.tagName)].filter((one) => name(one) === called);
  const watch = new MutationObserver(() => {
    if (document.activeElement !== document.body) return;
    const all = alike();
    (held.isConnected ? held : all[nth] ?? all.at(-1))?.focus({ preventScroll: true });
  });
  document.addEventListener("focusin", ({ target }) => {
    watch.disconnect();
    place = target.closest("[data-redrawn]");
    if (!place) return;
    [held, called] = [target, name(target)]; // while it is in its place
    nth = alike().indexOf(held);
    watch.observe(place, { childList: true, subtree: true });
  });
  document.addEventListener("pointerdown", () => watch.disconnect(), true); // who clicks elsewhere has left
})();

// A button that its own press takes away, as Pause and Allow are, gives the focus to what stands in its place, or to its section.
document.addEventListener("keydown", ({ key, target }) => {
  const button = (key === "Enter" || key === " ") && target.closest?.("button:not(.q-dialog *, dialog *, [role=menu] *)");
  if (!button) return;
  const around = [], shown = (one) => one.isConnected && one.checkVisibility({ visibilityProperty: true });
  for (let one = button.parentElement; one; one = one.parentElement) around.push(one);
  const look = (tries) => {
    if (document.activeElement !== document.body && document.activeElement !== button) return;
    if (shown(button)) return tries && setTimeout(look, 100, tries - 1);
    const box = around.find(shown), steps = around[0].matches(".debug-actions") && [...box.querySelectorAll(".debug-actions > button")].find(shown);
    const next = steps || box.closest("section, header, main"); // not the next question's button: a second press would answer it unread
    if (next && !steps) next.tabIndex = -1;
    next?.focus({ preventScroll: true });
  };
  setTimeout(look, 100, 50);
}, true);

// The browser's own notifications of what waits for a person: each question once, whichever page is open, and
// only where the person has asked for them in this browser.
(() => {
  const WANTED = "hemicycle-notify", SEEN = "hemicycle-asks";
  let current = [];
  const seen = () => { try { return JSON.parse(localStorage.getItem(SEEN)) ?? []; } catch { return []; } };
  const remember = (ids) => localStorage.setItem(SEEN, JSON.stringify([...new Set([...seen(), ...ids])].slice(-500)));
  const wanted = () => localStorage.getItem(WANTED) === "on" && window.Notification?.permission === "granted";
  const say = () => {
    const button = document.querySelector(".notify-here");
    if (!button) return;
    button.setAttribute("aria-pressed", String(wanted()));
    button.hidden = !window.Notification;
  };
  window.hemicycleAsks = (asks) => {
    current = asks;
    say();
    if (!wanted()) return;
    const known = seen();
    const fresh = asks.filter(([id]) => !known.includes(id));
    remember(fresh.map(([id]) => id));
    for (const [id, text, title, path] of fresh) {
      const shown = new Notification(text, { body: title, tag: id });
      shown.onclick = () => { window.focus(); location.assign(path); };
    }
  };
  window.hemicycleNotify = async () => {
    if (wanted()) localStorage.removeItem(WANTED);
    else if ((await Notification.requestPermission()) === "granted") {
      localStorage.setItem(WANTED, "on");
      remember(current.map(([id]) => id)); // what is shown already is no news
    }
    say();
  };
})();
