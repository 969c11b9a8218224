// Elements of the page. Text only ever becomes text nodes: no name of an item can be markup.

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children.flat(2).filter((child) => child !== null && child !== undefined));
  return element;
}

const make = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);

const draw = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// Okabe & Ito's colors, told apart by all kinds of eyes; names stand beside them everywhere.
const COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5C00", "#6A3D9A"];
const colorOf = (k) => (k < 0 ? "#555555" : COLORS[k % COLORS.length]);

/** A swatch in the color of a factor, before its name. */
const swatch = (k) => {
  const mark = make("span", { class: "swatch", "aria-hidden": "true" });
  mark.style.background = colorOf(k);
  return mark;
};

/** A name that is a sum of names, to be broken after a plus. */
const broken = (name) => name.split(/(?<=\+)/).flatMap((part, k) => (k ? [make("wbr"), part] : [part]));

/** A button that copies text, and says so; where copying is forbidden the text can be selected. */
function copyButton(label, text) {
  const said = make("span", { class: "said", role: "status" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      said.textContent = "copied";
    } catch {
      said.replaceChildren(make("textarea", { readonly: "", rows: 6, "aria-label": label }, text()));
      said.firstChild.select();
    }
  };
  return make("span", {}, make("button", { type: "button", onclick: copy }, label), said);
}

/** Call a function at most once a frame, with the newest arguments. */
function eachFrame(action) {
  let newest = null;
  return (...values) => {
    const waiting = newest !== null;
    newest = values;
    if (!waiting) {
      requestAnimationFrame(() => {
        const last = newest;
        newest = null;
        action(...last);
      });
    }
  };
}
