// Where a number comes from: its row, the file of the table, and every file behind it.

const files = report.files;
const placeOf = new Map(files.map((file, place) => [file.path, place]));
const dialog = document.getElementById("origin");

/** The `key=value` folders of a path say that it holds other rows only. */
function holdsOthers(path, identity) {
  return path.split("/").some((folder) => {
    const [key, ...rest] = folder.split("=");
    return rest.length > 0 && key in identity && identity[key] !== rest.join("=");
  });
}

/** Those of some paths that may hold the rows; all of them where none does. */
function kept(places, identity) {
  const found = places.filter((place) => !holdsOthers(files[place].path, identity));
  return found.length ? found : places;
}

/** Every file behind some files, in steps of distance. */
function chainOf(places, identity) {
  const seen = new Set(places);
  for (const place of seen) {
    for (const input of kept(files[place].inputs, identity)) seen.add(input);
  }
  return [...seen];
}

function fileButton(place, back) {
  const file = files[place];
  const button = make("button", { onclick: () => showFile(place, back) }, file.path);
  return make("li", {}, button, " ", make("code", { title: "SHA-256" }, file.sha256), ` by ${file.stage}`);
}

function outsideItems(places) {
  const found = new Map();
  for (const place of places) {
    const file = files[place];
    for (const [name, digest] of file.outside) found.set(digest, name);
    if (file.url !== undefined) found.set(file.sha256, `${file.path}, as published at ${file.url}`);
  }
  if (!found.size) return [make("li", {}, "None: all of it is simulated.")];
  return [...found].map(([digest, name]) => make("li", {}, `${name} `, make("code", { title: "SHA-256" }, digest)));
}

function opened(...children) {
  const close = make("button", { onclick: () => dialog.close(), autofocus: true }, "Close");
  dialog.replaceChildren(...children, close);
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}

/** Values that identify a row, as texts. */
function identityOf(table, row) {
  const named = table.keys.map((name) => [name, valueOf(table, name, row)]);
  return Object.fromEntries(named.filter(([, value]) => value !== null).map(([name, value]) => [name, String(value)]));
}

/** The row of a table with all its columns, its file, and the files and raw data behind it. */
function showRow(part, name, row) {
  const table = part.tables[name];
  const source = part.sources[table.source];
  const identity = identityOf(table, row);
  const places = kept(source.paths.filter((path) => placeOf.has(path)).map((path) => placeOf.get(path)), identity);
  const cells = Object.keys(table.columns).map((column) => {
    const [unit, meaning] = source.columns[column] ?? ["", "worked out for this page"];
    const value = valueOf(table, column, row);
    return make("tr", {}, make("th", { scope: "row" }, column), make("td", { title: value }, shown(value)),
      make("td", {}, unit), make("td", {}, meaning));
  });
  showPlaces(`Row ${row + 1} of ${table.title.toLowerCase()}`, places, identity, () => showRow(part, name, row),
    make("details", {}, make("summary", {}, "All columns of the row, with units"),
      make("div", { class: "scroll", tabindex: 0 }, make("table", {}, make("tbody", {}, cells)))));
}

/** Some files with what is behind them. */
function showPlaces(title, places, identity, again, ...further) {
  const chain = chainOf(places, identity);
  const cells = Object.entries(identity).map(([key, value]) => `${key}=${value}`).join(",");
  const command = `python -m frugal audit ${files[places[0]]?.path ?? "results"}` + (cells ? ` --row '${cells}'` : "");
  const behind = chain.filter((place) => !places.includes(place));
  opened(
    make("h2", { id: "origin-title" }, title),
    make("h3", {}, "The file that holds it"),
    make("ul", {}, places.map((place) => fileButton(place, again))),
    make("h3", {}, "Raw data behind it"),
    make("ul", {}, outsideItems(chain)),
    make("p", {}, "To check all of it: ", make("code", {}, command)),
    ...further,
    make("details", {}, make("summary", {}, `${behind.length} files in between`),
      make("ul", {}, behind.map((place) => fileButton(place, again)))),
  );
}

/** One file: its manifest, and what it was made from. */
function showFile(place, back) {
  const file = files[place];
  const facts = [["SHA-256", make("code", {}, file.sha256)], ["bytes", file.bytes.toLocaleString("en")],
    ["made by", file.stage], ["rows", file.rows?.toLocaleString("en")]];
  opened(
    make("h2", { id: "origin-title" }, file.path),
    make("dl", {}, facts.filter(([, fact]) => fact !== undefined).flatMap(([name, fact]) => [make("dt", {}, name), make("dd", {}, fact)])),
    make("h3", {}, "Made from"),
    make("ul", {}, file.outside.length || file.url ? outsideItems([place]) : [], file.inputs.map((input) => fileButton(input, () => showFile(place, back)))),
    make("button", { onclick: back }, "Back"), " ",
  );
}
