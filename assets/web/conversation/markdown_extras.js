// Extras of rendered Markdown: formulas, syntax highlighting, copy buttons. The libraries are loaded on demand.
let katexModule = null, highlightModule = null;

const loadKatex = () => (katexModule ??= import(`${path_prefix}/hemicycle/vendor/katex.js`).then(() => globalThis.katex));
const loadHighlight = () => (highlightModule ??= import(`${path_prefix}/hemicycle/vendor/highlight.js`).then((loaded) => loaded.default));

async function renderFormulas(elements) {
  const katex = await loadKatex();
  for (const element of elements) // MathML needs no style sheet or fonts, and screen readers read it
    katex.render(element.textContent, element, { output: "mathml", throwOnError: false, trust: false, maxExpand: 200, displayMode: element.classList.contains("display") });
}

async function highlight(blocks) {
  const hljs = await loadHighlight();
  for (const block of blocks) {
    const language = block.className.match(/language-([\w+#-]+)/)?.[1];
    if (!hljs.getLanguage(language)) continue;
    const highlighted = hljs.highlight(block.textContent, { language, ignoreIllegals: true });
    block.setHTML(highlighted.value);
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
  const elements = root.querySelectorAll("code.math"), blocks = root.querySelectorAll('pre > code[class*="language-"]');
  if (elements.length) renderFormulas([...elements]);
  if (blocks.length) highlight([...blocks]);
}
