// Browser notifications of questions that wait for a person: each question once, whichever page is open, and
// only if the person has turned them on in this browser.
(() => {
  const ENABLED_KEY = "hemicycle-notify", SEEN_KEY = "hemicycle-asks";
  let current = [];
  const readSeen = () => { try { return JSON.parse(localStorage.getItem(SEEN_KEY)) ?? []; } catch { return []; } };
  const markSeen = (ids) => localStorage.setItem(SEEN_KEY, JSON.stringify([...new Set([...readSeen(), ...ids])].slice(-500)));
  const isEnabled = () => localStorage.getItem(ENABLED_KEY) === "on" && window.Notification?.permission === "granted";
  const updateButton = () => {
    const button = document.querySelector(".notify-here");
    if (!button) return;
    button.setAttribute("aria-pressed", String(isEnabled()));
    button.hidden = !window.Notification;
  };
  window.hemicycleNotifyNew = (asks) => {
    current = asks;
    updateButton();
    if (!isEnabled()) return;
    const seen = readSeen();
    const unseen = asks.filter(([id]) => !seen.includes(id));
    markSeen(unseen.map(([id]) => id));
    for (const [id, text, title, path] of unseen) {
      const notification = new Notification(text, { body: title, tag: id });
      notification.onclick = () => { window.focus(); location.assign(path_prefix + path); };
    }
  };
  window.hemicycleToggleNotifications = async () => {
    if (isEnabled()) localStorage.removeItem(ENABLED_KEY);
    else if ((await Notification.requestPermission()) === "granted") {
      localStorage.setItem(ENABLED_KEY, "on");
      markSeen(current.map(([id]) => id)); // questions already shown are not new
    }
    updateButton();
  };
})();
