// Diagrams, each drawn in a sandboxed frame. A diagram that is not drawn remains as text.
"use strict";

{
  const MAX_DIAGRAMS = 40, MAX_HEIGHT_PX = 4000;
  const texts = new Map(); // the element of each text, by frame
  const isDark = () => {
    const theme = document.documentElement.dataset.theme;
    return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const send = (frame) => {
    frame.contentWindow?.postMessage({ text: texts.get(frame).textContent, isDark: isDark() }, "*");
  };

  // The script is large, so a diagram is drawn only shortly before it is in view.
  const visibility = new IntersectionObserver((changes) => {
    for (const { target, isIntersecting } of changes) {
      if (!isIntersecting) continue;
      visibility.unobserve(target);
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
    const frame = [...texts.keys()].find((candidate) => candidate.contentWindow === source);
    const height = Math.min(Number(data?.height) || 0, MAX_HEIGHT_PX);
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
    [...document.querySelectorAll("[data-diagrams] pre.mermaid")].slice(0, MAX_DIAGRAMS)
      .filter((text) => ![...texts.values()].includes(text)).forEach((text) => visibility.observe(text));
  };
  const redraw = () => [...texts.keys()].forEach(send);
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  document.addEventListener("docyard:shown", watch);
  watch();
}
