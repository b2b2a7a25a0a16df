// Additions to a document's page: the keyboard scrolls wide parts, and the outline shows the current section.
"use strict";

{
  const forEachElement = (selector, action) => document.querySelectorAll(selector).forEach(action);

  const wideParts = ".prose pre, .prose table";

  // Only parts with their own scroll bar can have the focus.
  const makeFocusable = (part) => {
    if (part.scrollWidth > part.clientWidth + 1) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  };

  // A part has a width only while it is shown: it changes with the window, and when a fold opens.
  const widths = new ResizeObserver((entries) => entries.forEach(({ target }) => makeFocusable(target)));
  const observeWidths = () => {
    widths.disconnect();
    forEachElement(wideParts, (part) => { makeFocusable(part); widths.observe(part); });
  };

  // The current section is that of the last heading above a quarter of the window.
  const markCurrentSection = () => {
    let currentId = "";
    // Headings near the end of the page cannot scroll up to a quarter of the window.
    const isEnd = scrollY > 0 && scrollY + innerHeight > document.documentElement.scrollHeight - 2;
    for (const heading of document.querySelectorAll(".prose .titled > [id]")) {
      if (heading.getBoundingClientRect().top > (isEnd ? innerHeight : innerHeight / 4)) break;
      currentId = heading.id;
    }
    forEachElement(".outline a", (link) => {
      const isCurrent = Boolean(currentId) && decodeURIComponent(link.hash.slice(1)) === currentId;
      if (isCurrent === link.hasAttribute("aria-current")) return;
      link.toggleAttribute("aria-current", isCurrent);
      if (isCurrent) link.scrollIntoView({ block: "nearest", behavior: "instant" });
    });
  };

  let isUpdateScheduled = false;
  const scheduleUpdate = () => {
    if (isUpdateScheduled) return;
    isUpdateScheduled = true;
    requestAnimationFrame(() => { isUpdateScheduled = false; markCurrentSection(); });
  };
  addEventListener("scroll", scheduleUpdate, { passive: true });
  addEventListener("resize", scheduleUpdate);
  new MutationObserver(() => { observeWidths(); scheduleUpdate(); }).observe(document.querySelector("[data-main]"), { childList: true });
  observeWidths();
  scheduleUpdate();
}
