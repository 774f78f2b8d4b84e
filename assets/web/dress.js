// What Markdown alone does not give: formulas, colours of code, and a button that copies it. Loaded where it is needed.
let math = null, colours = null;

const formulas = () => (math ??= import("./vendor/katex.js").then(() => globalThis.katex));
const grammars = () => (colours ??= import("./vendor/highlight.js").then((loaded) => loaded.default));

async function solve(places) {
  const katex = await formulas();
  for (const place of places) // as MathML: it needs no style sheet and no fonts, and is read aloud
    katex.render(place.textContent, place, { output: "mathml", throwOnError: false, trust: false, maxExpand: 200, displayMode: place.classList.contains("display") });
}

async function colour(blocks) {
  const hljs = await grammars();
  for (const block of blocks) {
    const language = block.className.match(/language-([\w+#-]+)/)?.[1];
    if (!hljs.getLanguage(language)) continue;
    const made = hljs.highlight(block.textContent, { language, ignoreIllegals: true });
    block.setHTML(made.value);
    block.classList.add("coloured");
  }
}

function copier(pre) {
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
    getSelection().selectAllChildren(button.parentElement.querySelector("code")); // to be copied by hand
    button.textContent = "Selected";
  }
  setTimeout(() => (button.textContent = "Copy"), 2000);
});

export function dress(root) {
  for (const pre of root.querySelectorAll("pre")) if (pre.querySelector(":scope > code")) copier(pre);
  const places = root.querySelectorAll("code.math"), blocks = root.querySelectorAll('pre > code[class*="language-"]');
  if (places.length) solve([...places]);
  if (blocks.length) colour([...blocks]);
}
