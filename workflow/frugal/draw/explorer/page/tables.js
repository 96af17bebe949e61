// Tables that sort and filter.

const PAGE = 25;

/** Words of a filter: texts that a row must hold, and comparisons such as `estimate<2`. */
function tests(table, text) {
  return text.trim().split(/\s+/).filter(Boolean).map((word) => {
    const [, name, sign, limit] = word.match(/^([^<>=]+)(<=|>=|<|>|=)(.+)$/) ?? [];
    if (name in table.columns) {
      const wanted = Number(limit);
      return (row) => {
        const value = valueOf(table, name, row);
        if (sign === "=") return String(value).toLowerCase() === limit.toLowerCase() || value === wanted;
        if (value === null) return false;
        return sign === "<" ? value < wanted : sign === ">" ? value > wanted : sign === "<=" ? value <= wanted : value >= wanted;
      };
    }
    const lower = word.toLowerCase();
    return (row) => Object.keys(table.columns).some((column) => {
      const value = valueOf(table, column, row);
      return value !== null && (String(value).toLowerCase().includes(lower) || words(value).toLowerCase().includes(lower));
    });
  });
}

function compared(one, other) {
  if (one === null || other === null) return (one === null) - (other === null); // no value: last
  if (typeof one === "string") return one.localeCompare(other, "en", { numeric: true });
  return one - other;
}

/** A table of a section; `show(scope)` draws it anew. */
function tableView(part, name) {
  const table = part.tables[name];
  const state = { scope: {}, text: "", all: false, wide: false, by: null, down: false, most: PAGE };
  const scoped = part.scope.columns.some((column) => column in table.columns) && part.scope.values.length > 1;
  const count = make("p", { class: "soft", role: "status" });
  const place = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": table.title });
  const more = make("button", { onclick: () => { state.most += 4 * PAGE; draw(); } }, "Show more rows");
  const box = (label, key) => make("label", {}, make("input", { type: "checkbox", onchange: (event) => { state[key] = event.target.checked; draw(); } }), ` ${label}`);
  const filter = make("input", { type: "search", placeholder: "words, or estimate<2", oninput: () => { state.text = filter.value; state.most = PAGE; draw(); } });

  function rows() {
    const checks = tests(table, state.text);
    const found = [];
    for (let row = 0; row < table.rows; row += 1) {
      if ((state.all || inScope(table, row, state.scope)) && checks.every((holds) => holds(row))) found.push(row);
    }
    if (state.by === null) return found;
    const sign = state.down ? -1 : 1;
    return found.sort((a, b) => {
      const [one, other] = [valueOf(table, state.by, a), valueOf(table, state.by, b)];
      return (one === null || other === null ? 1 : sign) * compared(one, other);
    });
  }

  function head(column) {
    const [unit, meaning] = part.sources[table.source].columns[column] ?? ["", ""];
    const sorted = state.by === column ? (state.down ? "descending" : "ascending") : "none";
    const mark = { none: "", ascending: " ▲", descending: " ▼" }[sorted];
    const turn = () => {
      state.down = state.by === column && !state.down;
      state.by = column;
      draw();
      place.querySelector(`[data-column="${CSS.escape(column)}"]`).focus();
    };
    const title = [meaning, unit && `(${unit})`].filter(Boolean).join(" ");
    return make("th", { scope: "col", "aria-sort": sorted, class: isNumeric(table, column) ? "number" : null },
      make("button", { onclick: turn, title, "data-column": column }, words(column), mark));
  }

  function draw() {
    const found = rows();
    const columns = state.wide ? Object.keys(table.columns) : table.shown;
    const body = found.slice(0, state.most).map((row) => make("tr", {},
      columns.map((column) => {
        const value = valueOf(table, column, row);
        return make("td", { class: isNumeric(table, column) ? "number" : null, title: typeof value === "number" ? value : null },
          typeof value === "string" ? words(value) : shown(value));
      }),
      make("td", {}, make("button", { onclick: () => showRow(part, name, row), "aria-label": `Where row ${row + 1} comes from` }, "origin"))));
    const top = make("tr", {}, columns.map(head), make("th", {}, make("span", { class: "visually-hidden" }, "origin")));
    place.replaceChildren(make("table", { "data-table": name }, make("caption", { class: "visually-hidden" }, table.title), make("thead", {}, top), make("tbody", {}, body)));
    count.textContent = `${found.length.toLocaleString("en")} of ${table.rows.toLocaleString("en")} rows; ${body.length} shown`;
    more.hidden = found.length <= state.most;
  }

  const bar = make("div", { class: "bar" }, make("label", {}, "Filter ", filter),
    scoped ? box("all data sets and draws", "all") : null,
    Object.keys(table.columns).length > table.shown.length ? box("all columns", "wide") : null);
  const view = make("details", { class: "table", id: `${part.study}-table-${name}` }, make("summary", {}, table.title), bar, count, place, more);
  view.addEventListener("toggle", () => { if (view.open) draw(); });
  return { view, show: (scope) => { state.scope = scope; state.most = PAGE; if (view.open) draw(); } };
}
