// The explorer: a slider over the exact path, and what each threshold gives.

const LONG_TREE = 40; // items beside which there is room below the graph

class Explorer {
  constructor(numbers, levels, showFactor) {
    this.numbers = numbers;
    this.levels = levels;
    this.path = new Path(numbers);
    this.showFactor = showFactor;
    this.picked = null;
    this.paint = eachFrame(() => this.#paint());
    this.repaintItem = eachFrame(() => this.#paintItem());
    this.graph = new Graph(this.path, numbers.order, (item) => this.pick(item));
    this.chart = new PathChart(this.path, numbers);
    this.readout = make("dl", { class: "readout" });
    this.table = sheet();
    this.why = make("div", { class: "why" });
    this.#build();
    this.chart.fit();
    this.go(numbers.start);
    let first = Boolean(numbers.chosen); // one threshold for all factors: it is shown
    levels.follow((level) => {
      this.path.factors = level.factors;
      this.chart.repaint();
      if (!first) this.#showLevel();
      first = false;
    });
  }

  /** Show the structure at a threshold. */
  go(tau) {
    this.tau = tau;
    this.mode = "threshold";
    this.slider.value = tau;
    this.paint();
  }

  /** Look at an item, or at none. */
  pick(item) {
    if (item === this.picked) return;
    this.picked = item;
    this.repaintItem();
  }

  #build() {
    this.slider = make("input", {
      type: "range",
      id: "threshold",
      min: 0,
      max: this.path.top,
      step: "any",
      "aria-describedby": "keys",
      oninput: () => this.go(Number(this.slider.value)),
      onkeydown: (event) => this.#key(event),
    });
    this.now = make("output", { for: "threshold" });
    const keys = "Arrow keys: next graph. Page keys: next set of factors. Home and End: the ends.";
    const steer = make(
      "div",
      { class: "steer" },
      make("label", { for: "threshold" }, `Threshold on |${this.path.measure}|`),
      this.now,
      this.slider,
    );
    this.sameButton = make(
      "button",
      { type: "button", "aria-pressed": "false", onclick: () => (this.mode === "level" ? this.go(this.tau) : this.#showLevel()) },
      "Show the factors of the level, each at its own threshold",
    );
    const rule =
      "Two items are joined when their dependence exceeds the threshold. Groups that are all joined, with at least " +
      "one item joined to nothing else, light up.";
    const left = make("div");
    const right = make(
      "div",
      {},
      make("h3", {}, "Thresholds"),
      make("p", { id: "keys", class: "hint" }, `${rule} ${keys}`),
      steer,
      this.chart.place,
      this.levels.current ? make("p", {}, this.sameButton) : null,
      this.graph.figure,
    );
    document.getElementById("explore").append(make("div", { class: "columns" }, left, right));
    if (this.numbers.tree) drawTree(this.numbers, this.levels, left);
    (this.numbers.tree && this.path.items.length > LONG_TREE ? right : left).append(this.readout, this.table, this.why);
  }

  #key(event) {
    const moves = {
      ArrowRight: () => this.path.nextGraph(this.tau, 1),
      ArrowUp: () => this.path.nextGraph(this.tau, 1),
      ArrowLeft: () => this.path.nextGraph(this.tau, -1),
      ArrowDown: () => this.path.nextGraph(this.tau, -1),
      PageUp: () => this.path.nextStructure(this.tau, 1),
      PageDown: () => this.path.nextStructure(this.tau, -1),
      Home: () => 0,
      End: () => this.path.top,
    };
    if (!(event.key in moves) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.go(moves[event.key]());
  }

  #showLevel() {
    this.mode = "level";
    this.paint();
  }

  /** What is drawn: the cliques at the threshold, or the factors of the level. */
  #cliques() {
    if (this.mode === "level") {
      return this.path.factors.map((factor, k) => ({
        ...factor,
        factor: k,
        from: factor.from ?? 0,
        birth: factor.from,
        death: factor.to,
      }));
    }
    return this.path.cliques(this.tau).map((bar) => {
      const named = this.path.named(bar.items);
      const color = named.factor < 0 ? -1 : this.path.factors[named.factor].color;
      return { ...bar, ...named, color, from: this.tau };
    });
  }

  /** Whether the level that is looked at is the one that was chosen. */
  get #atChoice() {
    return this.levels.current?.n === this.levels.chosen;
  }

