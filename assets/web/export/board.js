// The debate board: rounds as columns, reviewers as rows, from memory at a step. Texts are inserted as plain text.
const VERDICTS = { APPROVE: "Approve", REVISE_BEST: "Revise the best", REVISE_ALL: "Revise all", UNDECIDED: "Undecided" };
const speaker = (name) => { const text = String(name ?? "").replaceAll("_", " ").replace(/(\D)(\d+)$/, "$1 $2"); return text.charAt(0).toUpperCase() + text.slice(1); };
const stance = (position) => `${VERDICTS[position.verdict] || position.verdict}${position.best ? `: ${position.best}` : ""}`;
const listOf = (value) => (Array.isArray(value) ? value : []);
function pointsOf(said) {
  const texts = [...listOf(said.position?.insists), ...listOf(said.position?.changes)];
  return texts.map((text, i) => [`${said.speaker}/${said.debate}.${said.round}/${i + 1}`, text]);
}
function board(transcript, consensuses) { // an element for each debate, in order
  const answers = new Map(), texts = new Map();
  for (const said of transcript) {
    for (const [id, text] of pointsOf(said)) texts.set(id, [said.speaker, text]);
    for (const answer of listOf(said.position?.answers)) answers.set(answer.to, [...(answers.get(answer.to) || []), [said.speaker, answer]]);
  }
  const section = (title, points, ids = []) => {
    if (!points.length) return [];
    const list = make("ul");
    points.forEach((point, i) => {
      const item = make("li", "", point);
      for (const [who, { stance: kind, why }] of answers.get(ids[i]) || []) item.append(make("div", `reply ${kind}`, `↳ ${kind === "accepts" ? "Accepted" : "Rebutted"} by ${speaker(who)}${why ? `: ${why}` : ""}`));
      list.append(item);
    });
    return [make("b", "", title), list];
  };
  const turn = (said) => {
    const box = make("div", `turn ${said.human ? "human" : ""}`), position = said.position;
    if (said.problem) { box.append(make("p", "muted", `No reply: ${said.problem}`)); return box; }
    if (position) box.append(make("p", "stance", [stance(position), position.agrees ? "agrees" : "", said.human ? "a person" : ""].filter(Boolean).join(" · ")));
    box.append(make("p", "", said.text));
    if (!position) return box;
    const ids = pointsOf(said).map(([id]) => id), insists = listOf(position.insists);
    const given = listOf(position.answers).map(({ to, stance: kind, why }) => {
      const [whose, text] = texts.get(to) || ["", to];
      return `${kind === "accepts" ? "Accepts" : "Rebuts"} ${whose ? `${speaker(whose)}: “${text}”` : text}${why ? `: ${why}` : ""}`;
    });
    box.append(
      ...section("Concedes", listOf(position.concedes)), ...section("Insists", insists, ids), ...section("Answers", given),
      ...section("Requests", listOf(position.changes), ids.slice(insists.length)), ...section("Evidence", listOf(position.rests_on)),
    );
    return box;
  };
  const numbers = [...new Set(transcript.map((said) => Math.max(1, said.debate || 0)))].sort((a, b) => a - b);
  return numbers.map((number) => {
    const inside = transcript.filter((said) => Math.max(1, said.debate || 0) === number), spoken = inside.filter((said) => !said.synthesized);
    const box = make("section", "debate"), table = make("table"), head = make("tr"), scroll = make("div", "debate-scroll");
    const final = inside.some((said) => said.phase === "final");
    box.append(make("h2", "step-title", final ? "Final review" : "Debate"));
    const rounds = [...new Set(spoken.map((said) => said.round || 0))].sort((a, b) => a - b);
    head.append(...["Reviewer", ...rounds.map((round) => (round ? `Round ${round}` : "First review"))].map((name) => Object.assign(make("th", "", name), { scope: "col" })));
    table.append(head);
    for (const name of [...new Set(spoken.map((said) => said.speaker))].sort()) {
      const row = make("tr");
      row.append(Object.assign(make("th", "", speaker(name)), { scope: "row" }));
      for (const round of rounds) {
        const cell = make("td");
        cell.append(...spoken.filter((said) => said.speaker === name && (said.round || 0) === round).map(turn));
        row.append(cell);
      }
      table.append(row);
    }
    scroll.tabIndex = 0;
    scroll.append(table);
    box.append(labelled(scroll, "Rounds and reviewers"));
    const end = consensuses.find((one) => one.debate === number);
    if (end) {
      const by = listOf(end.by).map(speaker).join(", ");
      box.append(make("p", "stance", `${end.synthesized ? "No consensus: synthesized" : "Consensus"} · ${stance(end)}${by ? ` · ${by}` : ""}`), make("p", "", end.text));
      box.append(...section("Requests", listOf(end.changes)), ...section("Evidence", listOf(end.rests_on)));
    }
    return box;
  });
}
