// The exact path: the graph |r| > threshold and its cliques, at any threshold.
//
// A set of items C is a factor at the thresholds from birth(C), included, to death(C), excluded:
// the barcode. So the whole path is a list of intervals, and a threshold picks those it is in.

/** Earlier items first; of sets that begin alike the larger first. */
function byFirstItems(a, b) {
  const k = a.findIndex((item, position) => item !== b[position]);
  if (k < 0) return b.length - a.length;
  return k < b.length ? a[k] - b[k] : -1;
}

class Path {
  constructor(numbers) {
    this.items = numbers.items.map(isolated);
    this.labels = tellingNames(numbers.items);
    this.measure = numbers.measure;
    this.bars = numbers.bars;
    this.scores = numbers.scores;
    this.factors = []; // of the level that is looked at
    this.r = decode(numbers.dependence);
    this.sorted = this.r.map(Math.abs).sort();
    this.levels = this.sorted.filter((value, k, all) => k === 0 || value !== all[k - 1]);
    const ends = this.bars.flatMap((bar) => [bar.birth, bar.death]);
    this.changes = Float64Array.from(new Set(ends)).sort();
    const strongest = this.sorted.length ? this.sorted[this.sorted.length - 1] : 0;
    this.top = Math.min(1, Math.ceil(strongest * 20 + 1e-9) / 20) || 1;
  }

  value(i, j) {
    return i > j ? this.r[(i * (i - 1)) / 2 + j] : this.r[(j * (j - 1)) / 2 + i];
  }

  strength(i, j) {
    return Math.abs(this.value(i, j));
  }

  /** How many pairs are joined at a threshold. */
  joins(tau) {
    return this.sorted.length - firstAbove(this.sorted, tau);
  }

  /** Items joined to an item, the closest first. */
  neighbors(i, tau) {
    const near = [];
    for (let j = 0; j < this.items.length; j++) {
      if (j !== i && this.strength(i, j) > tau) near.push(j);
    }
    return near.sort((a, b) => this.strength(i, b) - this.strength(i, a));
  }

  /** Cliques seen at a threshold, by their first items. */
  cliques(tau) {
    const seen = this.bars.filter((bar) => bar.birth <= tau && tau < bar.death);
    return seen.sort((a, b) => byFirstItems(a.items, b.items));
  }

  /** The next threshold up (1) or down (-1) at which the graph is another one. */
  nextGraph(tau, way) {
    return this.#next(this.levels, tau, way);
  }

  /** The next threshold up or down at which the factors are others. */
  nextStructure(tau, way) {
    return this.#next(this.changes, tau, way);
  }

  #next(values, tau, way) {
    const k = way > 0 ? firstAbove(values, tau) : firstAtLeast(values, tau) - 1;
    if (k < 0) return 0;
    return k < values.length ? Math.min(values[k], this.top) : this.top;
  }

  /** Thresholds around one over which the factors stay as they are. */
  span(tau) {
    const k = firstAbove(this.changes, tau);
    return [k > 0 ? this.changes[k - 1] : 0, k < this.changes.length ? this.changes[k] : 1];
  }

  /** Criteria of the structure at a threshold; undefined if it was not fitted. */
  score(tau) {
    return this.scores.find((row) => row.low <= tau && tau < row.high);
  }

  /** Half the distance from the weakest pair within cliques to the strongest pair between. */
  margin(cliques) {
    const p = this.items.length;
    const shared = new Uint8Array(p * p);
    for (const { items } of cliques) {
      for (const i of items) for (const j of items) shared[i * p + j] = 1;
    }
    let weakest = null;
    let strongest = null;
    for (let i = 1; i < p; i++) {
      for (let j = 0; j < i; j++) {
        const value = this.strength(i, j);
        if (shared[i * p + j]) {
          if (weakest === null || value < weakest.value) weakest = { i, j, value };
        } else if (strongest === null || value > strongest.value) strongest = { i, j, value };
      }
    }
    if (weakest === null) return null;
    return { value: (weakest.value - (strongest ? strongest.value : 0)) / 2, weakest, strongest };
  }

  /** The factor that a set of items is most like, and how much (Jaccard); -1 if none. */
  likeness(items) {
    const own = new Set(items);
    let best = { factor: -1, share: 0 };
    this.factors.forEach((factor, k) => {
      const both = factor.items.filter((i) => own.has(i)).length;
      const share = both / (own.size + factor.items.length - both);
      if (share > best.share) best = { factor: k, share };
    });
    return best;
  }

  #listed(items, most = 4) {
    const named = items.slice(0, most).map((i) => this.items[i]).join(", ");
    return items.length > most ? `${named} and ${items.length - most} more` : named;
  }

  /** The factor a set of items is, lies in or is like: its number, a label, words for a sentence. */
  named(items) {
    const core = this.factors.findIndex((one) => one.core >= 0 && this.bars[one.core].items.join() === items.join());
    const { factor, share } = core < 0 ? this.likeness(items) : { factor: core, share: 0 };
    const other = { factor: -1, name: "other", words: `the group of ${this.#listed(items)}` };
    if (factor < 0) return other;
    const { name, items: all } = this.factors[factor];
    if (items.join() === all.join()) return { factor, name, words: name };
    if (core >= 0) return { factor, name: `core of ${name}`, words: `the core of ${name}` };
    if (items.every((i) => all.includes(i))) return { factor, name: `part of ${name}`, words: `a part of ${name}` };
    return share >= 0.5 ? { factor, name: `like ${name}`, words: `a group like ${name}` } : other;
  }
}
