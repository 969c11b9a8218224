// The explorer: a slider over the exact path, and what each threshold gives.

class Explorer {
  constructor(numbers, showFactor) {
    this.numbers = numbers;
    this.path = new Path(numbers);
    this.showFactor = showFactor;
    this.picked = null;
    this.paint = eachFrame(() => this.#paint());
    this.repaintItem = eachFrame(() => this.#paintItem());
    this.graph = new Graph(this.path, numbers.order, (item) => this.pick(item));
    this.chart = new PathChart(this.path, numbers);
    this.readout = make("dl", { class: "readout" });
    this.table = make("table", { class: "factors" });
    this.why = make("div", { class: "why" });
    this.#build();
    this.go(numbers.start);
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
      { type: "button", "aria-pressed": "false", onclick: () => this.#showChosen() },
      `Show the chosen factors${this.numbers.chosen ? ", attached items too" : ", each at its own threshold"}`,
    );
    const rule =
      "Two items are joined when their dependence exceeds the threshold. Groups that are all joined, with at least " +
      "one item joined to nothing else, light up.";
    const scrolled = { class: "wide scrolled", role: "region", "aria-label": "Items by factor", tabindex: "0" };
    document.getElementById("explore").append(
      make("p", { id: "keys", class: "hint" }, `${rule} ${keys}`),
      steer,
      this.chart.place,
      this.path.factors.length ? make("p", {}, this.sameButton) : "",
      make(
        "div",
        { class: "columns" },
        make("div", {}, this.graph.figure, this.why),
        make("div", {}, this.readout, make("div", scrolled, this.table)),
      ),
    );
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

  #showChosen() {
    this.mode = this.mode === "chosen" ? "threshold" : "chosen";
    this.paint();
  }

  /** What is drawn: the cliques at the threshold, or the chosen factors. */
  #cliques() {
    if (this.mode === "chosen") {
      return this.path.factors.map((factor, k) => ({
        ...factor,
        factor: k,
        from: factor.from ?? 0,
        birth: factor.from,
        death: factor.to,
      }));
    }
    return this.path.cliques(this.tau).map((bar) => ({ ...bar, ...this.path.named(bar.items), from: this.tau }));
  }

  #paint() {
    this.cliques = this.#cliques();
    const chosen = this.mode === "chosen";
    const covered = new Set(this.cliques.flatMap((clique) => clique.items)).size;
    const all = several(this.path.items.length, "item");
    const found = `${several(this.cliques.length, "factor")} of ${covered} of ${all}`;
    this.said = chosen ? `Chosen: ${found}.` : `At ${shown(this.tau, 3)}: ${found}.`;
    this.now.textContent = shown(this.tau, 3);
    this.now.dataset.exact = this.tau; // the slider itself keeps 15 digits
    this.slider.setAttribute("aria-valuetext", `${shown(this.tau, 3)}: ${found}`);
    this.sameButton.setAttribute("aria-pressed", String(chosen));
    this.chart.mark(this.tau);
    this.#paintReadout(chosen);
    this.#paintTable(covered);
    this.#paintItem();
  }

