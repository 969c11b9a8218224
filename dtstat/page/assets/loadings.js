// The table of loadings: sorted by a click on a head, small ones blank, copied as CSV or LaTeX.

class LoadingTable {
  constructor(numbers) {
    this.columns = numbers.table.columns;
    this.rows = numbers.table.rows;
    this.firstLoading = numbers.table.firstLoading;
    this.lastLoading = numbers.table.lastLoading;
    this.long = numbers.table.long;
    this.cutoff = 0.3;
    this.order = { column: -1, down: false };
    this.table = make("table", { class: "loadings" });
    this.#build();
    this.#paint();
  }

  #build() {
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
    document.getElementById("loadings").append(
      make("div", { class: "steer" }, make("label", { for: "cutoff" }, "Leave loadings blank below"), out, slider),
      make(
        "p",
        { class: "buttons" },
        copyButton("Copy as CSV", () => this.csv()),
        copyButton("Copy as LaTeX", () => this.latex()),
      ),
      make("div", { class: "wide scrolled", role: "region", "aria-label": "Loadings", tabindex: "0" }, this.table),
    );
  }

  /** Cells as text, in the order shown. */
  cells() {
    return this.#sorted()
      .filter((row) => !this.long || Math.abs(row[this.firstLoading]) >= this.cutoff)
      .map((row) => row.map((value, c) => this.#cell(value, c)));
  }

  #isLoading(c) {
    return c >= this.firstLoading && c <= this.lastLoading;
  }

  #cell(value, c) {
    if (typeof value === "string") return value;
    if (value === null || (this.#isLoading(c) && Math.abs(value) < this.cutoff)) return "";
    return this.columns[c] === "com" ? value.toFixed(1) : value.toFixed(2);
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
    const text = typeof this.rows[0]?.[column] === "string";
    const again = this.order.column === column;
    this.order = { column, down: again ? !this.order.down : !text };
    this.#paint(column);
  }

  #paint(focus = null) {
    const heads = this.columns.map((name, c) => {
      const sort = this.order.column !== c ? "none" : this.order.down ? "descending" : "ascending";
      const arrow = { none: "", ascending: " \u25b2", descending: " \u25bc" }[sort];
      const button = { type: "button", class: "link", onclick: () => this.#sortBy(c) };
      return make("th", { scope: "col", "aria-sort": sort }, make("button", button, `${name}${arrow}`));
    });
    const rows = this.cells().map((cells) =>
      make("tr", {}, cells.map((text, c) => (c === 0 ? make("th", { scope: "row" }, text) : this.#td(text, c)))),
    );
    this.table.replaceChildren(make("thead", {}, make("tr", {}, heads)), make("tbody", {}, rows));
    if (focus !== null) this.table.querySelectorAll("thead button")[focus].focus();
  }

  #td(text, c) {
    const cell = make("td", {}, text.replace("-", "\u2212"));
    if (this.#isLoading(c) && text) {
      const depth = Math.min(1, Math.abs(Number(text))) * 0.3;
      cell.style.background = Number(text) < 0 ? `rgba(213, 94, 0, ${depth})` : `rgba(0, 114, 178, ${depth})`;
    }
    return cell;
  }

  csv() {
    const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    return [this.columns, ...this.cells()].map((row) => row.map(quoted).join(",")).join("\n") + "\n";
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
    const sides = this.columns.map((_, c) => (typeof this.rows[0]?.[c] === "string" ? "l" : "r")).join("");
    const body = [line(this.columns), "\\midrule", ...this.cells().map(line)];
    const table = [`\\begin{tabular}{${sides}}`, "\\toprule", ...body, "\\bottomrule", "\\end{tabular}", ""];
    return table.join("\n");
  }
}
