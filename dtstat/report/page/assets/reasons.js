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
  const alone = near.length === others.length ? " It is joined to nothing else, so it is one of the factor\u2019s own." : "";
  return `In \u201c${path.named(clique.items).name}\u201d: joined to all its other items, least to ${listedPairs(path, i, [loosest])}.${alone}`;
}

function whyOutside(path, i, clique, tau) {
  const missing = clique.items
    .filter((j) => path.strength(i, j) <= tau)
    .sort((a, b) => path.strength(i, a) - path.strength(i, b));
  return `Not in \u201c${path.named(clique.items).name}\u201d: not joined to ${listedPairs(path, i, missing)}.`;
}

/** Two neighbours of an item that are not joined: why it is no factor's own item. */
function openPair(path, near, tau) {
  for (const a of near) {
    for (const b of near) if (a < b && path.strength(a, b) <= tau) return [a, b];
  }
  return null;
}

function whyNowhere(path, i, near, cliques, tau) {
  if (!near.length) {
    const all = path.items.map((_, j) => j).filter((j) => j !== i);
    const closest = all.reduce((a, b) => (path.strength(i, a) >= path.strength(i, b) ? a : b));
    return [`In no factor: joined to nothing. Its strongest tie is ${namedPair(path, i, closest)}.`];
  }
  const lines = [];
  const open = openPair(path, near, tau);
  if (open) lines.push(`In no factor of its own: it is joined to both, but they are not to each other: ${namedPair(path, ...open)}.`);
  else lines.push(`In no factor: its group of ${near.length + 1} is too small.`);
  const joinedTo = (clique) => clique.items.filter((j) => path.strength(i, j) > tau).length / clique.items.length;
  const nearest = cliques.reduce((a, b) => (a && joinedTo(a) >= joinedTo(b) ? a : b), null);
  if (nearest && joinedTo(nearest) > 0) lines.push(whyOutside(path, i, nearest, tau));
  return lines;
}

/** Sentences about an item at a threshold. */
function reasons(path, i, tau, cliques) {
  const near = path.neighbours(i, tau);
  const inside = cliques.filter((clique) => clique.items.includes(i));
  const about = near.length
    ? `Joined to ${several(near.length, "item")}: ${listedPairs(path, i, near)}.`
    : "Joined to no item.";
  if (!inside.length) return [about, ...whyNowhere(path, i, near, cliques, tau)];
  return [about, ...inside.map((clique) => whyInside(path, i, clique, near))];
}
