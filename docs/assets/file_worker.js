// Search in pages that are opened as files: browsers refuse workers there, so the script of the search
// runs in a hidden frame instead. On a server nothing is done.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      const load = (source) =>
        new Promise((done) => {
          const script = inside.document.createElement("script");
          script.src = source;
          script.onload = script.onerror = done;
          inside.document.body.append(script);
        });
      inside.postMessage = (data) =>
        setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data })));
      inside.importScripts = (...sources) =>
        sources.reduce((before, source) => before.then(() => load(source)), Promise.resolve());
      const ready = load(String(address));
      this.postMessage = (data) =>
        ready.then(() => inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
  window.Worker = window.IFrameWorker;
}
