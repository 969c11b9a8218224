// Tabs: one part of the report at a time on the screen, all of them on paper.

class Tabs {
  constructor() {
    this.tabs = [...document.querySelectorAll('[role="tab"]')];
    this.panels = this.tabs.map((tab) => document.getElementById(tab.getAttribute("aria-controls")));
    this.tabs.forEach((tab, k) => {
      tab.addEventListener("click", () => this.open(k));
      tab.addEventListener("keydown", (event) => this.#key(event, k));
    });
    document.body.classList.add("tabbed");
    const named = this.panels.findIndex((panel) => `#${panel.id}` === location.hash);
    this.open(Math.max(named, 0));
  }

  open(k) {
    this.tabs.forEach((tab, other) => {
      tab.setAttribute("aria-selected", String(other === k));
      tab.tabIndex = other === k ? 0 : -1;
      this.panels[other].classList.toggle("closed", other !== k);
    });
  }

  /** Open the part of a name. */
  openNamed(name) {
    this.open(this.panels.findIndex((panel) => panel.id === `panel-${name}`));
  }

  #key(event, k) {
    const last = this.tabs.length - 1;
    const to = { ArrowRight: k === last ? 0 : k + 1, ArrowLeft: k === 0 ? last : k - 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.open(to);
    this.tabs[to].focus();
  }
}

/** Lay the page out for paper while it is printed: details open, tables fitted to its width. */
function onPaper() {
  const details = [...document.querySelectorAll("details")];
  let before = null;
  const layOut = () => {
    if (before !== null) return;
    before = details.map((one) => one.open);
    document.documentElement.classList.add("paper");
    details.forEach((one) => (one.open = true));
    document.querySelectorAll("div.sheet, details").forEach(fitTables);
  };
  const undo = () => {
    details.forEach((one, k) => (one.open = before?.[k] ?? one.open));
    document.documentElement.classList.remove("paper");
    before = null;
  };
  const media = matchMedia("print");
  media.addEventListener("change", () => (media.matches ? layOut() : undo()));
  window.addEventListener("beforeprint", layOut);
  window.addEventListener("afterprint", undo);
}
