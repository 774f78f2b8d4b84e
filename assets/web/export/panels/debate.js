// The debate board: rounds as columns, reviewers as rows, from memory at a step. Texts are inserted as plain text.
const VERDICTS = { APPROVE: "Approve", REVISE_BEST: "Revise the best", REVISE_ALL: "Revise all", UNDECIDED: "Undecided" };
const speakerName = (name) => { const text = String(name ?? "").replaceAll("_", " ").replace(/(\D)(\d+)$/, "$1 $2"); return text.charAt(0).toUpperCase() + text.slice(1); };
const stanceText = (position) => `${VERDICTS[position.verdict] || position.verdict}${position.best ? `: ${position.best}` : ""}`;
const listOf = (value) => (Array.isArray(value) ? value : []);
function pointsOf(entry) {
  const texts = [...listOf(entry.position?.insists), ...listOf(entry.position?.changes)];
  return texts.map((text, i) => [`${entry.speaker}/${entry.debate}.${entry.round}/${i + 1}`, text]);
}
function drawBoard(transcript, consensuses) { // an element for each debate, in order
  const answers = new Map(), texts = new Map();
  for (const entry of transcript) {
    for (const [id, text] of pointsOf(entry)) texts.set(id, [entry.speaker, text]);
    for (const answer of listOf(entry.position?.answers)) answers.set(answer.to, [...(answers.get(answer.to) || []), [entry.speaker, answer]]);
  }
  const drawSection = (title, points, ids = []) => {
    if (!points.length) return [];
    const list = make("ul");
    points.forEach((point, i) => {
      const item = make("li", "", point);
      for (const [who, { stance: kind, why }] of answers.get(ids[i]) || []) item.append(make("div", `reply ${kind}`, `↳ ${kind === "accepts" ? "Accepted" : "Rebutted"} by ${speakerName(who)}${why ? `: ${why}` : ""}`));
      list.append(item);
    });
    return [make("b", "", title), list];
  };
  const drawTurn = (entry) => {
    const box = make("div", `turn ${entry.human ? "human" : ""}`), position = entry.position;
    if (entry.problem) { box.append(make("p", "muted", `No reply: ${entry.problem}`)); return box; }
    if (position) box.append(make("p", "stance", [stanceText(position), position.agrees ? "agrees" : "", entry.human ? "a person" : ""].filter(Boolean).join(" · ")));
    box.append(make("p", "", entry.text));
    if (!position) return box;
    const ids = pointsOf(entry).map(([id]) => id), insists = listOf(position.insists);
    const given = listOf(position.answers).map(({ to, stance: kind, why }) => {
      const [whose, text] = texts.get(to) || ["", to];
      return `${kind === "accepts" ? "Accepts" : "Rebuts"} ${whose ? `${speakerName(whose)}: “${text}”` : text}${why ? `: ${why}` : ""}`;
    });
    box.append(
      ...drawSection("Concedes", listOf(position.concedes)), ...drawSection("Insists", insists, ids), ...drawSection("Answers", given),
      ...drawSection("Requests", listOf(position.changes), ids.slice(insists.length)), ...drawSection("Evidence", listOf(position.rests_on)),
    );
    return box;
  };
  const numbers = [...new Set(transcript.map((entry) => Math.max(1, entry.debate || 0)))].sort((a, b) => a - b);
  return numbers.map((number) => {
    const inside = transcript.filter((entry) => Math.max(1, entry.debate || 0) === number), spoken = inside.filter((entry) => !entry.synthesized);
    const box = make("section", "debate"), table = make("table"), head = make("tr"), scroll = make("div", "debate-scroll");
    const final = inside.some((entry) => entry.phase === "final");
    box.append(make("h2", "step-title", final ? "Final review" : "Debate"));
    const rounds = [...new Set(spoken.map((entry) => entry.round || 0))].sort((a, b) => a - b);
    head.append(...["Reviewer", ...rounds.map((round) => (round ? `Round ${round}` : "First review"))].map((name) => Object.assign(make("th", "", name), { scope: "col" })));
    table.append(head);
    for (const name of [...new Set(spoken.map((entry) => entry.speaker))].sort()) {
      const row = make("tr");
      row.append(Object.assign(make("th", "", speakerName(name)), { scope: "row" }));
      for (const round of rounds) {
        const cell = make("td");
        cell.append(...spoken.filter((entry) => entry.speaker === name && (entry.round || 0) === round).map(drawTurn));
        row.append(cell);
      }
      table.append(row);
    }
    scroll.tabIndex = 0;
    scroll.append(table);
    box.append(labelled(scroll, "Rounds and reviewers"));
    const end = consensuses.find((one) => one.debate === number);
    if (end) {
      const by = listOf(end.by).map(speakerName).join(", ");
      box.append(make("p", "stance", `${end.synthesized ? "No consensus: synthesized" : "Consensus"} · ${stanceText(end)}${by ? ` · ${by}` : ""}`), make("p", "", end.text));
      box.append(...drawSection("Requests", listOf(end.changes)), ...drawSection("Evidence", listOf(end.rests_on)));
    }
    return box;
  });
}
offlinePanels.debate = {
  title: "Debate",
  draw(state, field) {
    const box = make("div", "step board"), turns = listOf(state?.[field]);
    if (!turns.length) box.append(make("p", "empty", "No reviews yet."));
    box.append(...drawBoard(turns, listOf(state?.consensuses)));
    return box;
  },
};
