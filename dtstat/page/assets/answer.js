// The answer: the factors of the level, each with its items, their texts and loadings.

const MOST_CORRELATED = 12; // factors in a square of correlations; of more, the strongest pairs are listed
const MOST_PAIRS = 30;

class Answer {
  constructor(numbers, levels) {
    this.items = numbers.items;
    this.texts = numbers.texts;
    this.levels = levels;
    this.marks = numbers.marks;
    this.said = make("span", { role: "status" });
    this.cards = make("div", { class: "cards" });
    this.note = make("p", { class: "note" });
    this.correlations = make("section");
    const loadings = make("section", { class: "part" });
    const place = document.getElementById("answer");
    const [facts, more] = [".facts", ".folds"].map((name) => place.parentElement.querySelector(name));
    if (numbers.tree) {
      place.append(make("div", { class: "columns" }, make("div", {}, facts), levelTable(levels, numbers.levelNotes)));
    }
    place.append(make("h3", {}, this.said), this.cards, this.note, make("div", { class: "parts" }, loadings, make("div", { class: "part" }, this.correlations, more)));
    new LoadingTable(numbers, levels, loadings);
    levels.follow((level) => this.#show(level));
  }

  #show(level) {
    const found = level.n === 1 ? "The factor" : `The ${level.n} factors`;
    this.said.textContent = level.n === this.levels.chosen ? found : `${found} of another level than the chosen one`;
    const rest = [...this.items.keys()].filter((i) => !level.factors.some(({ items }) => items.includes(i)));
    this.cards.replaceChildren(
      ...level.factors.map((factor, k) => this.#card(level, factor, k)),
      ...(rest.length ? [this.#outside(level, rest)] : []),
    );
    this.note.textContent = level.attached.length ? this.marks : "";
    this.#correlate(level);
  }

  #card(level, factor, k) {
    const order = factor.items.map((_, j) => j).sort((a, b) => Math.abs(factor.loadings[b]) - Math.abs(factor.loadings[a]));
    const rows = order.map((j) => this.#row(level, factor.items[j], factor.loadings[j], k));
    const about = [several(factor.items.length, "item")];
    if (factor.omega !== null) about.push(`omega ${shown(factor.omega)}`);
    if (factor.alpha !== null) about.push(`alpha ${shown(factor.alpha)}`);
    const card = make(
      "article",
      { class: "factor" },
      make("h4", {}, swatch(factor.color), broken(factor.name)),
      make("p", { class: "about" }, about.join(" \u00b7 ")),
      this.#members(factor.name, rows),
      make("p", { class: "note" }, factor.verdict),
    );
    card.style.borderTopColor = colorOf(factor.color);
    return card;
  }

  #members(name, rows) {
    const head = ["item", "loading"].map((text) => make("th", { scope: "col" }, text));
    const table = make("table", { class: "members", "aria-label": `Items of ${name}` });
    table.append(make("thead", { class: "unseen" }, make("tr", {}, head)), make("tbody", {}, rows));
    return table;
  }

  #row(level, item, loading, k) {
    const mark = level.attached.includes(item) ? "+" : "";
    const bar = make("span", { class: loading < 0 ? "bar below" : "bar", "aria-hidden": "true" });
    bar.style.width = `${Math.min(Math.abs(loading), 1) * 100}%`;
    const others = level.factors.flatMap((other, j) =>
      j !== k && other.items.includes(item) ? [`${shown(other.loadings[other.items.indexOf(item)])} on ${other.name}`] : [],
    );
    const text = this.texts[item];
    return make(
      "tr",
      {},
      make(
        "th",
        { scope: "row" },
        make("span", { class: "name" }, `${this.items[item]}${mark}`),
        text ? make("span", { class: "text" }, text) : null,
        others.length ? make("span", { class: "text" }, `also ${others.join(" and ")}`) : null,
      ),
      make("td", { class: "loading" }, make("span", { class: "value" }, shown(loading)), make("span", { class: "track" }, bar)),
    );
  }

  #outside(level, rest) {
    const rows = rest.map((i) =>
      make(
        "tr",
        {},
        make(
          "th",
          { scope: "row" },
          make("span", { class: "name" }, this.items[i]),
          this.texts[i] ? make("span", { class: "text" }, this.texts[i]) : null,
          level.reasons[i] ? make("span", { class: "text" }, level.reasons[i]) : null,
        ),
        make("td", { class: "loading" }),
      ),
    );
    return make(
      "article",
      { class: "factor none" },
      make("h4", {}, "In no factor"),
      make("p", { class: "about" }, several(rest.length, "item")),
      this.#members("no factor", rows),
    );
  }

  #correlate({ factors, correlations }) {
    if (factors.length < 2) {
      this.correlations.replaceChildren();
      return;
    }
    const square = factors.length <= MOST_CORRELATED;
    const place = sheet();
    const pairs = (factors.length * (factors.length - 1)) / 2;
    const more = !square && pairs > MOST_PAIRS ? `The strongest ${MOST_PAIRS} of ${pairs} pairs.` : "";
    this.correlations.replaceChildren(make("h3", {}, "Factor correlations"), place, make("p", { class: "note" }, more));
    refill(place, square ? this.#square(factors, correlations) : this.#pairs(factors, correlations));
  }

  #square(factors, correlations) {
    const columns = [{ name: "factor" }, ...factors.map(({ name }) => ({ name, label: inShort(name, 12), number: true }))];
    const rows = factors.map(({ name, color }, k) => ({
      cells: [
        [swatch(color), ...broken(name)],
        ...factors.map((_, j) => (j < k ? shaded(correlations[k][j], shown(correlations[k][j])) : j === k ? "1" : "")),
      ],
    }));
    return makeTable({ class: "correlations", "aria-label": "Factor correlations" }, columns, rows);
  }

  #pairs(factors, correlations) {
    const pairs = factors.flatMap((_, k) => factors.slice(0, k).map((_, j) => [j, k, correlations[k][j]]));
    pairs.sort((a, b) => Math.abs(b[2]) - Math.abs(a[2]));
    const rows = pairs.slice(0, MOST_PAIRS).map(([j, k, r]) => ({
      cells: [factors[j].name, factors[k].name, shaded(r, shown(r))],
    }));
    const columns = [{ name: "factor" }, { name: "with" }, { name: "r", number: true }];
    return makeTable({ class: "correlations", "aria-label": "Factor correlations" }, columns, rows);
  }
}
