// The tree of factors: items at the left, joins at what one fewer factor costs, levels as strips.

const TREE = { row: 16, leafRow: 22, gap: 8, head: 38, foot: 40, bracket: 14, letter: 6.7 };

class TreeChart {
  constructor(numbers, onPick) {
    this.items = tellingNames(numbers.items);
    this.factors = numbers.levels.find(({ n }) => n === numbers.chosenLevel).factors;
    this.tree = numbers.tree;
    this.onPick = onPick;
    this.place = make("div", { class: "chart tree" });
    this.width = 0;
    new ResizeObserver(() => this.fit()).observe(this.place);
  }

  /** Shade the strip of a level. */
  mark(n) {
    this.picked = n;
    for (const strip of this.strips ?? []) strip.classList.toggle("picked", Number(strip.dataset.n) === n);
  }

  /** Draw to the width there is; hidden, for the printer. */
  fit() {
    const width = this.place.clientWidth || (this.width ? 0 : 620);
    if (!width || width === this.width) return;
    this.width = width;
    this.#layOut();
    const { floor, top } = this.tree;
    const bottom = this.height - TREE.foot;
    this.strips = this.#cuts().map(([n, low, high]) => {
      const box = { x: this.#x(low), width: this.#x(high) - this.#x(low), y: 0, height: bottom };
      const strip = draw("rect", { ...box, class: "strip", "data-n": n, onclick: () => this.onPick(n) });
      strip.append(draw("title", {}, several(n, "factor")));
      return strip;
    });
    const picture = draw(
      "svg",
      { viewBox: `0 0 ${width} ${this.height}`, role: "img", "aria-label": this.#said() },
      ...this.strips,
      ...this.#rows(),
      ...this.#branches(),
      ...this.#levels(bottom),
      draw("path", { d: `M${this.#x(floor)},${bottom}H${this.#x(top)}`, class: "axis" }),
      ...this.#ticks(bottom),
    );
    this.place.replaceChildren(picture);
    this.mark(this.picked);
  }

