// What the page holds, and how a value is read and written.

const report = JSON.parse(document.getElementById("data").textContent);
const sections = report.parts.filter((part) => part.kind === "section");

/** The cell of a table: a number, a text, true or false, or null where there is no value. */
function valueOf(table, name, row) {
  const column = table.columns[name];
  if (Array.isArray(column)) return numberOf(column[row]);
  const code = column.codes[row];
  return code < 0 ? null : column.levels[code];
}

/** JSON has no infinity, so it comes as a text. */
function numberOf(cell) {
  if (cell === "inf") return Infinity;
  return cell === "-inf" ? -Infinity : cell;
}

/** True for a column of numbers. */
function isNumeric(table, name) {
  const column = table.columns[name];
  return Array.isArray(column) && column.some((cell) => cell !== null && typeof cell !== "boolean");
}

/** A value for people: four figures; the whole number stands in the title of its cell. */
function shown(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (Number.isInteger(value)) return Math.abs(value) < 1e5 ? String(value) : value.toLocaleString("en");
  if (Math.abs(value) >= 1e4 && Math.abs(value) < 1e9) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(4)));
}

/** A name of a table as words. */
function words(name) {
  return String(name).replaceAll("_", " ");
}

/** An element with attributes (`on…`: listeners) and children (texts are texts, never markup). */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** A selection with a label; `options` are texts; `picked` gets the place of the choice. */
function selection(label, options, picked) {
  const list = make("select", { onchange: () => picked(list.selectedIndex) });
  list.append(...options.map((text) => make("option", {}, text)));
  return { label: make("label", {}, `${label} `, list), list };
}

/** True where a row of a table has the values of a scope; columns that it lacks do not count. */
function inScope(table, row, scope) {
  return Object.entries(scope).every(
    ([name, value]) => !(name in table.columns) || String(valueOf(table, name, row)) === value,
  );
}

/** The values of a section's scope at a place, by name. */
function scopeAt(part, place) {
  const values = part.scope.values[place] ?? [];
  return Object.fromEntries(part.scope.columns.map((name, k) => [name, values[k]]));
}
