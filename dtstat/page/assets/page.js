// Put the page together.

const numbers = JSON.parse(document.getElementById("numbers").textContent);
const has = (name) => document.getElementById(name) !== null;
const levels = new Levels(numbers);
const tabs = new Tabs();
if (levels.all.length > 1) levelSelect(levels);
if (has("answer")) new Answer(numbers, levels);
const curvePanel = has("responses") ? new CurvePanel(numbers, levels) : null;
const showFactor = (k) => {
  curvePanel.show(k);
  tabs.openNamed("responses");
  document.getElementById("tab-responses").focus();
};
const explorer = numbers.bars ? new Explorer(numbers, levels, curvePanel && showFactor) : null;
if (!explorer && numbers.tree) drawTree(numbers, levels, document.getElementById("explore"));
if (has("items")) new ItemPanel(numbers, levels);
for (const part of document.querySelectorAll(".copied")) {
  part.querySelector("h3").after(copyButton("Copy", () => part.querySelector("pre").textContent));
}
for (const place of document.querySelectorAll("div.sheet, details")) roomWatcher.observe(place);
onPaper();
