// One unit step by step: what was known, what was ordered and why, what it cost, what others did.

/** The values of some columns of a unit, as items; of one-hot codes the level that holds. */
function valuesOf(facts, unit, columns) {
  return columns.flatMap((c) => {
    const value = numberOf(facts.values[c][unit]);
    const name = facts.columns[c];
    if (facts.coded.includes(c)) return value === 1 ? [make("li", {}, words(name).replace("=", ": "))] : [];
    const measure = facts.units[c] && facts.units[c] !== "1" ? ` ${facts.units[c]}` : "";
    return [make("li", { title: value }, `${words(name)}: ${value === null ? "no value" : shown(value)}${measure}`)];
  });
}

function orderedOf(facts, run) {
  return run.actions.filter((action) => action < facts.panels.length);
}

function spentOf(run, steps) {
  return run.costs.slice(0, steps).reduce((sum, cost) => sum + (cost ?? 0), 0);
}

/** The place of the policy that the answer names; the first where it names none of these. */
function named(part, one) {
  for (const { table: name, row } of part.answers) {
    const table = part.tables[name];
    const keys = Object.keys(one.scope).filter((key) => key in table.columns && key !== "fold");
    if (!keys.every((key) => String(valueOf(table, key, row)) === one.scope[key])) continue;
    const cell = (column) => (column in table.columns ? valueOf(table, column, row) : "");
    const names = [cell("agent"), `${cell("method")} ${cell("pair")}`, `γ = ${cell("gamma")}`];
    const found = one.patients.policies.findIndex((course) => names.includes(course.name));
    if (found >= 0) return found;
  }
  return 0;
}

