// Creates an element. Texts are untrusted: always plain text, never HTML.
export function make(tag, classes, text) {
  const element = document.createElement(tag);
  if (classes) element.className = classes;
  if (text !== undefined) element.textContent = text;
  return element;
}

// The start of a text, which ends between two characters as people see them, not inside an emoji.
export function cut(text, most) {
  return text.length > most ? text.slice(0, new Intl.Segmenter().segment(text.slice(0, most + 64)).containing(most).index || most) : text;
}
