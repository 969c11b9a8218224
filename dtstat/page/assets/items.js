// Items: reliability of the level's factors, and what people answered.

class ItemPanel {
  constructor(numbers, levels) {
    this.numbers = numbers;
    this.reliable = sheet();
    const part = (title, place) => make("section", { class: "part" }, make("h3", {}, title), place);
    document.getElementById("items").append(
      make(
        "div",
        { class: "parts" },
        levels.current ? part("Reliability", this.reliable) : null,
        numbers.described.length ? part("Answers", sheet(this.#described())) : null,
      ),
    );
    levels.follow((level) => this.#show(level));
  }

  #show(level) {
    const known = level.factors.some((factor) => factor.alpha_lower !== null || factor.omega_lower !== null);
    const sums = ["alpha", "omega"];
    const columns = [
      { name: "factor" },
      { name: "items", number: true },
      ...sums.flatMap((name) => [{ name, number: true }, ...(known ? [{ name: "95 % interval", number: true }] : [])]),
      { name: "which" },
    ];
    const interval = (factor, name) => (factor[`${name}_lower`] === null ? "" : `${shown(factor[`${name}_lower`])} to ${shown(factor[`${name}_upper`])}`);
    const rows = level.factors.map((factor) => ({
      cells: [
        [swatch(factor.color), ...broken(factor.name)],
        String(factor.items.length),
        ...sums.flatMap((name) => [shown(factor[name]), ...(known ? [interval(factor, name)] : [])]),
        factor.items.map((i) => isolated(this.numbers.items[i])).join(", "),
      ],
    }));
    refill(this.reliable, makeTable({ "aria-label": "Reliability" }, columns, rows, levelName(level)));
  }

  #described() {
    const { items, texts, described } = this.numbers;
    const withTexts = texts.some(Boolean);
    const whole = described.some((one) => one.bars !== undefined); // straight lines have no more than mean and sd
    const columns = [
      { name: "item" },
      ...(withTexts ? [{ name: "text", bare: true }] : []),
      { name: "n", number: true },
      ...(whole ? [{ name: "answers", number: true, bare: true }, { name: "from", number: true }, { name: "to", number: true }] : []),
      { name: "mean", number: true },
      { name: "sd", number: true },
      ...(whole ? ["skew", "floor", "ceiling"].map((name) => ({ name, number: true })) : []),
    ];
    const percent = (share) => (share === undefined ? "" : `${shown(100 * share, 0)} %`);
    const plain = (value) => (Number.isInteger(value) ? shown(value, 0) : shown(value));
    const rows = described.map((one, i) => ({
      cells: [
        items[i],
        ...(withTexts ? [texts[i]] : []),
        String(one.n),
        ...(whole ? [one.bars ? this.#bars(one.bars, items[i]) : "", plain(one.min), plain(one.max)] : []),
        shown(one.mean),
        shown(one.sd),
        ...(whole ? [shown(one.skew), percent(one.floor), percent(one.ceiling)] : []),
      ],
    }));
    return makeTable({ class: "described", "aria-label": "Answers" }, columns, rows);
  }

  #bars(shares, name) {
    const most = Math.max(...shares);
    const width = 88 / shares.length;
    const said = `Shares of the answers to ${name}, from the lowest: ${shares.map((share) => `${shown(100 * share, 0)} %`).join(", ")}`;
    return draw(
      "svg",
      { viewBox: "0 0 88 24", class: "bars", role: "img", "aria-label": said },
      shares.map((share, k) => {
        const height = (share / most) * 23;
        return draw("rect", { x: (k * width).toFixed(1), y: (24 - height).toFixed(1), width: (width - 1).toFixed(1), height: height.toFixed(1) });
      }),
    );
  }
}
