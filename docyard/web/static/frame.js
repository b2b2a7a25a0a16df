// The script in the frame of a diagram: draws the text that the page sends, and reports the height.
"use strict";

const page = { origin: "" };
const drawing = () => document.querySelector("body > svg");
const sendHeight = () => parent.postMessage({ height: Math.ceil(drawing()?.getBoundingClientRect().height ?? 0) }, page.origin);
const resizeObserver = new ResizeObserver(sendHeight);

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
    resizeObserver.disconnect();
    resizeObserver.observe(drawing());
  } catch { /* the page then shows the text */ }
  sendHeight(); // an observer does not run in a hidden frame
});
