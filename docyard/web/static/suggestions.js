// Results while the user types in the search field: a combobox with a listbox (WAI-ARIA 1.2, "combobox").
// Without this script, the field opens the search page.
"use strict";

{
  const DELAY_MS = 150;
  const field = document.querySelector("[data-suggest]");
  const list = document.querySelector("[data-suggestions]");
  const status = document.querySelector("[data-suggestion-count]");
  if (field && list) {
    let timer = 0, controller = null, chosen = -1;
    const options = () => [...list.querySelectorAll('[role="option"]')];

    field.setAttribute("role", "combobox");
    field.setAttribute("aria-autocomplete", "list");
    field.setAttribute("aria-controls", list.id);
    field.setAttribute("aria-expanded", "false");

    const choose = (index) => {
      chosen = index;
      options().forEach((option, position) => {
        option.setAttribute("aria-selected", String(position === index));
        if (position === index) option.scrollIntoView({ block: "nearest" });
      });
      if (index < 0) field.removeAttribute("aria-activedescendant");
      else field.setAttribute("aria-activedescendant", options()[index].id);
    };

    const close = () => {
      clearTimeout(timer);
      controller?.abort();
      controller = null;
      list.hidden = true;
      list.replaceChildren();
      status.textContent = "";
      field.setAttribute("aria-expanded", "false");
      choose(-1);
    };

    const show = (html) => {
      const page = new DOMParser().parseFromString(html, "text/html");
      list.replaceChildren(...document.adoptNode(page.body).children);
      const count = options().length;
      list.hidden = !count;
      field.setAttribute("aria-expanded", String(count > 0));
      status.textContent = count ? `${count} ${count === 1 ? "result" : "results"}` : "No results";
      choose(-1);
    };

    const request = async () => {
      const query = new URLSearchParams([...new FormData(field.form)].filter(([, value]) => value));
      controller?.abort();
      const current = (controller = new AbortController());
      try {
        const response = await fetch(`/suggest?${query}`, { credentials: "same-origin", signal: current.signal });
        const html = response.ok && !response.redirected ? await response.text() : "";
        if (controller === current) show(html);
      } catch { /* a later letter replaced this request, or the server is away */ }
    };

    field.addEventListener("input", () => {
      clearTimeout(timer);
      controller?.abort();
      controller = null;
      if (field.value.trim().length < 2) close();
      else timer = setTimeout(request, DELAY_MS);
    });

    field.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      const count = options().length;
      if (event.key === "Escape" && (!list.hidden || timer)) {
        if (!list.hidden) { event.preventDefault(); event.stopPropagation(); }
        close();
      } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && count) {
        event.preventDefault();
        const step = event.key === "ArrowDown" ? 1 : -1;
        // From the last option the choice returns to the field, which is -1.
        const next = chosen + step;
        choose(next < -1 ? count - 1 : next >= count ? -1 : next);
      } else if (event.key === "Enter" && chosen >= 0) {
        event.preventDefault();
        location.assign(options()[chosen].dataset.url);
      } else if (event.key === "Tab") {
        close();
      }
    });

    // A press must not take the focus from the field, which would close the list before the click.
    list.addEventListener("mousedown", (event) => event.preventDefault());
    list.addEventListener("click", (event) => {
      const option = event.target.closest('[role="option"]');
      if (option) location.assign(option.dataset.url);
    });
    field.addEventListener("blur", close);
    field.form.addEventListener("submit", close);
    addEventListener("pageshow", close);
  }
}
