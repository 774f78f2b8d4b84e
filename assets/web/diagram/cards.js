// The card of an agent: its name, its state, tokens and time, and a line of what it does. Its size never changes.
import { DURATION } from "/hemicycle/diagram/viewport.js";
import { boxOf } from "/hemicycle/diagram/overlays.js";

const SVG = "http://www.w3.org/2000/svg";
const INSET = 11, LINES = [17, 32, 46]; // units from the card's left edge, and of baselines from its top
const MIN_HEIGHT = 50; // units of a state that has room for three lines
const GAP = 10; // units between the state and what is to its right
const pen = document.createElement("canvas").getContext("2d");

// The text, shortened at its end to fit a width; measured without a layout.
function shorten(text, width, font) {
  pen.font = font;
  if (pen.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return `${text.slice(0, low).trimEnd()}…`;
}

const setText = (element, text) => { if (element.textContent !== text) element.textContent = text; };

export const cardMethods = {
  buildCards() { // of the agents that are drawn as one state; all can be opened and closed
    this.cards = new Map();
    const family = getComputedStyle(this.$refs.box).getPropertyValue("--sans") || "sans-serif";
    this.cardFonts = ["600", "400"].map((weight) => `${weight} 12px ${family}`);
    for (const agent of this.root.querySelectorAll(".state.agent-card")) {
      const isOpen = agent.matches(".cluster"), [left, top, right, bottom] = boxOf(agent) || [0, 0, 0, 0];
      if (this.foldable) {
        agent.setAttribute("role", "button");
        agent.setAttribute("tabindex", "0");
        agent.setAttribute("aria-expanded", String(isOpen));
      }
      const name = agent.querySelector("text");
      if (isOpen || bottom - top < MIN_HEIGHT || !name) continue;
      agent.classList.add("card");
      const make = (kind, line, x, anchor) => {
        const text = kind === "name" ? name : agent.appendChild(document.createElementNS(SVG, "text"));
        text.setAttribute("class", `card-${kind}`);
        for (const [key, value] of Object.entries({ x, y: top + LINES[line], "text-anchor": anchor, "font-size": "12" })) text.setAttribute(key, value);
        return text;
      };
      const width = right - left - 2 * INSET;
      this.cards.set(agent.id.slice(2), {
        width,
        state: make("state", 1, left + INSET, "start"),
        spent: make("spent", 1, right - INSET, "end"),
        live: make("live", 2, left + INSET, "start"),
      });
      setText(make("name", 0, left + INSET, "start"), shorten(name.textContent, width, this.cardFonts[0]));
    }
    this.fillCards();
  },
  showCards(texts) { // only those that differ are sent
    this.cardTexts = { ...(this.cardTexts || this.texts), ...texts };
    this.fillCards();
  },
  fillCards() {
    const texts = this.cardTexts || this.texts || {}, [, regular] = this.cardFonts || [];
    for (const [path, card] of this.cards || []) {
      const { state = "", spent = "", live = "" } = texts[path] || {};
      pen.font = regular;
      setText(card.spent, spent);
      setText(card.state, shorten(state, card.width - (spent ? pen.measureText(spent).width + GAP : 0), regular));
      setText(card.live, shorten(live, card.width, regular));
    }
  },
  sendDot(edge) { // along an edge that was just taken
    const line = edge?.querySelector("path");
    if (!line || this.sliding || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const dot = document.createElementNS(SVG, "circle"), motion = document.createElementNS(SVG, "animateMotion");
    for (const [key, value] of Object.entries({ class: "traveller", r: 4 })) dot.setAttribute(key, value);
    for (const [key, value] of Object.entries({ path: line.getAttribute("d"), dur: `${DURATION}ms`, begin: "indefinite", fill: "freeze" })) motion.setAttribute(key, value);
    dot.append(motion);
    edge.append(dot);
    motion.beginElement();
    setTimeout(() => dot.remove(), DURATION);
  },
};
