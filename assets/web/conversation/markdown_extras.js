// Extras of rendered Markdown: formulas, syntax highlighting, copy buttons. The libraries are loaded on demand.
let katexModule = null, highlightModule = null;

const loadKatex = () => (katexModule ??= import("/hemicycle/vendor/katex.js").then(() => globalThis.katex));
const loadHighlight = () => (highlightModule ??= import("/hemicycle/vendor/highlight.js").then((loaded) => loaded.default));

async function renderFormulas(places) {
  const katex = await loadKatex();
  for (const place of places) // MathML needs no style sheet or fonts, and screen readers read it
    katex.render(place.textContent, place, { output: "mathml", throwOnError: false, trust: false, maxExpand: 200, displayMode: place.classList.contains("display") });
}

async function highlight(blocks) {
  const hljs = await loadHighlight();
  for (const block of blocks) {
    const language = block.className.match(/language-([\w+#-]+)/)?.[1];
    if (!hljs.getLanguage(language)) continue;
    const made = hljs.highlight(block.textContent, { language, ignoreIllegals: true });
    block.setHTML(made.value);
    block.classList.add("coloured");
  }
}

function addCopyButton(pre) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  pre.append(button);
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("button.copy");
  if (!button) return;
  const text = button.parentElement.querySelector("code")?.textContent ?? "";
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(button.parentElement.querySelector("code")); // for copying by hand
    button.textContent = "Selected";
  }
  setTimeout(() => (button.textContent = "Copy"), 2000);
});

export function addExtras(root) {
  for (const pre of root.querySelectorAll("pre")) if (pre.querySelector(":scope > code")) addCopyButton(pre);
  const places = root.querySelectorAll("code.math"), blocks = root.querySelectorAll('pre > code[class*="language-"]');
  if (places.length) renderFormulas([...places]);
  if (blocks.length) highlight([...blocks]);
}
