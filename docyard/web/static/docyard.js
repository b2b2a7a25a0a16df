// Additions to all pages: keys, live updates, and the theme. Reading and forms work without this script.
"use strict";

const root = document.documentElement;
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const one = (selector, within = document) => within.querySelector(selector);
const isTyping = (element) =>
  Boolean(element && (element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName)));
const isShown = (element) => Boolean(element.getClientRects().length);

// A notice on one line, which screen readers announce.

let noticeTimer = 0;
function showNotice(text, label, act) {
  const line = one("[data-news]");
  if (!line) return;
  clearTimeout(noticeTimer);
  line.hidden = false;
  line.replaceChildren(document.createTextNode(text + (label ? " " : "")));
  if (label) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "link";
    button.textContent = label;
    button.addEventListener("click", () => { line.hidden = true; act(); });
    line.append(button);
  } else {
    noticeTimer = setTimeout(() => { line.hidden = true; }, 3000);
  }
}

// The theme.

function switchTheme() {
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  try { localStorage.setItem("docyard-theme", root.dataset.theme); } catch { /* the theme is then not stored */ }
}

// The browser asks before it leaves a page with unsent texts.

let isSending = false;
const isEdited = (field) => !field.readOnly && field.value !== field.defaultValue;
const isPicked = (field) => field.checked !== field.defaultChecked;
const hasEdits = () => all('textarea, form[method="post"] input:not([type])').some(isEdited) || all("main input[type=radio]").some(isPicked);
addEventListener("beforeunload", (event) => { if (!isSending && hasEdits()) event.preventDefault(); });

// A form is sent once. The server also ignores a repeated form.

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if (form.dataset.sent) { event.preventDefault(); return; }
  form.dataset.sent = "yes";
  isSending = true;
  // The buttons are disabled later, because the form does not contain the field of a disabled button.
  setTimeout(() => all("button", form).forEach((button) => { button.disabled = true; }));
});
addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  isSending = false;
  all("form[data-sent]").forEach((form) => {
    delete form.dataset.sent;
    all("button", form).forEach((button) => { button.disabled = false; });
  });
});

// Entries: j and k choose the next and the previous one. Other keys act on the chosen entry first.

let chosen = null;
const entries = () => all("[data-entry]", one("[data-main]") ?? document).filter(isShown);

function choose(entry) {
  chosen?.removeAttribute("data-chosen");
  chosen = entry ?? null;
  if (!chosen) return;
  chosen.setAttribute("data-chosen", "");
  const target = one("a[href], button, summary", chosen) ?? chosen;
  if (target === chosen && !chosen.hasAttribute("tabindex") && chosen.tabIndex < 0) chosen.tabIndex = -1;
  target.focus({ preventScroll: true });
  const box = chosen.getBoundingClientRect();
  if (box.top < 72 || box.bottom > innerHeight) chosen.scrollIntoView({ block: box.height < innerHeight / 2 ? "center" : "start" });
}

function step(offset) {
  const list = entries();
  if (!list.length) return;
  const index = chosen?.isConnected ? list.indexOf(chosen) : -1;
  if (index < 0) choose(list.find((entry) => entry.getBoundingClientRect().bottom > 72) ?? list[0]);
  else choose(list[Math.min(Math.max(index + offset, 0), list.length - 1)]);
}

function press(key) {
  const selector = `[data-key="${CSS.escape(key)}"]`;
  const candidates = (chosen?.isConnected ? all(selector, chosen) : []).concat(all(selector)).filter((element) => !element.disabled);
  const inView = (element) => (element.closest("[data-entry]") ?? element).getBoundingClientRect().bottom > 72;
  const target = candidates.find((element) => chosen?.contains(element)) ?? candidates.find(inView) ?? candidates[0];
  if (!target) return false;
  const closedDetails = target.closest("details:not([open])");
  if (closedDetails && target.tagName !== "SUMMARY") closedDetails.open = true;
  target.focus();
  if (isTyping(target)) target.scrollIntoView({ block: "center" });
  else target.click();
  if (target.tagName === "SUMMARY" && target.parentElement.open) one("textarea, a[href], button", target.parentElement)?.focus();
  return true;
}

// Keys. They are ignored while the user types, or with a modifier key.

const search = () => { const field = one("[data-find]"); field?.focus(); field?.select(); };
const showKeys = () => one("[data-keys]")?.showModal();
const pageKeys = { "/": search, "?": showKeys, t: switchTheme, j: () => step(1), k: () => step(-1) };
let goPressedAt = 0;

document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.defaultPrevented) return;
  const target = event.target;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && target.tagName === "TEXTAREA" && target.form) {
    event.preventDefault();
    target.form.requestSubmit(one("button.main", target.form) ?? undefined);
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && !one("dialog[open]")) {
    if (isTyping(target)) target.blur();
    else choose(null);
    return;
  }
  if (isTyping(target) || one("dialog[open]")) return;
  if (event.key === "Enter") {
    if (target === document.body && chosen) one("a[href], button, summary", chosen)?.click();
    return;
  }
  if (goPressedAt && Date.now() - goPressedAt < 1500) {
    goPressedAt = 0;
    const link = one(`[data-go="${CSS.escape(event.key)}"]`);
    if (link) { event.preventDefault(); link.click(); }
    return;
  }
  if (event.key === "g") { goPressedAt = Date.now(); return; }
  if (pageKeys[event.key]) { event.preventDefault(); pageKeys[event.key](); }
  else if (event.key.length === 1 && event.key !== " " && press(event.key)) event.preventDefault();
});

// Updates: the page is requested again, and only its <main> replaces the shown one.

