// Units window by window: what was known then, the order and why, what was recorded, the cost.

/** The stepper of policies over time. */
function staysView(part) {
  let [unit, step] = [0, 0];
  const stays = part.stays;
  const units = selection("Unit", stays.map((stay) => stay.name), (k) => { unit = k; step = 0; draw(); });
  const line = make("p", {});
  const known = make("div", {});
  const now = make("div", { role: "status" });
  const back = make("button", { onclick: () => move(-1) }, "◀ Back");
  const next = make("button", { onclick: () => move(1) }, "Next window ▶");
  const place = make("input", { type: "range", min: 0, step: 1, "aria-label": "Window", oninput: () => { step = Number(place.value); draw(); } });
  const passed = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Orders so far" });
  const view = make("div", { id: `${part.study}-stay` },
    make("div", { class: "bar" }, units.label), line,
    make("div", { class: "bar", role: "group", "aria-label": "Steps" }, back, place, next),
    make("div", { class: "steps" }, known, now), make("h4", {}, "Orders so far"), passed);

  const cell = (row, name) => row[part.columns.indexOf(name)];

  function move(by) {
    step = Math.min(Math.max(step + by, 0), stays[unit].rows.length - 1);
    draw();
  }

  function draw() {
    const { rows, about } = stays[unit];
    const row = rows[step];
    line.textContent = about;
    [back.disabled, next.disabled] = [step === 0, step === rows.length - 1];
    [place.max, place.value] = [rows.length - 1, step];
    const values = cell(row, "known before (age)").split(", ");
    known.replaceChildren(make("h4", {}, "Known before (age)"),
      make("div", { class: "known", tabindex: 0 }, make("ul", {}, values.map((text) => make("li", { class: text.endsWith("(1 window ago)") ? "new" : null }, text)))));
    now.replaceChildren(make("h4", {}, `Hour ${cell(row, "hours")}: step ${step + 1} of ${rows.length}`),
      make("p", { class: "statement" }, cell(row, "order, and why")), make("p", {}, `Recorded: ${cell(row, "recorded")}.`),
      make("p", {}, `Cost ${cell(row, "cost")}, so far ${cell(row, "cost so far")} ${part.cost_unit}.`));
    now.dataset.step = step;
    const names = part.columns.filter((name) => name !== "known before (age)");
    const head = names.map((name) => make("th", { scope: "col" }, make("span", {}, name)));
    const orders = rows.slice(0, step + 1).filter((each) => !cell(each, "order, and why").startsWith("nothing;"));
    const body = orders.map((each) => make("tr", { class: each === row ? "now" : null }, names.map((name) => make("td", {}, cell(each, name)))));
    passed.replaceChildren(body.length === 0 ? make("p", {}, "None yet.") : make("table", {}, make("thead", {}, make("tr", {}, head)), make("tbody", {}, body)));
  }

  draw();
  return { view, show: () => {} };
}
