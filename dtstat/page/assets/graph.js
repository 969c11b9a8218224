// The graph at a threshold: items on a circle by factor, joined pairs as chords, cliques filled.

const MOST_CHORDS = 6000; // drawn; the strongest, and the page says so
const MOST_LABELS = 130;
const DARK = "#1a1a1a";

class Graph {
  constructor(path, order, onPick) {
    this.path = path;
    this.order = order;
    this.place = new Map(order.map((item, k) => [item, k]));
    this.canvas = make("canvas", { role: "img", "aria-label": "Graph of the items" });
    this.caption = make("p", { class: "caption" });
    this.figure = make("figure", { class: "graph" }, this.canvas, this.caption);
    this.strongestFirst = null;
    const pick = (event) => onPick(this.#itemAt(event));
    this.canvas.addEventListener("pointermove", pick);
    this.canvas.addEventListener("pointerdown", pick);
    new ResizeObserver(() => this.state && this.draw(this.state)).observe(this.figure);
  }

  /** Draw the joined pairs, the cliques and, if there is one, the item that is looked at. */
  draw(state) {
    this.state = state;
    const size = this.#measure();
    const pen = this.canvas.getContext("2d");
    pen.setTransform(size.scale, 0, 0, size.scale, 0, 0);
    pen.clearRect(0, 0, size.side, size.side);
    const drawn = state.chords ? this.#chords(pen, state.tau) : 0;
    for (const clique of state.cliques) this.#clique(pen, clique, state);
    this.#star(pen, state);
    this.#items(pen, state);
    this.#say(state, drawn);
  }

  #measure() {
    const side = Math.min(this.figure.clientWidth || 560, 640); // hidden: for the printer
    const scale = Math.min(window.devicePixelRatio || 1, 2);
    if (this.canvas.width !== Math.round(side * scale)) {
      this.canvas.width = this.canvas.height = Math.round(side * scale);
      this.canvas.style.width = this.canvas.style.height = `${side}px`;
    }
    this.centre = side / 2;
    this.labelled = this.order.length <= MOST_LABELS;
    this.#fitLabels(side);
    return { side, scale };
  }

  /** Choose the size of the letters and the room for the labels, which depend on each other. */
  #fitLabels(side) {
    this.font = 12;
    this.room = 14;
    for (let pass = 0; pass < 2; pass++) {
      if (this.labelled) this.room = Math.min(this.#widest() + 16, side * 0.3);
      this.radius = side / 2 - this.room;
      this.font = Math.max(8, Math.min(13, ((2 * Math.PI * this.radius) / this.order.length) * 0.95));
    }
  }

