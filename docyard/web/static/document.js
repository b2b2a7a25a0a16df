// What a document's page can do beyond reading: wide parts take keys, and the outline says where one is.
"use strict";

{
  const each = (selector, act) => document.querySelectorAll(selector).forEach(act);

  // What scrolls by itself can be reached by keyboard, and what does not is no stop on the way.
  const reach = () => each(".prose pre, .prose table", (part) => {
    if (part.scrollWidth > part.clientWidth + 1) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  });

  // The last heading above a quarter of the window is where one reads.
  const mark = () => {
    let here = "";
    // What stands too near to the end cannot come up so far.
    const isEnd = scrollY > 0 && scrollY + innerHeight > document.documentElement.scrollHeight - 2;
    for (const heading of document.querySelectorAll(".prose .titled > [id]")) {
      if (heading.getBoundingClientRect().top > (isEnd ? innerHeight : innerHeight / 4)) break;
      here = heading.id;
    }
    each(".outline a", (link) => {
      const is = Boolean(here) && decodeURIComponent(link.hash.slice(1)) === here;
      if (is === link.hasAttribute("aria-current")) return;
      link.toggleAttribute("aria-current", is);
      if (is) link.scrollIntoView({ block: "nearest", behavior: "instant" });
    });
  };

  let isDue = false;
  const soon = () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => { isDue = false; reach(); mark(); });
  };
  addEventListener("scroll", soon, { passive: true });
  addEventListener("resize", soon);
  new MutationObserver(soon).observe(document.querySelector("[data-main]"), { childList: true });
  soon();
}
