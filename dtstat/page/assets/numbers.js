// Numbers: out of the page, and as people read them.

const trueMinus = (text) => text.replace("-", "\u2212");

const shown = (value, digits = 2) =>
  value === null || value === undefined || Number.isNaN(value) ? "" : trueMinus(value.toFixed(digits));

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

/** A name within a sentence: signs in it that turn the way of writing end with it. */
const isolated = (name) => (/[\u202a-\u202e\u2066-\u2069]/.test(name) ? `\u2068${name}\u2069` : name);

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

/** A name that is a sum of names, by its ends if it is long. */
function inShort(name, most) {
  const parts = name.split("+");
  const ends = `${parts[0]}+\u2026+${parts[parts.length - 1]}`;
  return shortened(name.length > most && parts.length > 2 ? ends : name, most);
}

const shortened = (name, most = 24) =>
  name.length <= most
    ? name
    : `${name.slice(0, Math.ceil(most * 0.6) - 1)}\u2026${name.slice(-Math.floor(most * 0.4))}`;
