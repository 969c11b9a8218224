// Levels: which one is looked at, and the controls to pick another; every part of the page follows.

class Levels {
  #followers = [];

  constructor(numbers) {
    this.all = numbers.levels;
    this.chosen = numbers.chosenLevel;
    this.current = this.all.find((level) => level.n === this.chosen);
  }

  /** Call a function with the level that is looked at, now and whenever another is picked. */
  follow(action) {
    this.#followers.push(action);
    if (this.current) action(this.current);
  }

  pick(n) {
    this.current = this.all.find((level) => level.n === n);
    for (const action of this.#followers) action(this.current);
  }
}

const levelName = (level) => `${several(level.n, "factor")}${level.mark ? `, ${level.mark}` : ""}`;

/** A list to pick a level from, in sight from every part of the page. */
function levelSelect(levels) {
  const options = levels.all.map((level) => make("option", { value: level.n }, levelName(level)));
  const list = make("select", { id: "pick-level", onchange: () => levels.pick(Number(list.value)) }, options);
  levels.follow((level) => (list.value = level.n));
  document.getElementById("level").append(make("label", { for: "pick-level" }, "Level"), list);
}

/** The table of levels, with a button for each. */
function levelTable(levels, notes) {
  const buttons = new Map();
  const rows = levels.all.map((level) => {
    const [price, r, agreement, step] = level.values;
    const about = { type: "button", "aria-pressed": "false", "aria-label": levelName(level) };
    const button = make("button", about, String(level.n));
    buttons.set(level.n, button);
    const joins = level.joins.map((name) => inShort(name, 16)).join(" and ");
    const cells = [button, level.mark, shown(price, 3), joins, shown(r), shown(agreement), shown(step)];
    return { cells, onclick: () => levels.pick(level.n) };
  });
  const columns = [
    { name: "factors" },
    { name: "level" },
    { name: "one fewer costs", number: true },
    { name: "by joining" },
    { name: "r", number: true },
    { name: "agreement", number: true },
    { name: "step", number: true },
  ];
  const table = makeTable({ class: "levels" }, columns, rows, ["Levels", make("span", { class: "hint" }, ": pick one, and the page shows its factors")]);
  levels.follow(({ n }) => {
    for (const [other, button] of buttons) {
      button.setAttribute("aria-pressed", String(other === n));
      button.closest("tr").classList.toggle("picked", other === n);
    }
  });
  return make("div", {}, sheet(table), folded("What the columns mean", notes.map((note) => make("p", { class: "note" }, note))));
}
