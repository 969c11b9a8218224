// The path at a glance, above the slider and to its scale: number of factors, criterion, barcode.

const PADDING = 8; // half a slider's thumb, so that chart and slider agree
const ROWS_SHOWN = 16;

class PathChart {
  constructor(path, numbers) {
    this.path = path;
    this.criterion = numbers.criterion;
    this.chosen = numbers.chosen;
    this.place = make("div", { class: "chart" });
    this.width = 0;
    new ResizeObserver(() => this.fit()).observe(this.place);
  }

  /** Move the line that marks the threshold. */
  mark(tau) {
    this.tau = tau;
    if (this.line) {
      const x = this.#x(tau);
      this.line.setAttribute("x1", x);
      this.line.setAttribute("x2", x);
    }
  }

  #x(tau) {
    return PADDING + (tau / this.path.top) * (this.width - 2 * PADDING);
  }

  /** Draw again, in the colors of other factors. */
  repaint() {
    if (this.width) this.#draw();
  }

  /** Draw to the width there is; hidden, for the printer. */
  fit() {
    const width = this.place.clientWidth || (this.width ? 0 : 720);
    if (!width || width === this.width) return;
    this.width = width;
    this.#draw();
  }

  #draw() {
    const { width } = this;
    const parts = [this.#factors(), this.#criterion(), this.#bars()].filter(Boolean);
    let top = 0;
    const groups = parts.map((part) => {
      const group = draw("g", { transform: `translate(0, ${top})` }, ...part.marks);
      top += part.height;
      return group;
    });
    this.line = draw("line", { y1: 0, y2: top, class: "now" });
    const picture = draw(
      "svg",
      { viewBox: `0 0 ${width} ${top + 16}`, role: "img", "aria-label": this.#said() },
      ...groups,
      ...this.#ticks(top),
      this.line,
    );
    this.place.replaceChildren(picture);
    this.mark(this.tau ?? 0);
  }

  #said() {
    const most = Math.max(0, ...this.path.scores.map((row) => row.factors));
    const what = `Number of factors, ${this.criterion} and barcode against the threshold`;
    return `${what}; at most ${several(most, "factor")} at one threshold.`;
  }

  #label(text, y) {
    return draw("text", { x: PADDING, y, class: "label" }, text);
  }

  /** Steps of a quantity of the structures over the threshold; gaps where it is unknown. */
  #steps(rows, value, top, height, low, high, kind) {
    const y = (v) => top + height - ((v - low) / (high - low || 1)) * height;
    let line = "";
    let before = null;
    for (const row of rows) {
      const v = value(row);
      if (v === null) continue;
      const [left, right] = [this.#x(row.low), this.#x(Math.min(row.high, this.path.top))];
      const joint = before === row.low ? "L" : "M";
      line += `${joint}${left.toFixed(1)},${y(v).toFixed(1)}H${right.toFixed(1)}`;
      before = row.high;
    }
    return draw("path", { d: line, class: kind });
  }

  /** The structures, and none between them. */
  #withGaps() {
    const rows = [];
    let before = 0;
    for (const row of [...this.path.scores, { low: this.path.top, high: this.path.top, factors: 0 }]) {
      if (row.low > before) rows.push({ low: before, high: row.low, factors: 0 });
      rows.push(row);
      before = row.high;
    }
    return rows;
  }

  #factors() {
    const counts = this.path.scores.map((row) => row.factors);
    if (!counts.length) return null;
    const most = Math.max(...counts);
    const line = this.#steps(this.#withGaps(), (row) => row.factors, 18, 32, 0, most, "steps");
    const marks = [this.#label(`number of factors (0 to ${most})`, 10), line];
    return { marks: [...this.#shade(54), ...marks], height: 58 };
  }

  #criterion() {
    const values = this.path.scores.map((row) => row.criterion).filter((value) => value !== null);
    if (!values.length) return null;
    const [least, most] = [Math.min(...values), Math.max(...values)];
    const about = `${this.criterion} (${shown(least, 0)} to ${shown(most, 0)}, smaller is better)`;
    const line = this.#steps(this.path.scores, (row) => row.criterion, 18, 32, least, most, "steps criterion");
    return { marks: [...this.#shade(54), this.#label(about, 10), line], height: 58 };
  }

  /** The chosen interval of thresholds, if one threshold was chosen for all factors. */
  #shade(height) {
    if (!this.chosen) return [];
    const [low, high] = this.chosen.map((tau) => this.#x(tau));
    return [draw("rect", { x: low, width: Math.max(high - low, 1), y: 0, height, class: "chosen" })];
  }

  #bars() {
    const bars = this.#shownBars();
    if (!bars.length) return null;
    const marks = bars.map(({ bar, factor }, row) => {
      const [left, right] = [this.#x(bar.birth), this.#x(bar.death)];
      const kind = factor < 0 ? "bar other" : "bar";
      const box = { x: left, y: 18 + row * 9, width: Math.max(right - left, 1), height: 6 };
      const mark = draw("rect", { ...box, class: kind });
      if (factor >= 0) mark.style.fill = colorOf(this.path.factors[factor].color);
      const name = factor < 0 ? "other" : this.path.factors[factor].name;
      const items = bar.items.map((i) => this.path.items[i]).join(", ");
      mark.append(draw("title", {}, `${name}: ${items}; ${shown(bar.birth, 3)} to ${shown(bar.death, 3)}`));
      return mark;
    });
    const about = "barcode (cores of the factors in color)";
    return { marks: [this.#label(about, 10), ...marks], height: 22 + bars.length * 9 };
  }

  /** Bars that the factors of the level are read off, then the longest-lived others. */
  #shownBars() {
    const cores = new Map();
    this.path.factors.forEach((factor, k) => {
      if (factor.core >= 0) cores.set(factor.core, k);
    });
    const own = [...cores].slice(0, 40).map(([b, factor]) => ({ bar: this.path.bars[b], factor }));
    const room = Math.max(4, ROWS_SHOWN - own.length);
    const others = this.path.bars.map((bar, b) => ({ bar, factor: -1, b })).filter(({ b }) => !cores.has(b));
    return [...own, ...others.slice(0, room)];
  }

  #ticks(top) {
    const step = this.width < 500 ? 0.2 : 0.1;
    const ticks = [];
    for (let tau = 0; tau <= this.path.top + 1e-9; tau += step) {
      const last = tau + step > this.path.top + 1e-9;
      const x = last ? Math.min(this.#x(tau), this.width - 10) : Math.max(this.#x(tau), 10);
      ticks.push(draw("text", { x, y: top + 12, class: "tick" }, tau.toFixed(1)));
    }
    return ticks;
  }
}
