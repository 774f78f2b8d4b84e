// Creates an element. Texts are untrusted: always plain text, never HTML.
export function make(tag, classes, text) {
  const element = document.createElement(tag);
  if (classes) element.className = classes;
  if (text !== undefined) element.textContent = text;
  return element;
}
