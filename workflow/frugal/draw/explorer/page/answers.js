// The answers: what one reads first.

/** One answer as a card. */
function answerCard(part, answer) {
  const state = answer.sure === null ? "" : answer.sure ? "sure" : "unsure";
  const badge = { sure: `✓ ${answer.state || "settled by these rows"}`, unsure: `? ${answer.state || "not settled by these rows"}`, "": "" }[state];
  const facts = Object.entries(answer.by_question).flatMap(([question, text]) => [make("dt", {}, `${question[0].toUpperCase()}${question.slice(1)}?`), make("dd", {}, text)]);
  return make("article", { class: `card ${state}` },
    make("p", { class: "from" }, answer.title),
    make("p", { class: "statement" }, answer.sentence),
    badge ? make("p", { class: "badge" }, badge) : null,
    make("p", { class: "trust" }, answer.trust),
    make("details", {}, make("summary", {}, "Which policy, at which cost, how sure is it, which changes matter"), make("dl", {}, facts),
      make("button", { onclick: () => showRow(part, answer.table, answer.row) }, "Where this comes from")));
}

/** The first chart of a study, for the first of what is looked at. */
function pictureView(part) {
  if (!part.charts.length) return null;
  const picture = chartView(part, part.charts[0], true);
  picture.show(scopeAt(part, 0));
  return picture.view;
}

/** All answers, study by study; those of one's own tables first. */
function answersView() {
  const view = make("section", { id: "answers", "aria-labelledby": "answers-title" }, make("h2", { id: "answers-title" }, "The answers"));
  for (const part of sections) {
    view.append(make("h3", {}, make("a", { href: `#${part.study}` }, words(part.study))), make("p", { class: "soft" }, part.question),
      make("div", { class: "finding" }, make("div", { class: "cards" }, part.answers.map((answer) => answerCard(part, answer))), pictureView(part)));
  }
  return view;
}
