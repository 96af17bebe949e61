// Charts: drawn by Vega from rows of the page's tables, with a legend that filters.

const PATHS = { // shapes of the legend, as Vega draws them, in a box of 12 by 12
  circle: "M6 1.5a4.5 4.5 0 1 0 .01 0Z", square: "M2 2H10V10H2Z", cross: "M4.4 1H7.6V4.4H11V7.6H7.6V11H4.4V7.6H1V4.4H4.4Z",
  diamond: "M6 0.5L10.5 6L6 11.5L1.5 6Z", "triangle-up": "M6 1L11 10.5H1Z", "triangle-down": "M6 11L1 1.5H11Z",
  "triangle-right": "M11 6L1.5 11V1Z", "triangle-left": "M1 6L10.5 1V11Z",
};
const DRAWN = { actions: false, renderer: "svg", mode: "vega-lite" };
const LOOK = { aria: false, font: "system-ui, sans-serif", axis: { labelFontSize: 12, titleFontSize: 12, labelLimit: 150, gridColor: "#e6e6e6" }, view: { stroke: null } };

/** All columns that a specification reads. */
function fieldsOf(spec, found = new Set()) {
  if (spec && typeof spec === "object") {
    if (typeof spec.field === "string") found.add(spec.field);
    Object.values(spec).forEach((part) => fieldsOf(part, found));
  }
  return found;
}

/** The specification for some rows: numbers in tooltips have four figures, names their order. */
function fitted(spec, table, values) {
  if (Array.isArray(spec)) return spec.map((part) => fitted(part, table, values));
  if (!spec || typeof spec !== "object") return spec;
  const copy = Object.fromEntries(Object.entries(spec).map(([key, part]) => [key, fitted(part, table, values)]));
  for (const channel of ["x", "y", "yOffset"]) {
    if (copy[channel]?.type !== "nominal") continue;
    const { sort, ...rest } = copy[channel];
    copy[channel] = { ...rest, scale: { domain: [...new Set(values.map((row) => row[rest.field]))] } };
    if (channel !== "yOffset") copy[channel].axis = { labelExpr: "replace(datum.label, /_/g, ' ')", labelAngle: 0 };
  }
  if (Array.isArray(copy.tooltip)) {
    copy.tooltip = copy.tooltip.filter((one) => one.field in table.columns)
      .map((one) => (isNumeric(table, one.field) ? { ...one, type: "quantitative", format: ".4~g" } : one));
  }
  return copy;
}

function swatch(look) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  for (const [name, value] of [["width", 12], ["height", 12], ["aria-hidden", "true"]]) svg.setAttribute(name, value);
  path.setAttribute("d", PATHS[look.shape]);
  path.setAttribute("fill", look.colour);
  svg.append(path);
  return svg;
}

