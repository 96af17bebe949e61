// A budget names the policy to take.

/** The place of the row of a table that has these values; -1 where none has. */
function rowOf(table, match) {
  const wanted = Object.entries(match).filter(([name]) => name in table.columns);
  for (let row = 0; row < table.rows; row += 1) {
    if (wanted.every(([name, value]) => String(valueOf(table, name, row)) === String(value))) return row;
  }
  return -1;
}

/** The last of some stops, in order of budget, that a budget reaches; undefined below the first. */
function stopWithin(stops, budget) {
  return stops.findLast((stop) => stop.budget <= budget);
}

/** A slider of a section; `show(scope)` takes the stops of that scope. */
function sliderView(part, slider) {
  const table = part.tables[slider.table];
  let stops = [];
  const range = make("input", { type: "range", min: 0, max: 200, value: 200, oninput: () => update() });
  const output = make("div", { class: "taken", role: "status" });
  const label = make("span", {}, "");
  const view = make("div", { id: `${part.study}-slider` }, make("label", {}, label, make("br"), range), output);

  /** The least and the largest budget of the slider. */
  function ends() {
    const [first, last] = [stops[0].budget, stops[stops.length - 1].budget];
    const room = 0.05 * (last - first || Math.abs(last) || 1);
    return [Math.max(Math.min(0, first), first - room), last + room];
  }

  function budgetNow() {
    if (!stops.length) return 0;
    const [from, to] = ends();
    return from + (Number(range.value) / 200) * (to - from);
  }

  /** It begins at the budget that the answer speaks of, else without a limit. */
  function begin(scope) {
    const budget = slider.begins[scope.dataset];
    if (!stops.length || budget === undefined) { range.value = 200; return; }
    const [from, to] = ends();
    range.value = Math.min(200, Math.ceil((200 * (budget - from)) / (to - from)));
  }

  function update() {
    const budget = budgetNow();
    const limit = `${shown(budget)} ${stops[0]?.unit ?? slider.unit}`.trim();
    label.textContent = `${slider.label}: ${limit}`;
    range.setAttribute("aria-valuetext", limit);
    const stop = stopWithin(stops, budget);
    if (!stop) {
      const least = stops.length ? `; the least that any policy needs is ${shown(stops[0].budget)}` : "";
      output.replaceChildren(make("p", { class: "statement" }, `Nothing fits${least}.`));
      return;
    }
    const row = rowOf(table, stop.match);
    const facts = slider.columns.filter((name) => name in table.columns).flatMap((name) => {
      const value = valueOf(table, name, row);
      return [make("div", {}, make("dt", {}, words(name)), make("dd", { "data-value": value, "data-name": name }, shown(value) || "not known"))];
    });
    const name = slider.names.map((key) => stop.match[key]).filter((text) => text !== undefined).map(words).join(" ");
    output.replaceChildren(make("p", { class: "statement" }, "Take ", make("strong", {}, name), `: the ${slider.goal} within ${limit}.`),
      make("dl", {}, facts), ...(slider.note ? [make("p", { class: "soft" }, slider.note)] : []), make("button", { onclick: () => showRow(part, slider.table, row) }, "Where these numbers come from"));
    output.dataset.row = row;
  }

  function show(scope) {
    stops = slider.stops.filter((stop) => Object.entries(scope).every(([name, value]) => !(name in stop.match) || stop.match[name] === value));
    stops.sort((a, b) => a.budget - b.budget);
    view.hidden = stops.length === 0;
    begin(scope);
    update();
  }
  return { view, show };
}
