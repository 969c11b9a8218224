// Why an item is in a factor, or out of it, in words.

const MOST_NAMED = 6;

const namedPair = (path, i, j) =>
  `${path.items[i]}\u2013${path.items[j]} (${shown(path.strength(i, j), 3)})`;

function listedPairs(path, i, others) {
  const named = others.slice(0, MOST_NAMED).map((j) => `${path.items[j]} (${shown(path.strength(i, j), 3)})`);
  if (others.length > MOST_NAMED) named.push(`and ${others.length - MOST_NAMED} more`);
  return named.join(", ");
}

function whyInside(path, i, clique, near) {
  const others = clique.items.filter((j) => j !== i);
  const loosest = others.reduce((a, b) => (path.strength(i, a) <= path.strength(i, b) ? a : b));
  const group = path.named(clique.items).words;
  const words = `In ${group}: joined to all its other items, least to ${listedPairs(path, i, [loosest])}.`;
  return near.length > others.length
    ? words
    : `${words} It is joined to nothing else, so it is one of the factor\u2019s own.`;
}

/** Items of a list that an item is not joined to, the farthest first. */
const apart = (path, i, items, tau) =>
  items
    .filter((j) => j !== i && path.strength(i, j) <= tau)
    .sort((a, b) => path.strength(i, a) - path.strength(i, b));

const whyOutside = (path, i, clique, tau) =>
  `Not in ${path.named(clique.items).words}: not joined to ${listedPairs(path, i, apart(path, i, clique.items, tau))}.`;

/** Two neighbors of an item that are not joined: why it is no factor's own item. */
function openPair(path, near, tau) {
  for (const a of near) {
    for (const b of near) if (a < b && path.strength(a, b) <= tau) return [a, b];
  }
  return null;
}

function whyNowhere(path, i, near, tau) {
  if (!near.length) {
    const all = path.items.map((_, j) => j).filter((j) => j !== i);
    const closest = all.reduce((a, b) => (path.strength(i, a) >= path.strength(i, b) ? a : b));
    return `In no factor: its strongest tie is ${namedPair(path, i, closest)}.`;
  }
  const open = openPair(path, near, tau);
  if (!open) return `In no factor: its group of ${near.length + 1} is too small.`;
  const pair = open.map((j) => path.items[j]).join(" and ");
  const value = shown(path.strength(...open), 3);
  const why = `it is joined to ${pair}, but they are not joined (${value})`;
  return `In no factor, and no factor\u2019s own item: ${why}.`;
}

/** Of the cliques without an item the one with most of which it is joined, of its own factor if others tie. */
function nearestOutside(path, i, cliques, tau) {
  const joined = ({ items }) => items.filter((j) => path.strength(i, j) > tau).length / items.length;
  const own = ({ items }) => path.factors[path.named(items).factor]?.items.includes(i) ?? false;
  const outside = cliques.filter((clique) => !clique.items.includes(i) && joined(clique) > 0);
  return outside.sort((a, b) => joined(b) - joined(a) || own(b) - own(a))[0];
}

/** Sentences about an item at a threshold. */
function reasons(path, i, tau, cliques) {
  const near = path.neighbors(i, tau);
  const inside = cliques.filter((clique) => clique.items.includes(i));
  const nearest = nearestOutside(path, i, cliques, tau);
  return [
    near.length ? `Joined to ${several(near.length, "item")}: ${listedPairs(path, i, near)}.` : "Joined to no item.",
    ...inside.map((clique) => whyInside(path, i, clique, near)),
    ...(inside.length ? [] : [whyNowhere(path, i, near, tau)]),
    ...(nearest ? [whyOutside(path, i, nearest, tau)] : []),
  ];
}

/** What became of an item at a level, in words. */
function itemVerdict(level, i) {
  const on = level.factors.filter(({ items }) => items.includes(i));
  if (!on.length) return `is in no factor${level.reasons[i] ? `: ${level.reasons[i]}` : ""}.`;
  const loadings = on.map(({ name, items, loadings }) => `${shown(loadings[items.indexOf(i)])} on ${name}`);
  const attached = level.attached.includes(i) ? "; attached: in no clique within the factor, but it loads on it most" : "";
  return `loads ${loadings.join(" and ")}${attached}.`;
}

/** Sentences about an item of the level’s factors: how it stands to the core of each that it is in. */
function levelReasons(path, i) {
  const own = path.factors.filter((factor) => factor.core >= 0 && factor.items.includes(i));
  return own.map(({ name, core, from }) => {
    const { items } = path.bars[core];
    const seen = `the core of ${name}, which is seen from ${shown(from, 3)}`;
    if (items.includes(i)) return `In ${seen}: joined to all its other items.`;
    return `Outside ${seen}: there not joined to ${listedPairs(path, i, apart(path, i, items, from))}.`;
  });
}
