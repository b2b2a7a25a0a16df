// Diagrams, each drawn in a sandboxed frame. A diagram that is not drawn remains as text.
"use strict";

{
  const MAX_DIAGRAMS = 40, MAX_HEIGHT_PX = 4000;
  const textByFrame = new Map(); // the element of each text, by frame
  const isDark = () => {
    const theme = document.documentElement.dataset.theme;
    return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const send = (frame) => {
    frame.contentWindow?.postMessage({ text: textByFrame.get(frame).textContent, isDark: isDark() }, "*");
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
      textByFrame.set(frame, target);
      target.before(frame);
    }
  }, { rootMargin: "400px" });

  addEventListener("message", ({ source, data }) => {
    const frame = [...textByFrame.keys()].find((candidate) => candidate.contentWindow === source);
    const height = Math.min(Number(data?.height) || 0, MAX_HEIGHT_PX);
    if (!frame || !frame.isConnected) return;
    if (height <= 0) { frame.remove(); textByFrame.delete(frame); return; }
    frame.height = height;
    if (!frame.classList.contains("undrawn")) return;
    frame.classList.remove("undrawn");
    const details = document.createElement("details"), summary = document.createElement("summary");
    details.className = "diagram-text";
    summary.textContent = "Diagram as text";
    textByFrame.get(frame).replaceWith(details);
    details.append(summary, textByFrame.get(frame));
  });

  const observeDiagrams = () => {
    for (const frame of textByFrame.keys()) if (!frame.isConnected) textByFrame.delete(frame);
    [...document.querySelectorAll("[data-diagrams] pre.mermaid")].slice(0, MAX_DIAGRAMS)
      .filter((text) => ![...textByFrame.values()].includes(text)).forEach((text) => visibility.observe(text));
  };
  const redraw = () => [...textByFrame.keys()].forEach(send);
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  document.addEventListener("docyard:shown", observeDiagrams);
  observeDiagrams();
}