  #paintItem() {
    const chosen = this.mode === "chosen";
    const near = this.picked === null ? [] : this.#joined(this.picked, chosen);
    const { tau, cliques, picked, said } = this;
    this.graph.draw({ tau, cliques, picked, near, chords: !chosen, caption: said });
    this.#paintWhy(chosen);
  }

  /** Items joined to an item: above the threshold, or within its chosen factors above theirs. */
  #joined(item, chosen) {
    if (!chosen) return this.path.neighbors(item, this.tau);
    const own = this.cliques.filter(({ items }) => items.includes(item));
    return own.flatMap(({ items, from }) => this.path.neighbors(item, from).filter((j) => items.includes(j)));
  }

  #paintReadout(chosen) {
    const cliques = this.path.cliques(this.tau);
    const [low, high] = this.path.span(this.tau);
    const margin = this.path.margin(chosen ? this.path.factors : cliques);
    const pairs = this.path.sorted.length;
    const rows = chosen
      ? [["Structure", "the chosen one; colors join pairs above each factor\u2019s own threshold"]]
      : [
          ["Factors here", `${cliques.length}, the same from ${shown(low, 3)} to ${shown(high, 3)}`],
          ["Pairs joined", `${this.path.joins(this.tau)} of ${pairs}`],
        ];
    rows.push(["Margin", margin ? this.#marginText(margin) : "none: no factor at this threshold"]);
    rows.push([this.numbers.criterion, this.#criterionText(chosen)]);
    const row = ([name, text]) => make("div", {}, make("dt", {}, name), make("dd", {}, text));
    this.readout.replaceChildren(...rows.map(row));
  }

  #marginText({ value, weakest, strongest }) {
    const pair = ({ i, j }) => namedPair(this.path, i, j);
    const outside = strongest ? `, strongest pair between ${pair(strongest)}` : "";
    return `${shown(value, 3)} (weakest pair within ${pair(weakest)}${outside})`;
  }

  #criterionText(chosen) {
    const best = this.numbers.chosenCriterion;
    if (chosen) return best === null ? "see Choice" : `${shown(best, 1)} (chosen)`;
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
    const body = this.cliques.map((clique) => this.#row(clique));
    const inside = new Set(this.cliques.flatMap((clique) => clique.items));
    const rest = this.numbers.order.filter((i) => !inside.has(i));
    if (rest.length) {
      const none = make("th", { scope: "row" }, "none");
      body.push(make("tr", {}, none, make("td"), make("td", {}, this.#buttons(rest, new Set()))));
    }
    const range = this.mode === "chosen" ? "core seen at" : "thresholds";
    const names = ["factor", range, `items (${covered} in factors)`];
    const head = names.map((name) => make("th", { scope: "col" }, name));
    this.table.replaceChildren(
      make("caption", {}, this.said),
      make("thead", {}, make("tr", {}, head)),
      make("tbody", {}, body),
    );
  }

  #row(clique) {
    const open = () => this.showFactor(clique.factor);
    const link = { type: "button", class: "link", title: "Show how its items answer", onclick: open };
    const name = clique.factor >= 0 && this.showFactor ? make("button", link, clique.name) : clique.name;
    const range = clique.birth === null ? "" : `${shown(clique.birth, 3)} to ${shown(clique.death, 3)}`;
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, swatch(clique.factor), name),
      make("td", { class: "range" }, range),
      make("td", {}, this.#buttons(clique.items, new Set(clique.unique))),
    );
  }

  #buttons(items, unique) {
    return items.map((i) => {
      const look = () => this.pick(i);
      const own = unique.has(i) ? "*" : "";
      const events = { onpointerenter: look, onfocus: look, onclick: look };
      return make("button", { type: "button", class: "item", ...events }, `${this.path.items[i]}${own}`);
    });
  }

  #paintWhy(chosen) {
    if (this.picked === null) {
      const hint =
        "Point at an item, or go to it with the Tab key, to see its joins and why it is in or out of a factor. " +
        "* the factor\u2019s own item.";
      this.why.replaceChildren(make("p", { class: "hint" }, hint));
      return;
    }
    const i = this.picked;
    const verdict = this.numbers.verdicts[i];
    const [where, lines] = chosen
      ? ["in the chosen structure", [`It ${verdict}`, ...chosenReasons(this.path, i)]]
      : [`at ${shown(this.tau, 3)}`, reasons(this.path, i, this.tau, this.cliques)];
    if (!chosen && this.path.factors.length) lines.push(`In the chosen structure it ${verdict}`);
    this.why.replaceChildren(
      make("h3", {}, `${this.path.items[i]} ${where}`),
      ...lines.map((line) => make("p", {}, line)),
    );
  }
}
