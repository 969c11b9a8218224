// How items answer to a factor: one small picture per item, with its band where one is known.

const [CURVE_WIDTH, CURVE_HEIGHT] = [190, 130];
const FRAME = { left: 34, right: 8, top: 20, bottom: 22 };

class CurvePanel {
  constructor(numbers, levels) {
    this.curves = numbers.curves;
    this.factors = numbers.levels.find(({ n }) => n === numbers.chosenLevel).factors;
    this.chosen = make("p", { class: "note" });
    this.items = numbers.items;
    this.grid = numbers.grid;
    this.labels = tellingNames(numbers.items);
    this.groups = this.factors.map((_, k) => this.#group(k));
    this.buttons = this.factors.map((factor, k) =>
      make("button", { type: "button", "aria-pressed": "false", onclick: () => this.show(k) }, swatch(k), factor.name),
    );
    const choices = make("div", { class: "choices", role: "group", "aria-label": "Factor" }, this.buttons);
    document.getElementById("responses").append(this.chosen, choices, ...this.groups);
    levels.follow((level) => this.#say(level, levels.chosen));
    this.show(0);
  }

  /** Show the items of a factor; on paper all are. */
  show(k) {
    this.buttons.forEach((button, other) => button.setAttribute("aria-pressed", String(other === k)));
    this.groups.forEach((group, other) => group.classList.toggle("closed", other !== k));
  }

  #say({ n }, chosen) {
    this.chosen.textContent = n === chosen ? "" : `The curves are those of the chosen level with ${several(chosen, "factor")}.`;
  }

  #group(k) {
    const own = this.curves.filter((curve) => curve.factor === k);
    const pictures = own.map((curve) => this.#picture(curve, k));
    return make("div", { class: "group" }, make("h3", {}, this.factors[k].name), make("div", { class: "curves" }, pictures));
  }

  #picture(curve, k) {
    const { left, right, top, bottom } = FRAME;
    const known = curve.lower !== null;
    const all = known ? [...curve.value, ...curve.lower, ...curve.upper] : curve.value;
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const z = this.grid;
    const x = (value) => left + ((value - z[0]) / (z[z.length - 1] - z[0])) * (CURVE_WIDTH - left - right);
    const y = (value) => CURVE_HEIGHT - bottom - ((value - low) / (high - low || 1)) * (CURVE_HEIGHT - top - bottom);
    const points = (values) => values.map((value, g) => `${x(z[g]).toFixed(1)},${y(value).toFixed(1)}`);
    const name = this.items[curve.item];
    const line = draw("polyline", { points: points(curve.value).join(" "), class: "curve" });
    line.style.stroke = colorOf(k);
    const around = known ? [...points(curve.lower), ...points(curve.upper).reverse()] : [];
    const band = draw("polygon", { points: around.join(" "), class: "band" });
    band.style.fill = colorOf(k);
    const [from, to] = [curve.value[0], curve.value[z.length - 1]].map((value) => shown(value));
    const about = `${name}: from ${from} at the lowest ${this.factors[k].name} to ${to} at the highest`;
    return draw(
      "svg",
      { viewBox: `0 0 ${CURVE_WIDTH} ${CURVE_HEIGHT}`, role: "img", "aria-label": about },
      draw("title", {}, about),
      band,
      draw("path", { d: `M${left},${top}V${CURVE_HEIGHT - bottom}H${CURVE_WIDTH - right}`, class: "axis" }),
      line,
      draw("text", { x: left, y: 12, class: "name" }, shortened(this.labels[curve.item], 20)),
      draw("text", { x: left - 4, y: y(low), class: "tick end" }, shown(low, 1)),
      draw("text", { x: left - 4, y: y(high) + 8, class: "tick end" }, shown(high, 1)),
      ...[-2, 0, 2].map((value) => draw("text", { x: x(value), y: CURVE_HEIGHT - 8, class: "tick" }, shown(value, 0))),
    );
  }
}