async function fetchPage(url, signal) {
  const response = await fetch(url, { credentials: "same-origin", signal, headers: { Accept: "text/html" } });
  if (!response.ok || response.redirected) return null;
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

// Two versions are compared as the server sent them. Hidden fields are omitted, because they differ in each
// response.
function serializeMain(main) {
  const copy = main.cloneNode(true);
  all('input[type="hidden"], script', copy).forEach((element) => element.remove());
  return copy.innerHTML;
}
let shownHtml = one("[data-main]") && serializeMain(one("[data-main]"));

// The <details> elements by label and number of the same label, because an update may insert others.
function listDetails(main) {
  const counts = {}, elements = new Map();
  for (const element of all("details", main)) {
    const name = element.id || one("summary", element)?.textContent.trim();
    counts[name] = (counts[name] ?? 0) + 1;
    elements.set(`${name} ${counts[name]}`, element);
  }
  return elements;
}

function swap(current, next, page) {
  const open = new Map([...listDetails(current)].map(([name, element]) => [name, element.open]));
  const index = chosen ? entries().indexOf(chosen) : -1;
  const link = index >= 0 ? one("a[href]", chosen)?.getAttribute("href") : null;
  const focused = current.contains(document.activeElement) ? document.activeElement : null;
  const href = focused?.getAttribute("href");
  const scrollTop = scrollY;
  all("script", next).forEach((script) => script.remove());
  shownHtml = serializeMain(next);
  current.replaceChildren(...document.adoptNode(next).childNodes);
  for (const [name, element] of listDetails(current)) element.open = open.get(name) ?? element.open;
  if (index >= 0) {
    const list = entries();
    chosen = list.find((entry) => one("a[href]", entry)?.getAttribute("href") === link) ?? list[index] ?? null;
    chosen?.setAttribute("data-chosen", "");
  }
  const refocused = focused && (focused.id ? document.getElementById(focused.id)
    : href && all("a[href]", current).find((element) => element.getAttribute("href") === href));
  (refocused || (focused ? current : null))?.focus({ preventScroll: true });
  scrollTo({ top: scrollTop, behavior: "instant" });
  document.title = page.title;
  document.dispatchEvent(new CustomEvent("docyard:shown"));
}

// A verdict applies to the commit that the user has read, so an update must not replace it without consent.
const commits = (main, within = "") => all(`${within} input[name="commit"]`, main).map((field) => field.value);
const isDeciding = (current, next) => commits(current, "details[open]").some((commit) => !commits(next).includes(commit));

// Live updates. A hidden tab does not listen; its version shows later whether it missed a change.

let source = null;
let lastRefresh = Promise.resolve();  // in sequence, because an older response must not replace a newer one
const refresh = () => (lastRefresh = lastRefresh.then(reloadMain, reloadMain));
async function reloadMain() {
  const page = await fetchPage(location.href).catch(() => null);
  const current = one("[data-main]"), next = page && one("[data-main]", page);
  if (!current || !next) return false;
  if (page.documentElement.dataset.version) root.dataset.version = page.documentElement.dataset.version;
  if (serializeMain(next) === shownHtml) return true;
  if (hasEdits() || isDeciding(current, next) || (current.contains(document.activeElement) && isTyping(document.activeElement))) {
    showNotice("This page has changed.", "Show it", () => location.reload());
  } else {
    swap(current, next, page);
    showNotice("This page was updated.");
  }
  return true;
}

function listen() {
  if (source || document.hidden || !root.dataset.version || !window.EventSource) return;
  source = new EventSource(`/events?since=${encodeURIComponent(root.dataset.version)}`);
  source.addEventListener("moved", async (event) => {
    const notifying = source, { version } = JSON.parse(event.data);
    const isShown = await refresh(), isWhole = root.dataset.version !== `${version}~`;
    if (isShown && isWhole) root.dataset.version = version;
    // After a failure, or for an unfinished page, a new connection reports the change again.
    else if (source === notifying) { stopListening(); setTimeout(listen, isShown ? 1000 : 15000); }
  });
  source.addEventListener("error", () => {
    // The browser does not reconnect if the server has too many listeners, or if the session has ended.
    if (source?.readyState === EventSource.CLOSED) { stopListening(); setTimeout(listen, 60000); }
  });
}
function stopListening() { source?.close(); source = null; }
document.addEventListener("visibilitychange", () => (document.hidden ? stopListening() : listen()));
addEventListener("pagehide", stopListening);
addEventListener("pageshow", listen);

// Search during typing: the results of the page that the form would open.

const searchForm = one("form[data-live]");
if (searchForm) {
  let timer = 0, controller = null;
  const run = async () => {
    const query = new URLSearchParams([...new FormData(searchForm)].filter(([, value]) => value));
    const url = `${searchForm.getAttribute("action")}?${query}`;
    controller?.abort();
    controller = new AbortController();
    const page = await fetchPage(url, controller.signal).catch(() => null);
    const next = page && one("[data-results]", page);
    if (!next) return;
    shownHtml = serializeMain(one("[data-main]", page));
    one("[data-results]").replaceChildren(...document.adoptNode(next).childNodes);
    chosen = null;
    document.title = page.title;
    history.replaceState(history.state, "", url);
  };
  searchForm.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(run, 180); });
  searchForm.addEventListener("submit", () => { clearTimeout(timer); controller?.abort(); });
}

for (const [selector, act] of [["[data-theme-switch]", switchTheme], ["[data-keys-switch]", showKeys]]) {
  all(selector).forEach((button) => { button.hidden = false; button.addEventListener("click", act); });
}
