// Tabs of content, of which one is shown at a time. Without this script, all are shown, each below its title.
"use strict";

{
  let lastNumber = 0;

  const showTab = (tabs, panels, shown) => {
    tabs.forEach((tab, index) => {
      tab.setAttribute("aria-selected", String(index === shown));
      tab.tabIndex = index === shown ? 0 : -1;
      panels[index].hidden = index !== shown;
    });
  };

  const buildTabs = (group) => {
    const panels = [...group.children].filter((child) => child.matches(".tab") && child.firstElementChild?.matches(".tab-title"));
    if (panels.length < 2 || panels.length !== group.children.length) return;
    const list = document.createElement("div");
    list.className = "tab-list";
    list.setAttribute("role", "tablist");
    const tabs = panels.map((panel) => {
      const tab = document.createElement("button");
      tab.type = "button";
      // No document has an id with brackets.
      [tab.id, panel.id] = [`[tab-${++lastNumber}]`, `[panel-${lastNumber}]`];
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-controls", panel.id);
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", tab.id);
      const title = panel.firstElementChild;
      tab.textContent = title.textContent;
      title.hidden = true;
      return tab;
    });
    tabs.forEach((tab, index) => tab.addEventListener("click", () => showTab(tabs, panels, index)));
    list.addEventListener("keydown", (event) => {
      const index = tabs.indexOf(event.target), last = tabs.length - 1;
      const next = { ArrowRight: index === last ? 0 : index + 1, ArrowLeft: index ? index - 1 : last, Home: 0, End: last }[event.key];
      if (index < 0 || next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      showTab(tabs, panels, next);
      tabs[next].focus();
    });
    list.append(...tabs);
    group.prepend(list);
    // The tab with the target of the address is shown, or else the first one.
    showTab(tabs, panels, Math.max(0, panels.findIndex((panel) => panel.querySelector(":target"))));
  };

  // A link to a heading in a hidden tab shows this tab.
  const showTarget = () => {
    for (let panel = document.querySelector(":target")?.closest("[role=tabpanel]"); panel; panel = panel.parentElement.closest("[role=tabpanel]"))
      document.getElementById(panel.getAttribute("aria-labelledby")).click();
  };

  const buildAllTabs = () => document.querySelectorAll(".tabs:not(:has(> .tab-list))").forEach(buildTabs);
  addEventListener("hashchange", showTarget);
  document.addEventListener("docyard:shown", buildAllTabs);
  buildAllTabs();
}
