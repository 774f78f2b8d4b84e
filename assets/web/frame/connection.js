// Gives `body` the class `offline` while the message about a lost connection is shown. A `:has()` rule would do the same,
// but browsers evaluate it again for each streamed paragraph.
(() => {
  const messages = [...document.querySelectorAll("body > .nicegui-error-popup")];
  const update = () => document.body.classList.toggle("offline", messages.some((message) => message.getAttribute("aria-hidden") === "false"));
  const observer = new MutationObserver(update);
  messages.forEach((message) => observer.observe(message, { attributeFilter: ["aria-hidden"] }));
})();
