// Put the page together.

const numbers = JSON.parse(document.getElementById("numbers").textContent);
const tabs = new Tabs();
const has = (name) => document.getElementById(name) !== null;
const curvePanel = has("responses") ? new CurvePanel(numbers) : null;
const showFactor = (k) => {
  curvePanel.show(k);
  tabs.openNamed("responses");
  document.getElementById("tab-responses").focus();
};
if (has("loadings")) new LoadingTable(numbers);
if (has("explore")) new Explorer(numbers, curvePanel && showFactor);
for (const part of document.querySelectorAll(".copied")) {
  part.querySelector("h3").after(copyButton("Copy", () => part.querySelector("pre").textContent));
}