/** The stepper of a study; `show(scope)` turns to the units of that scope, if there are any. */
function patientsView(part, cases) {
  let [at, unit, policy, step] = [0, 0, named(part, cases[0]), 0];
  const data = selection("Data set", cases.map((one) => one.label ?? Object.values(one.scope).map(words).join(", ")), (k) => { at = k; unit = 0; policy = named(part, cases[k]); fill(); });
  const units = selection("Unit", [], (k) => { unit = k; step = 0; draw(); });
  const policies = selection("Policy", [], (k) => { policy = k; step = 0; draw(); });
  const known = make("div", {});
  const ordered = make("div", { role: "status" });
  const others = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "All policies on this unit" });
  const back = make("button", { onclick: () => move(-1) }, "◀ Back");
  const next = make("button", { onclick: () => move(1) }, "Next step ▶");
  const view = make("div", { id: `${part.study}-patient` },
    make("div", { class: "bar" }, cases.length > 1 ? data.label : null, units.label, policies.label),
    make("div", { class: "bar", role: "group", "aria-label": "Steps" }, back, next, make("span", { class: "soft" }, "or the arrow keys, from these buttons")),
    make("div", { class: "steps" }, known, ordered), make("h4", {}, "All policies on this unit"), others);
  view.addEventListener("keydown", (event) => {
    if (!(event.target instanceof HTMLButtonElement)) return;
    if (event.key === "ArrowRight") move(1);
    if (event.key === "ArrowLeft") move(-1);
  });

  const now = () => ({ one: cases[at], facts: cases[at].patients, run: cases[at].patients.policies[policy].units[unit] });

  function fill() {
    const { facts } = now();
    units.list.replaceChildren(...facts.row_id.map((id, k) => make("option", {}, `${id} (${words(facts.classes[facts.label[k]])})`)));
    policies.list.replaceChildren(...facts.policies.map((one) => make("option", {}, words(one.name))));
    units.list.selectedIndex = unit;
    policies.list.selectedIndex = policy;
    data.list.selectedIndex = at;
    step = 0;
    draw();
  }

  function move(by) {
    const { run } = now();
    step = Math.min(Math.max(step + by, 0), run ? run.actions.length : 0);
    draw();
  }

  function drawKnown() {
    const { facts, run } = now();
    const seen = new Set(facts.free);
    const free = valuesOf(facts, unit, facts.free);
    const parts = [make("h5", {}, "Before the first decision"), free.length ? make("ul", {}, free) : make("p", {}, "Nothing.")];
    for (const [k, action] of run.actions.slice(0, step).entries()) {
      if (action >= facts.panels.length) continue;
      const panel = facts.panels[action];
      const fresh = panel.columns.filter((column) => !seen.has(column));
      panel.columns.forEach((column) => seen.add(column));
      parts.push(make("div", { class: k === step - 1 ? "new" : null }, make("h5", {}, `From ${words(panel.name)}`), make("ul", {}, valuesOf(facts, unit, fresh))));
    }
    known.replaceChildren(make("h4", {}, "Known values"), make("div", { class: "known", tabindex: 0 }, parts));
  }

  function decision() {
    const { one, facts, run } = now();
    const course = facts.policies[policy];
    const right = run.verdict === facts.label[unit];
    if (step >= run.actions.length) {
      return [make("p", { class: "statement" }, `It ${facts.ends ?? "decides"}: ${words(facts.classes[run.verdict])}.`),
        make("p", {}, right ? "✓ That is right." : `✗ In truth: ${words(facts.classes[facts.label[unit]])}.`)];
    }
    const action = run.actions[step];
    const chance = run.probabilities[step];
    const panel = facts.panels[action];
    const what = panel ? `Orders ${words(panel.name)}, for ${shown(panel.cost)} ${one.cost_unit}.` : "Orders nothing more, and decides.";
    const lots = chance === null || chance >= 0.9995 ? "In this state it always does so." : `It draws lots; this had a probability of ${shown(chance)}.`;
    return [make("p", { class: "statement" }, what), make("p", {}, "Why: ", course.why ? `${course.why} ` : "", lots)];
  }

  function drawOrdered() {
    const { one, facts, run } = now();
    const last = step >= run.actions.length;
    const belief = numberOf(run.beliefs[Math.min(step, run.actions.length - 1)] ?? null) ?? (last ? run.belief : null);
    const meter = belief === null || facts.classes.length !== 2 ? make("p", { class: "soft" }, "Its predicted probability is not logged at this step.")
      : make("p", {}, `Predicted probability of ${words(facts.classes[1])}: ${shown(belief)}`, make("meter", { min: 0, max: 1, value: belief, "aria-label": "predicted probability" }));
    ordered.replaceChildren(make("h4", {}, last ? "The end" : `Step ${step + 1} of ${run.actions.length}`), ...decision(), meter,
      make("p", {}, `Paid so far: ${shown(spentOf(run, step))} ${one.cost_unit}`));
    ordered.dataset.step = step;
  }

  function drawOthers() {
    const { one, facts } = now();
    const body = facts.policies.map((course, k) => {
      const run = course.units[unit];
      if (!run) return null;
      const names = orderedOf(facts, run).map((action) => words(facts.panels[action].name));
      const right = run.verdict === facts.label[unit];
      return make("tr", { class: k === policy ? "now" : null },
        make("th", { scope: "row" }, words(course.name)), make("td", {}, names.length ? names.join(", ") : "nothing"),
        make("td", { class: "number", "data-value": spentOf(run, run.costs.length) }, shown(spentOf(run, run.costs.length))),
        make("td", {}, `${words(facts.classes[run.verdict])} ${right ? "✓" : "✗"}`),
        make("td", {}, make("button", { onclick: () => { policy = k; step = 0; policies.list.selectedIndex = k; draw(); } }, "step"), " ",
          make("button", { onclick: () => showLog(part, one, course, facts.row_id[unit]) }, "origin")));
    });
    const head = ["policy", "ordered", `paid, ${one.cost_unit}`, "decision", ""].map((text) => make("th", { scope: "col" }, make("span", {}, text)));
    others.replaceChildren(make("table", {}, make("thead", {}, make("tr", {}, head)), make("tbody", {}, body.filter(Boolean))));
  }

  function draw() {
    const { run } = now();
    back.disabled = step === 0 || !run;
    next.disabled = !run || step >= run.actions.length;
    if (run) {
      drawKnown();
      drawOrdered();
    } else {
      known.replaceChildren(make("p", {}, "This policy was not run on this unit."));
      ordered.replaceChildren();
    }
    drawOthers();
  }

  function show(scope) {
    const found = cases.findIndex((one) => Object.entries(one.scope).every(([name, value]) => !(name in scope) || name === "seed" || scope[name] === value));
    if (found >= 0 && found !== at) {
      at = found;
      unit = 0;
      policy = 0;
      fill();
    }
  }
  fill();
  return { view, show };
}

/** The log in which the decisions of a policy stand. */
function showLog(part, one, course, id) {
  const paths = one.sources[one.logs.input].paths.filter((path) => placeOf.has(path)).map((path) => placeOf.get(path));
  const places = kept(paths, { [one.logs.key]: course.source });
  showPlaces(`Decisions of ${words(course.name)} about unit ${id}`, places, { row_id: String(id) }, () => showLog(part, one, course, id));
}
