// Opens the context menu of a diagram: right click, long press, and the menu key or Enter while the diagram has the focus.
const LONG_PRESS = 550; // milliseconds of a long press
const SEARCH_OFFSETS = [0, -5, 5, -9, 9]; // pixels around the pointer that are searched

function findNear(box, x, y) { // edges are thin: a near miss counts
  for (const dy of SEARCH_OFFSETS) for (const dx of SEARCH_OFFSETS) {
    const element = document.elementFromPoint(x + dx, y + dy)?.closest(".state, .edge");
    if (element && box.contains(element)) return element;
  }
  return null;
}

// Calls report({ kind: "state", "edge" or "", name, x, y }); "" is the background.
export function attachContextMenu(box, report) {
  let timer = 0, suppressClick = false, reported = 0, from = null;
  const reportMenu = (target, x, y) => {
    reported = Date.now();
    const kind = !target ? "" : target.classList.contains("edge") ? "edge" : "state";
    report({ kind, name: target?.id.slice(2) || "", x, y });
  };
  const centerOf = (element) => { const at = element.getBoundingClientRect(); return [at.x + at.width / 2, at.y + Math.min(at.height / 2, 60)]; };
  box.addEventListener("contextmenu", (event) => {
    const target = event.target.closest(".state, .edge") || findNear(box, event.clientX, event.clientY);
    if (!target?.id && Date.now() - reported > LONG_PRESS) return; // background: leave the browser's own menu
    event.preventDefault();
    clearTimeout(timer);
    if (Date.now() - reported > LONG_PRESS) reportMenu(target, event.clientX, event.clientY);
  });
  box.addEventListener("keydown", (event) => {
    const isMenuKey = event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey);
    const onBackground = event.target === box;
    if (!isMenuKey && !(onBackground && event.key === "Enter")) return;
    event.preventDefault();
    event.stopPropagation();
    reportMenu(onBackground ? null : event.target.closest(".state, .edge"), ...centerOf(event.target));
  });
  box.addEventListener("pointerdown", (event) => {
    suppressClick = false;
    clearTimeout(timer);
    if (event.pointerType === "mouse") return;
    from = [event.clientX, event.clientY];
    timer = setTimeout(() => {
      const target = findNear(box, ...from);
      if (!target?.id || Date.now() - reported < LONG_PRESS) return;
      suppressClick = true;
      reportMenu(target, ...from);
    }, LONG_PRESS);
  });
  box.addEventListener("pointermove", (event) => {
    if (from && Math.hypot(event.clientX - from[0], event.clientY - from[1]) > 10) clearTimeout(timer);
  });
  for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, () => clearTimeout(timer));
  box.addEventListener("touchend", (event) => { // the emulated mouse events would close the menu
    if (suppressClick && event.cancelable) event.preventDefault();
  }, { passive: false });
  box.addEventListener("click", (event) => {
    if (!suppressClick) return;
    suppressClick = false;
    event.stopPropagation();
    event.preventDefault();
  }, true);
}
