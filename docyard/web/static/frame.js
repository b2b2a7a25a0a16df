// In the frame of a diagram: draws the text that the page sends, and tells it how tall the drawing is.
"use strict";

const page = { origin: "" };
const drawing = () => document.querySelector("body > svg");
const tell = () => parent.postMessage({ height: Math.ceil(drawing()?.getBoundingClientRect().height ?? 0) }, page.origin);
const watch = new ResizeObserver(tell);

addEventListener("message", async ({ source, data, origin }) => {
  if (source !== parent || typeof data.text !== "string") return;
  page.origin = origin;
  try {
    mermaid.initialize({
      startOnLoad: false, securityLevel: "strict", suppressErrorRendering: true,
      theme: data.isDark ? "dark" : "default",
    });
    const { svg } = await mermaid.render("drawing", data.text);
    document.documentElement.style.colorScheme = data.isDark ? "dark" : "light";
    document.body.replaceChildren(...new DOMParser().parseFromString(svg, "text/html").body.childNodes);
    watch.disconnect();
    watch.observe(drawing());
  } catch { /* what cannot be drawn stays text */ }
  tell(); // a frame that is hidden observes nothing yet
});