  #paint() {
    this.cliques = this.#cliques();
    const whole = this.mode === "level";
    const covered = new Set(this.cliques.flatMap((clique) => clique.items)).size;
    const all = several(this.path.items.length, "item");
    const found = `${several(this.cliques.length, "factor")} of ${covered} of ${all}`;
    this.said = whole ? `${this.#atChoice ? "Chosen" : "Level"}: ${found}.` : `At ${shown(this.tau, 3)}: ${found}.`;
    this.now.textContent = shown(this.tau, 3);
    this.now.dataset.exact = this.tau; // the slider itself keeps 15 digits
    this.slider.setAttribute("aria-valuetext", `${shown(this.tau, 3)}: ${found}`);
    this.sameButton.setAttribute("aria-pressed", String(whole));
    this.chart.mark(this.tau);
    this.#paintReadout(whole);
    this.#paintTable(covered);
    this.#paintItem();
  }

  #paintItem() {
    const whole = this.mode === "level";
    const near = this.picked === null ? [] : this.#joined(this.picked, whole);
    const { tau, cliques, picked, said } = this;
    this.graph.draw({ tau, cliques, picked, near, chords: !whole, caption: said });
    this.#paintWhy(whole);
  }

  /** Items joined to an item: above the threshold, or within its factors above theirs. */
  #joined(item, whole) {
    if (!whole) return this.path.neighbors(item, this.tau);
    const own = this.cliques.filter(({ items }) => items.includes(item));
    return own.flatMap(({ items, from }) => this.path.neighbors(item, from).filter((j) => items.includes(j)));
  }

  #paintReadout(whole) {
    const cliques = this.path.cliques(this.tau);
    const [low, high] = this.path.span(this.tau);
    const margin = this.path.margin(whole ? this.path.factors : cliques);
    const pairs = this.path.sorted.length;
    const level = this.#atChoice ? "the chosen one" : "that of the level";
    const rows = whole
      ? [["Structure", `${level}; colors join pairs above each factor\u2019s own threshold`]]
      : [
          ["Factors here", `${cliques.length}, the same from ${shown(low, 3)} to ${shown(high, 3)}`],
          ["Pairs joined", `${this.path.joins(this.tau)} of ${pairs}`],
        ];
    rows.push(["Margin", margin ? this.#marginText(margin) : "none: no factor at this threshold"]);
    if (!whole || this.#atChoice) rows.push([this.numbers.criterion, this.#criterionText(whole)]);
    const row = ([name, text]) => make("div", {}, make("dt", {}, name), make("dd", {}, text));
    this.readout.replaceChildren(...rows.map(row));
  }

  #marginText({ value, weakest, strongest }) {
    const pair = ({ i, j }) => namedPair(this.path, i, j);
    const outside = strongest ? `, strongest pair between ${pair(strongest)}` : "";
    return `${shown(value, 3)} (weakest pair within ${pair(weakest)}${outside})`;
  }

  #criterionText(whole) {
    const best = this.numbers.chosenCriterion;
    if (whole) return best === null ? "see How sure" : `${shown(best, 1)} (chosen)`;
    const row = this.path.score(this.tau);
    if (!row) return "no factor at this threshold";
    if (row.criterion === null) return "not fitted: this structure holds over a sliver of the threshold";
    const gap = best === null ? ", by the copula" : this.#gapText(row.criterion - best);
    const others = Object.entries(row.others).map(([name, value]) => `; ${name} ${shown(value, 1)}`);
    const covered = new Set(this.cliques.flatMap((clique) => clique.items)).size;
    const completed = this.numbers.attach && covered < this.path.items.length;
    const how = completed ? ". With items of no factor attached to one where that pays." : "";
    return `${shown(row.criterion, 1)}${gap}${others.join("")}${how}`;
  }

  #gapText(gap) {
    if (Math.abs(gap) < 0.05) return ", the chosen structure\u2019s";
    return `, ${shown(Math.abs(gap), 1)} ${gap > 0 ? "above" : "below"} the chosen structure\u2019s`;
  }

  #paintTable(covered) {
    const rows = this.cliques.map((clique) => this.#row(clique));
    const inside = new Set(this.cliques.flatMap((clique) => clique.items));
    const rest = this.numbers.order.filter((i) => !inside.has(i));
    if (rest.length) rows.push({ cells: ["none", "", this.#buttons(rest, new Set())] });
    const range = this.mode === "level" ? "core seen at" : "thresholds";
    const columns = ["factor", range, `items (${covered} in factors)`].map((name) => ({ name }));
    refill(this.table, makeTable({ class: "factors" }, columns, rows, this.said));
  }

  #row(clique) {
    const open = () => this.showFactor(clique.factor);
    const link = { type: "button", class: "link", title: "Show how its items answer", onclick: open };
    const curved = clique.factor >= 0 && this.showFactor && this.#atChoice;
    const name = curved ? [make("button", link, clique.name)] : broken(clique.name);
    const range = clique.birth === null ? "" : `${shown(clique.birth, 3)} to ${shown(clique.death, 3)}`;
    return { cells: [[swatch(clique.color), ...name], range, this.#buttons(clique.items, new Set(clique.unique))] };
  }

  #buttons(items, unique) {
    return items.map((i) => {
      const look = () => this.pick(i);
      const own = unique.has(i) ? "*" : "";
      const events = { onpointerenter: look, onfocus: look, onclick: look };
      return make("button", { type: "button", class: "item", ...events }, `${this.numbers.items[i]}${own}`);
    });
  }

  #paintWhy(whole) {
    if (this.picked === null) {
      const hint =
        "Point at an item, or go to it with the Tab key, to see its joins and why it is in or out of a factor. " +
        "* the factor\u2019s own item.";
      this.why.replaceChildren(make("p", { class: "hint" }, hint));
      return;
    }
    const i = this.picked;
    const verdict = this.levels.current ? itemVerdict(this.levels.current, i) : "";
    const structure = this.#atChoice ? "the chosen structure" : "the level";
    const [where, lines] = whole
      ? [`in ${structure}`, [`It ${verdict}`, ...levelReasons(this.path, i)]]
      : [`at ${shown(this.tau, 3)}`, reasons(this.path, i, this.tau, this.cliques)];
    if (!whole && verdict) lines.push(`In ${structure} it ${verdict}`);
    const text = this.numbers.texts[i];
    this.why.replaceChildren(
      make("h3", {}, `${this.path.items[i]} ${where}`),
      ...(text ? [make("p", { class: "text" }, text)] : []),
      ...lines.map((line) => make("p", {}, line)),
    );
  }
}
