// A menu for what is drawn: right click, a long press, and the menu key or Enter while the drawing has the focus.
const HOLD = 550, NEAR = [0, -5, 5, -9, 9];

function drawn(box, x, y) { // lines are thin: what is near counts, too
  for (const dy of NEAR) for (const dx of NEAR) {
    const found = document.elementFromPoint(x + dx, y + dy)?.closest(".state, .edge");
    if (found && box.contains(found)) return found;
  }
  return null;
}

// Calls report({ kind: "state", "edge" or "", name, x, y }); "" is the drawing as a whole.
export function contextual(box, report) {
  let timer = 0, swallow = false, reported = 0, from = null;
  const say = (found, x, y) => {
    reported = Date.now();
    const kind = !found ? "" : found.classList.contains("edge") ? "edge" : "state";
    report({ kind, name: found?.id.slice(2) || "", x, y });
  };
  const middle = (element) => { const at = element.getBoundingClientRect(); return [at.x + at.width / 2, at.y + Math.min(at.height / 2, 60)]; };
  box.addEventListener("contextmenu", (event) => {
    const found = event.target.closest(".state, .edge") || drawn(box, event.clientX, event.clientY);
    if (!found?.id && Date.now() - reported > HOLD) return; // nothing is there: the browser's own menu
    event.preventDefault();
    clearTimeout(timer);
    if (Date.now() - reported > HOLD) say(found, event.clientX, event.clientY);
  });
  box.addEventListener("keydown", (event) => {
    const asked = event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey);
    const whole = event.target === box;
    if (!asked && !(whole && event.key === "Enter")) return;
    event.preventDefault();
    event.stopPropagation();
    say(whole ? null : event.target.closest(".state, .edge"), ...middle(event.target));
  });
  box.addEventListener("pointerdown", (event) => {
    swallow = false;
    clearTimeout(timer);
    if (event.pointerType === "mouse") return;
    from = [event.clientX, event.clientY];
    timer = setTimeout(() => {
      const found = drawn(box, ...from);
      if (!found?.id || Date.now() - reported < HOLD) return;
      swallow = true;
      say(found, ...from);
    }, HOLD);
  });
  box.addEventListener("pointermove", (event) => {
    if (from && Math.hypot(event.clientX - from[0], event.clientY - from[1]) > 10) clearTimeout(timer);
  });
  for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, () => clearTimeout(timer));
  box.addEventListener("touchend", (event) => { // the mouse's events would follow, and close the menu
    if (swallow && event.cancelable) event.preventDefault();
  }, { passive: false });
  box.addEventListener("click", (event) => {
    if (!swallow) return;
    swallow = false;
    event.stopPropagation();
    event.preventDefault();
  }, true);
}
