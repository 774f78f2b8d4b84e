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

// A field that a dialog or a button opens with is typed over, as one that is reached by Tab.
document.addEventListener("focusin", ({ target }) => { if (target.matches("input:is([autofocus], [data-autofocus])")) target.select(); });

// What has the focus may go away: by its own press, as Pause and Allow do, with a run that goes on, or as its part is drawn
// anew (`data-redrawn`). The focus then goes to what came in its place, or to what is around it; never to `body`.
(() => {
  const OVER = ".q-dialog, .q-menu, dialog[open]";
  // Enter in a line of a dialog or of a question sends it. What is open over the page keeps its keys: Home in a menu does not
  // move the run. Quasar hears Escape on the window.
  document.addEventListener("keydown", (event) => {
    const line = event.target.closest?.(".q-dialog input:not([type=checkbox]), [aria-label=Question] input:not([type=checkbox])");
    const sends = line?.closest(".q-dialog, [aria-label=Question]").querySelectorAll(":is(.dialog-actions, .approval-answers) > :is(.primary, .danger)");
    if (event.key === "Enter" && !event.defaultPrevented && !event.isComposing && !event.repeat) [...(sends ?? [])].at(-1)?.click();
    if (event.key !== "Escape" && document.querySelector(OVER)) event.stopImmediatePropagation();
  });
  let held = null, below = null; // what has the focus, and what had it before something was opened over the page
  const lost = () => document.activeElement === document.body;
  const shown = (one) => one.isConnected && !one.disabled && one.checkVisibility({ visibilityProperty: true });
  const said = (one) => one.ariaLabel || one.getAttribute("href") || (one.lastElementChild ?? one).textContent; // without the icon
  const name = (one) => `${one.closest("[data-ask]")?.dataset.ask} ${said(one)}`; // never another question's button
  const alike = ({ one, part, called }) => [...part.querySelectorAll(one.tagName)].filter((other) => name(other) === called);
  const again = (was) => {
    const all = was.part ? alike(was) : [];
    return all[was.nth] ?? all.at(-1);
  };
  const instead = (was) => {
    if (shown(was.one)) return was.one;
    const found = [again(was), was.before].find((one) => one && shown(one));
    if (found) return found;
    const box = was.around.find(shown);
    if (box === document.body) return was.over && below ? instead(below) : null;
    const buttons = box.closest("[role=toolbar]")?.querySelectorAll(".debug-actions > button, button") ?? [];
    const button = [...buttons].sort((a, b) => b.matches(".debug-action") - a.matches(".debug-action")).find(shown);
    const around = box.closest("section, header, main, [role=dialog]"); // not the next question's button: a second press would answer it unread
    if (!button && around) around.tabIndex = -1;
    return button ?? around;
  };
  const watch = new MutationObserver(() => { if (lost()) (held.one.isConnected ? held.one : again(held))?.focus({ preventScroll: true }); });
  document.addEventListener("focusin", ({ target }) => {
    if (!target.closest(OVER) && document.querySelector(".q-dialog")) return; // Tab has left a dialog, which takes it back
    watch.disconnect();
    const around = [], over = Boolean(target.closest(OVER)), part = target.closest("[data-redrawn]");
    for (let one = target.parentElement; one; one = one.parentElement) around.push(one);
    if (over && !held?.over) below = held;
    const before = held && !held.over && !shown(held.one) ? held.one : null; // it made way for this one, and may come back
    held = { one: target, around, over, before, part, called: part && name(target) };
    if (!part) return;
    held.nth = alike(held).indexOf(target);
    watch.observe(part, { childList: true, subtree: true });
  });
  document.addEventListener("focusout", () => setTimeout(() => { // who clicks elsewhere, or goes to the address bar, has left
    if (lost() && held && shown(held.one)) { held.left = !held.over; watch.disconnect(); }
  }));
  let open = false; // a dialog that is closed before it has taken the focus gives it back, too
  setInterval(() => {
    const was = open;
    open = Boolean(document.querySelector(OVER));
    if (held && lost() && (held.over || !open) && ((was && !open) || (!held.left && !shown(held.one)))) instead(held)?.focus({ preventScroll: true });
  }, 100);
})();

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
