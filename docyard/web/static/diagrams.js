// Draws diagrams, each in a frame from which nothing can be reached. What is not drawn stays as text.
"use strict";

{
  const MOST = 40, TALLEST = 4000; // diagrams of a page, pixels of one
  const texts = new Map(); // by frame
  const isDark = () => {
    const theme = document.documentElement.dataset.theme;
    return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const send = (frame) => {
    frame.contentWindow?.postMessage({ text: texts.get(frame).textContent, isDark: isDark() }, "*");
  };

  // A diagram is drawn when it is nearly in view: the script is large.
  const near = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      const frame = document.createElement("iframe");
      frame.className = "diagram undrawn";
      frame.title = "Diagram";
      frame.setAttribute("sandbox", "allow-scripts");
      frame.src = target.closest("[data-diagrams]").dataset.diagrams;
      frame.addEventListener("load", () => send(frame));
      texts.set(frame, target);
      target.before(frame);
    }
  }, { rootMargin: "400px" });

  addEventListener("message", ({ source, data }) => {
    const frame = [...texts.keys()].find((one) => one.contentWindow === source);
    const height = Math.min(Number(data?.height) || 0, TALLEST);
    if (!frame || !frame.isConnected) return;
    if (height <= 0) { frame.remove(); texts.delete(frame); return; }
    frame.height = height;
    if (!frame.classList.contains("undrawn")) return;
    frame.classList.remove("undrawn");
    const details = document.createElement("details"), summary = document.createElement("summary");
    details.className = "diagram-text";
    summary.textContent = "Diagram as text";
    texts.get(frame).replaceWith(details);
    details.append(summary, texts.get(frame));
  });

  const watch = () => {
    for (const frame of texts.keys()) if (!frame.isConnected) texts.delete(frame);
    [...document.querySelectorAll("[data-diagrams] pre.mermaid")].slice(0, MOST)
      .filter((text) => ![...texts.values()].includes(text)).forEach((text) => near.observe(text));
  };
  const again = () => [...texts.keys()].forEach(send);
  new MutationObserver(again).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  document.addEventListener("docyard:shown", watch);
  watch();
}