  #x(price) {
    const { floor, top } = this.tree;
    return this.left + (Math.log(price / floor) / Math.log(top / floor)) * (this.width - this.left - 4);
  }

  /** Number of factors, and the prices between which there are so many. */
  #cuts() {
    const { floor, top, leaves, joins } = this.tree;
    const ends = [floor, ...joins.map((join) => join[2]), top];
    return leaves.map((_, k) => [leaves.length - k, ends[k], ends[k + 1]]);
  }

  #layOut() {
    const { leaves, outside, byItem } = this.tree;
    const label = (items) => items.map((i) => this.items[i]);
    const most = Math.max(8, Math.floor((this.width * (byItem ? 0.34 : 0.42)) / TREE.letter));
    let y = TREE.head + 6;
    const place = (items) => {
      const names = byItem ? label(items) : [label(items).join(", ")];
      const rows = names.map((name) => {
        const row = { y, name: byItem ? shortened(name, Math.min(most, 24)) : cutOff(name, most) };
        y += byItem ? TREE.row : TREE.leafRow;
        return row;
      });
      y += byItem ? TREE.gap : 0;
      return rows;
    };
    this.groups = leaves.map((leaf) => place(leaf.items));
    this.outside = outside.length ? place(outside) : [];
    const longest = Math.max(...[...this.groups, this.outside].flat().map((row) => row.name.length));
    this.names = longest * TREE.letter + 4;
    this.left = this.names + TREE.bracket + 6;
    this.height = y + TREE.foot;
  }

  #rows() {
    const text = (row) => draw("text", { x: this.names, y: row.y + 4, class: "row" }, row.name);
    const out = this.outside.length
      ? [draw("text", { x: this.left, y: this.outside[0].y + 4, class: "label" }, "in no factor")]
      : [];
    return [...[...this.groups, this.outside].flat().map(text), ...out];
  }

  #branches() {
    const { leaves, joins } = this.tree;
    const start = this.names + 5;
    const first = this.#x(this.tree.floor);
    const lines = [];
    const line = (d, color) => {
      const path = draw("path", { d, class: "branch" });
      path.style.stroke = color === null ? DARK : colorOf(color);
      lines.push(path);
    };
    const nodes = leaves.map((leaf, k) => {
      const ys = this.groups[k].map((row) => row.y);
      const [low, high] = [ys[0], ys[ys.length - 1]];
      line(`${ys.map((y) => `M${start},${y}H${first}`).join("")}M${first},${low}V${high}`, leaf.color);
      return { y: (low + high) / 2, x: first, color: leaf.color, leaves: [k] };
    });
    for (const [a, b, price] of joins) {
      const x = this.#x(price);
      const parts = [nodes[a], nodes[b]];
      for (const part of parts) line(`M${part.x},${part.y}H${x}`, part.color);
      const color = parts[0].color === parts[1].color ? parts[0].color : null;
      line(`M${x},${parts[0].y}V${parts[1].y}`, color);
      nodes.push({ y: (parts[0].y + parts[1].y) / 2, x, color, leaves: parts.flatMap((part) => part.leaves) });
    }
    const root = nodes[nodes.length - 1];
    line(`M${root.x},${root.y}h12`, root.color);
    this.nodes = nodes;
    return lines;
  }

  /** Nodes that are the factors where there are so many. */
  #factorsAt(n) {
    const { leaves, joins } = this.tree;
    const there = new Set(leaves.keys());
    joins.slice(0, leaves.length - n).forEach(([a, b], k) => {
      there.delete(a);
      there.delete(b);
      there.add(leaves.length + k);
    });
    return [...there].map((k) => this.nodes[k]);
  }

  #levels(bottom) {
    const { chosen, second } = this.tree;
    const marks = [];
    for (const [n, low, high] of this.#cuts()) {
      if (n !== chosen && n !== second) continue;
      const x = (this.#x(low) + this.#x(high)) / 2;
      const [kind, y] = n === chosen ? ["chosen-level", 12] : ["other-level", 29];
      const words = `${several(n, "factor")}${n === chosen ? " (chosen)" : ""}`;
      const half = (words.length * TREE.letter) / 2;
      const middle = Math.min(Math.max(x, half), this.width - half);
      const pick = { onclick: () => this.onPick(n) };
      marks.push(
        draw("path", { d: `M${x},${y + 5}V${bottom}`, class: kind }),
        draw("text", { x: middle, y, class: `head ${kind}`, ...pick }, words),
      );
      const name = ({ y: height, color }) => draw("text", { x, y: height + 4, class: "stem" }, inShort(this.factors[color].name, 14));
      if (n === chosen) marks.push(...this.#factorsAt(n).map(name));
    }
    return marks;
  }

  #ticks(bottom) {
    const { floor, top } = this.tree;
    const ticks = [];
    let before = -Infinity;
    for (let power = Math.floor(Math.log10(floor)); power <= Math.ceil(Math.log10(top)); power++) {
      for (const step of [1, 2, 5]) {
        const price = Number(`${step}e${power}`);
        const x = this.#x(price);
        if (price < floor || price > top || x - before < 44 || x > this.width - 14) continue;
        ticks.push(draw("text", { x, y: bottom + 14, class: "tick" }, String(price)));
        before = x;
      }
    }
    const label = "what one fewer factor costs";
    const whole = this.width - this.left > 330 ? `${label} (log-likelihood per person)` : label;
    const middle = (this.left + this.width) / 2;
    return [...ticks, draw("text", { x: middle, y: bottom + 32, class: "label middle" }, whole)];
  }

  #said() {
    const { leaves, joins, chosen } = this.tree;
    const counts = joins.map(([, , price], k) => `from ${leaves.length - k} factors ${shown(price, 3)}`);
    return `Tree of factors. What one fewer costs: ${counts.join(", ")}. Chosen: ${several(chosen, "factor")}.`;
  }
}

/** Draw the tree, whose levels are picked and followed. */
function drawTree(numbers, levels, place) {
  const chart = new TreeChart(numbers, (n) => levels.pick(n));
  place.append(make("h3", {}, "Levels"), chart.place);
  chart.fit();
  levels.follow(({ n }) => chart.mark(n));
}

const cutOff = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}\u2026`);
