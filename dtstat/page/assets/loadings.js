// The table of loadings: sorted by a click on a head, small ones blank, copied as CSV or LaTeX.

const MOST_COLUMNS = 14; // factors side by side; loadings on more are listed

class LoadingTable {
  constructor(numbers, levels, place) {
    this.items = numbers.items;
    this.texts = numbers.texts;
    this.cutoff = 0.3;
    this.order = { column: -1, down: false };
    this.sheet = sheet();
    this.#build(place);
    levels.follow((level) => this.#show(level));
  }

  #build(place) {
    const out = make("output", { for: "cutoff" }, "0.30");
    const slider = make("input", {
      type: "range",
      id: "cutoff",
      min: 0,
      max: 1,
      step: 0.05,
      value: this.cutoff,
      oninput: () => {
        this.cutoff = Number(slider.value);
        out.textContent = shown(this.cutoff);
        this.#paint();
      },
    });
    const about =
      "Standardized; items by their strongest factor. h2: share of an item\u2019s variance that the factors explain; " +
      "u2: the rest; com: number of factors it takes (Hofmann).";
    place.append(
      make("h3", {}, "Loadings"),
      make("p", { class: "note" }, `${about} `, make("span", { class: "hint" }, "Click a head to sort.")),
      make("div", { class: "cutoff" }, make("label", { for: "cutoff" }, "Blank below"), slider, out),
      make(
        "p",
        { class: "buttons" },
        copyButton("Copy as CSV", () => this.csv()),
        copyButton("Copy as LaTeX", () => this.latex()),
      ),
      this.sheet,
    );
  }

  #show(level) {
    const d = level.factors.length;
    this.long = d > MOST_COLUMNS;
    this.order = { column: -1, down: false };
    const loadings = this.items.map(() => new Map());
    level.factors.forEach(({ items, loadings: own }, k) => items.forEach((i, j) => loadings[i].set(k, own[j])));
    const named = this.texts.some(Boolean) ? (i) => [this.#marked(level, i), this.texts[i]] : (i) => [this.#marked(level, i)];
    const first = named(0).length;
    const heads = ["item", "text"].slice(0, first).map((name) => ({ name, bare: true }));
    const rows = this.#sortedItems(loadings);
    if (this.long) {
      this.columns = [...heads, { name: "factor" }, ...["loading", "h2"].map((name) => ({ name, number: true }))];
      [this.first, this.last] = [first + 1, first + 1];
      this.rows = rows.flatMap((i) =>
        [...loadings[i]].map(([k, value]) => [...named(i), level.factors[k].name, value, level.h2[i]]),
      );
    } else {
      const names = [...level.factors.map(({ name }) => name), "h2", "u2", "com"];
      this.columns = [...heads, ...names.map((name) => ({ name, number: true }))];
      [this.first, this.last] = [first, first + d - 1];
      this.rows = rows.map((i) => [
        ...named(i),
        ...level.factors.map((_, k) => loadings[i].get(k) ?? null),
        level.h2[i],
        1 - level.h2[i],
        this.#complexity([...loadings[i].values()]),
      ]);
    }
    this.#paint();
  }

  #marked(level, i) {
    return `${this.items[i]}${level.attached.includes(i) ? "+" : ""}`;
  }

  /** Items by their strongest factor, the strongest first; those without any last. */
  #sortedItems(loadings) {
    const strongest = loadings.map((own) =>
      [...own].reduce((best, [k, value]) => (Math.abs(value) > best[1] ? [k, Math.abs(value)] : best), [Infinity, 0]),
    );
    const way = (a, b) => (strongest[a][0] === strongest[b][0] ? strongest[b][1] - strongest[a][1] : strongest[a][0] - strongest[b][0]);
    return [...this.items.keys()].sort(way);
  }

  /** Hofmann's (Σλ²)² / Σλ⁴. */
  #complexity(values) {
    const sum = (power) => values.reduce((total, value) => total + value ** power, 0);
    return values.length ? sum(2) ** 2 / sum(4) : null;
  }

  /** Cells as text, in the order shown. */
  cells() {
    return this.#sorted()
      .filter((row) => !this.long || Math.abs(row[this.first]) >= this.cutoff)
      .map((row) => row.map((value, c) => this.#cell(value, c)));
  }

  #isLoading(c) {
    return c >= this.first && c <= this.last;
  }

  #cell(value, c) {
    if (typeof value === "string") return value;
    if (value === null || (this.#isLoading(c) && Math.abs(value) < this.cutoff)) return "";
    return this.columns[c].name === "com" && c > this.last ? value.toFixed(1) : value.toFixed(2);
  }

  #sorted() {
    const { column, down } = this.order;
    if (column < 0) return this.rows;
    const key = (row) => (this.#isLoading(column) && row[column] !== null ? Math.abs(row[column]) : row[column]);
    const compare = (a, b) => {
      if (key(a) === null || key(b) === null) return (key(a) === null) - (key(b) === null);
      const way = typeof key(a) === "string" ? key(a).localeCompare(key(b)) : key(a) - key(b);
      return down ? -way : way;
    };
    return [...this.rows].sort(compare);
  }

  #sortBy(column) {
    const again = this.order.column === column;
    this.order = { column, down: again ? !this.order.down : Boolean(this.columns[column].number) };
    this.#paint(column);
  }

  #paint(focus = null) {
    const columns = this.columns.map((column, c) => {
      const sort = this.order.column !== c ? "none" : this.order.down ? "descending" : "ascending";
      const arrow = { none: "", ascending: " \u25b2", descending: " \u25bc" }[sort];
      const about = { type: "button", class: "link", title: column.name, onclick: () => this.#sortBy(c) };
      return { ...column, sort, label: make("button", about, `${inShort(column.name, 16)}${arrow}`) };
    });
    const rows = this.cells().map((cells) => ({
      cells: cells.map((text, c) => (this.#isLoading(c) && text ? shaded(Number(text), trueMinus(text)) : text)),
    }));
    const table = makeTable({ class: "loadings", "aria-label": "Loadings" }, columns, rows);
    refill(this.sheet, table);
    if (focus !== null) table.querySelectorAll("thead button")[focus].focus();
  }

  csv() {
    const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const names = this.columns.map(({ name }) => name);
    return [names, ...this.cells()].map((row) => row.map(quoted).join(",")).join("\n") + "\n";
  }

  latex() {
    const signs = {
      "\\": "\\textbackslash{}",
      "~": "\\textasciitilde{}",
      "^": "\\textasciicircum{}",
      "<": "\\textless{}",
      ">": "\\textgreater{}",
      "|": "\\textbar{}",
    };
    const escaped = (text) => text.replace(/[&%$#_{}~^\\<>|]/g, (sign) => signs[sign] ?? `\\${sign}`);
    const line = (row) => `${row.map(escaped).join(" & ")} \\\\`;
    const sides = this.columns.map(({ number }) => (number ? "r" : "l")).join("");
    const body = [line(this.columns.map(({ name }) => name)), "\\midrule", ...this.cells().map(line)];
    const table = [`\\begin{tabular}{${sides}}`, "\\toprule", ...body, "\\bottomrule", "\\end{tabular}", ""];
    return table.join("\n");
  }
}