/** A chart of a section, or its picture with the answers, without choice and rows; `show(scope)` draws it anew once it can be seen. */
function chartView(part, chart, picture = false) {
  const table = part.tables[chart.table];
  const fields = [...fieldsOf(chart.spec)].filter((name) => name in table.columns);
  const off = new Set(chart.first ? Object.keys(chart.looks).filter((name) => !chart.first.includes(name)) : []);
  const state = { scope: {}, seen: false, stale: true, drawing: Promise.resolve() };
  const legend = make("div", { class: "legend" });
  const place = make("div", { class: "chart", role: "img", "aria-label": `${chart.title}. The rows are listed below ${picture ? `the chart in the part ${words(part.study)}` : "the chart"}.` });
  const empty = make("p", { class: "soft", hidden: true }, "No row of this data set can be drawn.");
  const list = make("details", {}, make("summary", {}, "Rows of this chart"));
  list.addEventListener("toggle", () => listRows());

  function inChart(row) {
    if (!inScope(table, row, state.scope)) return false;
    const here = Object.entries(chart.where).every(([name, values]) => values.map(String).includes(String(valueOf(table, name, row))));
    return here && (!chart.joined || joined(row));
  }

  function joined(row) {
    const other = part.tables[chart.joined.table];
    for (let k = 0; k < other.rows; k += 1) {
      if (chart.joined.on.every((name) => String(valueOf(other, name, k)) === String(valueOf(table, name, row)))) return true;
    }
    return false;
  }

  function candidates() {
    return [...Array(table.rows).keys()].filter(inChart);
  }

  function rows() {
    return candidates().filter((row) => !off.has(String(valueOf(table, chart.by, row))));
  }

  function drawLegend(found) {
    const present = new Set(found.map((row) => String(valueOf(table, chart.by, row))));
    const names = chart.names.filter((name) => present.has(name) && !(picture && off.has(name)));
    legend.replaceChildren(...names.map((name) => {
      const box = make("input", { type: "checkbox", "data-name": name, onchange: () => { if (box.checked) off.delete(name); else off.add(name); state.stale = true; update(); } });
      box.checked = !off.has(name);
      return make("label", {}, picture ? null : box, swatch(chart.looks[name]), chart.looks[name].label);
    }));
  }

  /** Of a legend that begins with what is at stake: the names in some columns of another table. */
  function beginAnew() {
    if (!chart.stake) return;
    const other = part.tables[chart.stake.table];
    const rowsThere = [...Array(other.rows).keys()].filter((row) => inScope(other, row, state.scope));
    const named = new Set(rowsThere.flatMap((row) => chart.stake.columns.map((name) => valueOf(other, name, row))));
    off.clear();
    Object.keys(chart.looks).filter((name) => !named.has(name)).forEach((name) => off.add(name));
  }

  function listRows() {
    if (!list.open) return;
    const columns = [...new Set([...fields, ...table.keys])];
    const found = rows().slice(0, 200);
    const head = make("tr", {}, columns.map((name) => make("th", { scope: "col" }, make("span", {}, words(name)))), make("th", {}, ""));
    const body = found.map((row) => make("tr", {}, columns.map((name) => make("td", {}, shown(valueOf(table, name, row)))),
      make("td", {}, make("button", { onclick: () => showRow(part, chart.table, row) }, "origin"))));
    list.replaceChildren(list.firstChild, make("div", { class: "scroll", tabindex: 0 }, make("table", {}, make("thead", {}, head), make("tbody", {}, body))));
  }

  function specification(found) {
    const values = found.map((row) => ({ _row: row, ...Object.fromEntries(fields.map((name) => {
      const value = valueOf(table, name, row);
      if (name === chart.by) return [name, String(value)]; // as the legend has it
      return [name, typeof value === "number" && !Number.isFinite(value) ? null : value];
    })) }));
    const slots = chart.per ? new Set(values.map((row) => row[chart.per])).size : 0;
    const marks = chart.per && chart.by !== chart.per && JSON.stringify(chart.spec).includes("yOffset") ? new Set(values.map((row) => row[chart.by])).size : 1;
    const height = chart.per ? Math.max(80, slots * Math.max(22, 9 * marks)) : 300;
    return { ...fitted(chart.spec, table, values), data: { values }, width: "container", height, autosize: { type: "fit-x", contains: "padding" }, config: LOOK };
  }

  function update() {
    if (!state.seen || !state.stale) return;
    state.stale = false;
    const found = rows();
    empty.hidden = found.length > 0;
    listRows();
    state.drawing = state.drawing.then(async () => {
      if (!found.length) return place.replaceChildren();
      const { view } = await window.vegaEmbed(place, specification(found), DRAWN);
      view.addEventListener("click", (event, item) => { if (item?.datum?._row !== undefined) showRow(part, chart.table, item.datum._row); });
      place.dataset.rows = found.length;
      return null;
    });
  }

  const view = make("figure", { id: `${part.study}-${picture ? "picture" : `chart-${chart.name}`}` }, make("h4", {}, chart.title),
    picture ? legend : make("fieldset", {}, make("legend", {}, `Show ${words(chart.by)}`), legend), place, empty, picture ? null : list);
  new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) { state.seen = true; update(); }
  }, { rootMargin: "300px" }).observe(view);
  return { view, show: (scope) => { state.scope = scope; state.stale = true; beginAnew(); drawLegend(candidates()); update(); } };
}
