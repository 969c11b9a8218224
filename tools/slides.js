// Without this script the slides are a page to scroll; with it they are shown one by one.
const slides = [...document.querySelectorAll("section")];
const body = document.body;
let now = 0;

function show(number) {
  now = Math.max(0, Math.min(slides.length - 1, number));
  slides.forEach((slide, k) => slide.classList.toggle("now", k === now));
  history.replaceState(null, "", "#s" + (now + 1));
  fit();
}

function fit() {
  const height = body.classList.contains("notes") ? Math.max(720, slides[now].offsetHeight) : 720;
  const scale = Math.min(innerWidth / 1280, innerHeight / height);
  document.documentElement.style.setProperty("--scale", scale);
}

const keys = {
  ArrowRight: () => show(now + 1), ArrowDown: () => show(now + 1), PageDown: () => show(now + 1), " ": () => show(now + 1),
  ArrowLeft: () => show(now - 1), ArrowUp: () => show(now - 1), PageUp: () => show(now - 1),
  Home: () => show(0), End: () => show(slides.length - 1),
  n: () => { body.classList.toggle("notes"); fit(); },
  p: () => print(),
};

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});
addEventListener("click", (event) => {
  if (String(getSelection()) === "") show(now + (event.clientX < innerWidth / 4 ? -1 : 1));
});
addEventListener("resize", fit);
addEventListener("hashchange", () => show(Number(location.hash.slice(2)) - 1 || 0));
body.classList.add("talk");
show(Number(location.hash.slice(2)) - 1 || 0);
