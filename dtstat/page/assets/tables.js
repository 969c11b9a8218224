// Tables. Where one is wider than its place, its rows become lists: nothing is cut off.

/** A table of columns { name, number; bare: needs no name beside it } and rows of cells, the first a head. */
function makeTable(about, columns, rows, caption = null) {
  const kind = (c) => (columns[c].number ? "number" : "words");
  const head = columns.map(({ name, label }, c) =>
    make("th", { scope: "col", role: "columnheader", class: kind(c), "aria-sort": columns[c].sort ?? null }, label ?? name),
  );
  const row = ({ cells, ...rest }) =>
    make(
      "tr",
      { role: "row", ...rest },
      cells.map((cell, c) => {
        const parts = [cell].flat();
        return c
          ? make("td", { role: "cell", class: kind(c), "data-label": columns[c].bare ? "" : columns[c].name }, parts)
          : make("th", { scope: "row", role: "rowheader", class: kind(0) }, parts);
      }),
    );
  return make(
    "table",
    { role: "table", ...about },
    caption === null ? null : make("caption", {}, caption),
    make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, head)),
    make("tbody", { role: "rowgroup" }, rows.map(row)),
  );
}

function fitTable(table) {
  const room = table.parentElement.clientWidth;
  if (!room) return; // hidden
  table.classList.remove("stacked");
  table.classList.toggle("stacked", table.offsetWidth > room + 1);
}

const fitTables = (place) => place.querySelectorAll(":scope > table").forEach(fitTable);
const roomWatcher = new ResizeObserver((changes) => changes.forEach(({ target }) => fitTables(target)));

/** A place whose table is fitted to its width, now and whenever that changes. */
function sheet(...children) {
  const place = make("div", { class: "sheet" }, ...children);
  roomWatcher.observe(place);
  return place;
}

/** Put another table in a place. */
function refill(place, table) {
  place.replaceChildren(table);
  fitTable(table);
}

/** Details that are opened by a click on what they are about. */
const folded = (title, ...children) => make("details", {}, make("summary", {}, title), ...children);

/** Cells are colored by the size of what is in them: blue above 0, orange below. */
function shaded(value, text) {
  const cell = make("span", { class: "shaded" }, text);
  const depth = Math.min(1, Math.abs(value)) * 0.3;
  cell.style.background = value < 0 ? `rgba(213, 94, 0, ${depth})` : `rgba(0, 114, 178, ${depth})`;
  return cell;
}