  #widest() {
    const pen = this.canvas.getContext("2d");
    pen.font = this.#letters(true);
    return Math.max(...this.path.labels.map((name) => pen.measureText(shortened(name)).width));
  }

  #letters(bold) {
    return `${bold ? "bold " : ""}${this.labelled ? this.font : 11}px system-ui, sans-serif`;
  }

  /** A name as long as there is room for it. */
  #shown(pen, name) {
    let most = 24;
    while (most > 10 && pen.measureText(shortened(name, most)).width > this.room - 12) most -= 2;
    return shortened(name, most);
  }

  #angle(item) {
    return (2 * Math.PI * this.place.get(item)) / this.order.length - Math.PI / 2;
  }

  #point(item) {
    const angle = this.#angle(item);
    return [this.centre + this.radius * Math.cos(angle), this.centre + this.radius * Math.sin(angle)];
  }

  #chords(pen, tau) {
    const total = this.path.joins(tau);
    const pairs = this.#byStrength();
    const drawn = Math.min(total, MOST_CHORDS);
    pen.beginPath();
    for (let k = 0; k < drawn; k++) {
      pen.moveTo(...this.#point(pairs[2 * k]));
      pen.lineTo(...this.#point(pairs[2 * k + 1]));
    }
    pen.strokeStyle = total > 400 ? "rgba(90, 90, 90, 0.22)" : "rgba(90, 90, 90, 0.45)";
    pen.lineWidth = 1;
    pen.stroke();
    return drawn;
  }

  /** Pairs of items, the strongest first, as one flat list. */
  #byStrength() {
    if (this.strongestFirst) return this.strongestFirst;
    const p = this.path.items.length;
    const pairs = [];
    for (let i = 1; i < p; i++) for (let j = 0; j < i; j++) pairs.push([i, j]);
    pairs.sort((a, b) => this.path.strength(...b) - this.path.strength(...a));
    this.strongestFirst = Uint16Array.from(pairs.flat());
    return this.strongestFirst;
  }

  #clique(pen, { items, color, from }) {
    const round = [...items].sort((a, b) => this.place.get(a) - this.place.get(b));
    pen.beginPath();
    round.forEach((item, k) => (k ? pen.lineTo(...this.#point(item)) : pen.moveTo(...this.#point(item))));
    pen.closePath();
    pen.globalAlpha = 0.13;
    pen.fillStyle = colorOf(color);
    pen.fill();
    pen.globalAlpha = 0.85;
    pen.beginPath();
    for (const i of items) {
      for (const j of items) {
        if (i < j && this.path.strength(i, j) > from) {
          pen.moveTo(...this.#point(i));
          pen.lineTo(...this.#point(j));
        }
      }
    }
    pen.strokeStyle = colorOf(color);
    pen.lineWidth = items.length > 12 ? 1 : 1.8;
    pen.stroke();
    pen.globalAlpha = 1;
  }

  #star(pen, { picked, near }) {
    pen.beginPath();
    for (const j of near) {
      pen.moveTo(...this.#point(picked));
      pen.lineTo(...this.#point(j));
    }
    pen.strokeStyle = DARK;
    pen.lineWidth = 2;
    pen.stroke();
  }

  #items(pen, state) {
    const colorsOf = new Map(this.order.map((item) => [item, []]));
    for (const { items, color } of state.cliques) for (const i of items) colorsOf.get(i).push(color);
    const looking = state.picked !== null;
    const wanted = new Set([state.picked, ...state.near]);
    const dot = Math.max(2, Math.min(5, this.font * 0.42));
    for (const item of this.order) {
      this.#dot(pen, item, colorsOf.get(item), item === state.picked ? dot + 2 : dot, item === state.picked);
      const faint = looking && !wanted.has(item);
      if (this.labelled || wanted.has(item)) this.#label(pen, item, dot, faint, item === state.picked);
    }
  }

  /** An item: white, in the color of its factor, or with a slice for each of several. */
  #dot(pen, item, colors, radius, picked) {
    const [x, y] = this.#point(item);
    const slice = (2 * Math.PI) / Math.max(colors.length, 1);
    pen.fillStyle = "#ffffff";
    (colors.length ? colors : [null]).forEach((color, k) => {
      if (color !== null) pen.fillStyle = colorOf(color);
      pen.beginPath();
      pen.moveTo(x, y);
      pen.arc(x, y, radius, k * slice, (k + 1) * slice);
      pen.fill();
    });
    pen.beginPath();
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    pen.strokeStyle = picked ? DARK : "#444444";
    pen.lineWidth = picked ? 2 : 1;
    pen.stroke();
  }

  #label(pen, item, dot, faint, bold) {
    const angle = this.#angle(item);
    const left = Math.cos(angle) < -1e-9;
    pen.save();
    pen.translate(...this.#point(item));
    pen.rotate(left ? angle + Math.PI : angle);
    pen.textAlign = left ? "right" : "left";
    pen.textBaseline = "middle";
    pen.font = this.#letters(bold);
    pen.fillStyle = faint ? "#8a8a8a" : DARK;
    const name = this.path.labels[item];
    const text = this.labelled ? this.#shown(pen, name) : shortened(name, 12);
    pen.fillText(text, (left ? -1 : 1) * (dot + 4), 0);
    pen.restore();
  }

  #say(state, drawn) {
    const total = this.path.joins(state.tau);
    const some = state.chords && drawn < total ? ` The strongest ${drawn} of ${total} joined pairs are drawn.` : "";
    this.caption.textContent = `${state.caption}${some}`;
    this.canvas.setAttribute("aria-label", `Graph of ${this.order.length} items. ${state.caption}`);
  }

  /** The item at a pointer: the nearest by angle, unless the pointer is near the middle. */
  #itemAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left - box.width / 2;
    const y = event.clientY - box.top - box.height / 2;
    if (Math.hypot(x, y) < this.radius * 0.7) return null;
    const turn = (Math.atan2(y, x) + Math.PI / 2 + 2 * Math.PI) % (2 * Math.PI);
    const k = Math.round((turn / (2 * Math.PI)) * this.order.length) % this.order.length;
    return this.order[k];
  }
}
