// Builds the page: the answers, then a part for each study.

/** One study: what is looked at, its charts, budget, units and tables. */
function studyView(part) {
  const cases = report.parts.filter((one) => one.kind === "cases" && one.study === part.study);
  const sliders = part.sliders.map((slider) => sliderView(part, slider));
  const charts = part.charts.map((chart) => chartView(part, chart));
  const stepper = cases.length ? patientsView(part, cases) : null;
  const stays = part.stays ? staysView(part) : null;
  const tables = Object.keys(part.tables).map((name) => tableView(part, name));
  const views = [...sliders, ...charts, ...(stepper ? [stepper] : []), ...(stays ? [stays] : []), ...tables];
  const show = (place) => views.forEach((one) => one.show(scopeAt(part, place)));
  const scopes = selection("Looking at", part.scope.values.map((values) => values.map((value, k) => (part.scope.columns[k] === "seed" ? `seed ${value}` : words(value))).join(", ")), show);
  const view = make("section", { id: part.study, "aria-labelledby": `${part.study}-title` },
    make("h2", { id: `${part.study}-title` }, words(part.study)), make("p", {}, part.question),
    part.scope.values.length > 1 ? make("div", { class: "bar" }, scopes.label) : null,
    sliders.length ? [make("h3", {}, "A budget names the policy"), sliders.map((one) => one.view)] : null,
    charts.length ? [make("h3", {}, "Charts"), make("p", { class: "soft" }, "Point at a mark for its numbers; click it for its origin."), make("div", { class: "charts" }, charts.map((one) => one.view))] : null,
    stepper ? [make("h3", {}, "One unit, step by step"), stepper.view] : null,
    stays ? [make("h3", {}, "One unit, window by window"), stays.view] : null,
    make("h3", {}, "Tables"), tables.map((one) => one.view));
  show(0);
  return view;
}

/** Sliders that came with the units of a study, one for each data set, become one. */
function addSliders(part) {
  const found = report.parts.filter((one) => one.kind === "cases" && one.study === part.study && one.slider);
  if (!found.length) return;
  const stops = found.flatMap(({ slider }) => slider.stops.map((stop) => ({ ...stop, unit: slider.unit })));
  part.sliders.push({ ...found[0].slider, stops, begins: Object.assign({}, ...found.map((one) => one.slider.begins)) });
}

sections.forEach(addSliders);
document.getElementById("main").append(answersView(), ...sections.map(studyView));
const links = [["answers", "The answers"], ...sections.map((part) => [part.study, words(part.study)])];
document.getElementById("parts").append(make("ul", {}, links.map(([id, text]) => make("li", {}, make("a", { href: `#${id}` }, text)))));
document.documentElement.dataset.ready = "yes";
