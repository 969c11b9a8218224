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
    this.sameButton = make("button", { type: "button", "aria-pressed": "false", onclick: () => this.#showChosen() }, "Show the chosen factors, each at its own threshold");
    document.getElementById("explore").append(
      make("p", { id: "keys", class: "hint" }, `Two items are joined when their dependence exceeds the threshold. Groups that are all joined, with at least one item joined to nothing else, light up. ${keys}`),
      steer,
      this.chart.place,
      this.path.factors.length ? make("p", {}, this.sameButton) : "",
      make(
        "div",
        { class: "columns" },
        make("div", {}, this.graph.figure, this.why),
        make("div", {}, this.readout, make("div", { class: "wide scrolled", role: "region", "aria-label": "Items by factor", tabindex: "0" }, this.table)),
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
      return this.path.factors.map((factor, k) => ({ items: factor.items, factor: k, name: factor.name, from: factor.from ?? 0, unique: factor.unique, birth: factor.from, death: factor.to }));
    }
    return this.path.cliques(this.tau).map((bar) => ({ ...bar, ...this.path.named(bar.items), from: this.tau }));
  }

  #paint() {
    this.cliques = this.#cliques();
    const chosen = this.mode === "chosen";
    const covered = new Set(this.cliques.flatMap((clique) => clique.items)).size;
    const found = `${several(this.cliques.length, "factor")} of ${covered} of ${several(this.path.items.length, "item")}`;
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
    this.graph.draw({ tau: this.tau, cliques: this.cliques, picked: this.picked, chords: !chosen, caption: this.said });
    this.#paintWhy();
  }

  #paintReadout(chosen) {
    const cliques = this.path.cliques(this.tau);
    const [low, high] = this.path.span(this.tau);
    const margin = this.path.margin(chosen ? this.path.factors : cliques);
    const pairs = this.path.sorted.length;
    const rows = chosen
      ? [["Structure", "the chosen one; colours join pairs above each factor\u2019s own threshold"]]
      : [
          ["Factors here", `${cliques.length}, the same from ${shown(low, 3)} to ${shown(high, 3)}`],
          ["Pairs joined", `${this.path.joins(this.tau)} of ${pairs}`],
        ];
    rows.push(["Margin", margin ? this.#marginText(margin) : "none: no factor at this threshold"]);
    rows.push([this.numbers.criterion, this.#criterionText(chosen)]);
    this.readout.replaceChildren(...rows.map(([name, text]) => make("div", {}, make("dt", {}, name), make("dd", {}, text))));
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
    const gap = best === null ? "" : this.#gapText(row.criterion - best);
    const others = Object.entries(row.others).map(([name, value]) => `; ${name} ${shown(value, 1)}`);
    return `${shown(row.criterion, 1)}${gap}${others.join("")}`;
  }

  #gapText(gap) {
    if (Math.abs(gap) < 0.05) return ", the chosen structure\u2019s";
    return `, ${shown(Math.abs(gap), 1)} ${gap > 0 ? "above" : "below"} the chosen structure\u2019s`;
  }

  #paintTable(covered) {
    const body = this.cliques.map((clique) => this.#row(clique));
    const inside = new Set(this.cliques.flatMap((clique) => clique.items));
    const rest = this.numbers.order.filter((i) => !inside.has(i));
    if (rest.length) body.push(make("tr", {}, make("th", { scope: "row" }, "none"), make("td"), make("td", {}, this.#buttons(rest, new Set()))));
    const head = ["factor", "thresholds", `items (${covered} in factors)`].map((name) => make("th", { scope: "col" }, name));
    this.table.replaceChildren(make("caption", {}, this.said), make("thead", {}, make("tr", {}, head)), make("tbody", {}, body));
  }

  #row(clique) {
    const open = () => this.showFactor(clique.factor);
    const name = clique.factor >= 0 ? make("button", { type: "button", class: "link", title: "Show how its items answer", onclick: open }, clique.name) : clique.name;
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
      return make("button", { type: "button", class: "item", onpointerenter: look, onfocus: look, onclick: look }, `${this.path.items[i]}${own}`);
    });
  }

  #paintWhy() {
    if (this.picked === null) {
      this.why.replaceChildren(make("p", { class: "hint" }, "Point at an item, or go to it with the Tab key, to see its joins and why it is in or out of a factor. * the factor\u2019s own item."));
      return;
    }
    const i = this.picked;
    const lines = reasons(this.path, i, this.tau, this.path.cliques(this.tau));
    const heading = make("h3", {}, `${this.path.items[i]} at ${shown(this.tau, 3)}`);
    const final = make("p", {}, `In the chosen structure: ${this.numbers.verdicts[i]}`);
    this.why.replaceChildren(heading, ...lines.map((line) => make("p", {}, line)), final);
  }
}
