// Numbers: out of the page, and as people read them.

const shown = (value, digits = 2) =>
  value === null || value === undefined || Number.isNaN(value)
    ? ""
    : value.toFixed(digits).replace("-", "\u2212");

const several = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

/** Little-endian doubles from base64 text. */
function decode(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new Float64Array(bytes.buffer);
}

/** Position of the first value above x in a rising array. */
function firstAbove(values, x) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > x) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Position of the first value of at least x in a rising array. */
function firstAtLeast(values, x) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] >= x) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Length of the beginning that all texts share, up to a break between words. */
function sharedStart(texts) {
  const [first = "", ...others] = texts;
  let length = 0;
  while (length < first.length && others.every((text) => text[length] === first[length])) length++;
  return Math.max(first.lastIndexOf(" ", length), first.lastIndexOf("_", length)) + 1;
}

/** Names for where room is short: without the beginning they share, if shortening makes them the same. */
function tellingNames(names) {
  if (new Set(names.map((name) => shortened(name))).size === names.length) return names;
  const start = sharedStart(names);
  return start ? names.map((name) => `\u2026${name.slice(start)}`) : names;
}

const shortened = (name, most = 24) =>
  name.length <= most
    ? name
    : `${name.slice(0, Math.ceil(most * 0.6) - 1)}\u2026${name.slice(-Math.floor(most * 0.4))}`;
