// Browser notifications of questions that wait for a person: each question once, whichever page is open, and
// only if the person has turned them on in this browser.
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
      remember(current.map(([id]) => id)); // questions already shown are not new
    }
    say();
  };
})();
