// While a message says that the connection is gone, `body` has the class `offline`. A style sheet could ask
// with `:has()` whether it does, but then a browser asks again for each paragraph that a model streams.
(() => {
  const messages = [...document.querySelectorAll("body > .nicegui-error-popup")];
  const tell = () => document.body.classList.toggle("offline", messages.some((one) => one.getAttribute("aria-hidden") === "false"));
  const watch = new MutationObserver(tell);
  messages.forEach((one) => watch.observe(one, { attributeFilter: ["aria-hidden"] }));
})();
