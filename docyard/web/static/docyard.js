// What pages can do beyond reading and forms, which work without any of this: keys, live updates, the theme.
"use strict";

const root = document.documentElement;
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const one = (selector, within = document) => within.querySelector(selector);
const isTyping = (element) =>
  Boolean(element && (element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName)));
const isShown = (element) => Boolean(element.getClientRects().length);

// News: one quiet line, which screen readers read out.

let fading = 0;
function tell(text, label, act) {
  const line = one("[data-news]");
  if (!line) return;
  clearTimeout(fading);
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
    fading = setTimeout(() => { line.hidden = true; }, 3000);
  }
}

// The theme.

function switchTheme() {
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  try { localStorage.setItem("docyard-theme", root.dataset.theme); } catch { /* it lasts as long as the page */ }
}

// Words that are not sent yet: the browser asks before they are lost.

let isSending = false;
const isEdited = (field) => !field.readOnly && field.value !== field.defaultValue;
const isPicked = (field) => field.checked !== field.defaultChecked;
const hasEdits = () => all('textarea, form[method="post"] input:not([type])').some(isEdited) || all("main input[type=radio]").some(isPicked);
addEventListener("beforeunload", (event) => { if (!isSending && hasEdits()) event.preventDefault(); });

// A form is sent once. The server is right without this.

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if (form.dataset.sent) { event.preventDefault(); return; }
  form.dataset.sent = "yes";
  isSending = true;
  // Afterwards: a disabled button would not be among the fields that are sent.
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

// Entries: j and k go through them; what a key does is looked for in the chosen one first.

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

function step(by) {
  const list = entries();
  if (!list.length) return;
  const at = chosen?.isConnected ? list.indexOf(chosen) : -1;
  if (at < 0) choose(list.find((entry) => entry.getBoundingClientRect().bottom > 72) ?? list[0]);
  else choose(list[Math.min(Math.max(at + by, 0), list.length - 1)]);
}

function press(key) {
  const wanted = `[data-key="${CSS.escape(key)}"]`;
  const found = (chosen?.isConnected ? all(wanted, chosen) : []).concat(all(wanted)).filter((element) => !element.disabled);
  const inView = (element) => (element.closest("[data-entry]") ?? element).getBoundingClientRect().bottom > 72;
  const target = found.find((element) => chosen?.contains(element)) ?? found.find(inView) ?? found[0];
  if (!target) return false;
  const folded = target.closest("details:not([open])");
  if (folded && target.tagName !== "SUMMARY") folded.open = true;
  target.focus();
  if (isTyping(target)) target.scrollIntoView({ block: "center" });
  else target.click();
  if (target.tagName === "SUMMARY" && target.parentElement.open) one("textarea, a[href], button", target.parentElement)?.focus();
  return true;
}

// Keys. None does anything while somebody types, or with another key held.

const search = () => { const field = one("[data-find]"); field?.focus(); field?.select(); };
const showKeys = () => one("[data-keys]")?.showModal();
const own = { "/": search, "?": showKeys, t: switchTheme, j: () => step(1), k: () => step(-1) };
let isGoing = 0;

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
  if (isGoing && Date.now() - isGoing < 1500) {
    isGoing = 0;
    const link = one(`[data-go="${CSS.escape(event.key)}"]`);
    if (link) { event.preventDefault(); link.click(); }
    return;
  }
  if (event.key === "g") { isGoing = Date.now(); return; }
  if (own[event.key]) { event.preventDefault(); own[event.key](); }
  else if (event.key.length === 1 && event.key !== " " && press(event.key)) event.preventDefault();
});

// A page of the same address, asked for again: only its <main> takes the place of the one that is shown.

async function fetched(url, signal) {
  const response = await fetch(url, { credentials: "same-origin", signal, headers: { Accept: "text/html" } });
  if (!response.ok || response.redirected) return null;
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

// What was sent is compared with what is sent, before any script has touched either. Hidden fields differ
// each time a form is made.
function sent(main) {
  const copy = main.cloneNode(true);
  all('input[type="hidden"], script', copy).forEach((element) => element.remove());
  return copy.innerHTML;
}
let shown = one("[data-main]") && sent(one("[data-main]"));

// What can be opened, by what it says and the how many-th of these it is: others may come before it.
function named(main) {
  const counts = {}, found = new Map();
  for (const element of all("details", main)) {
    const name = element.id || one("summary", element)?.textContent.trim();
    counts[name] = (counts[name] ?? 0) + 1;
    found.set(`${name} ${counts[name]}`, element);
  }
  return found;
}

function swap(now, next, page) {
  const open = new Map([...named(now)].map(([name, element]) => [name, element.open]));
  const at = chosen ? entries().indexOf(chosen) : -1;
  const link = at >= 0 ? one("a[href]", chosen)?.getAttribute("href") : null;
  const focused = now.contains(document.activeElement) ? document.activeElement : null;
  const href = focused?.getAttribute("href");
  const place = scrollY;
  all("script", next).forEach((script) => script.remove());
  shown = sent(next);
  now.replaceChildren(...document.adoptNode(next).childNodes);
  for (const [name, element] of named(now)) element.open = open.get(name) ?? element.open;
  if (at >= 0) {
    const list = entries();
    chosen = list.find((entry) => one("a[href]", entry)?.getAttribute("href") === link) ?? list[at] ?? null;
    chosen?.setAttribute("data-chosen", "");
  }
  const again = focused && (focused.id ? document.getElementById(focused.id)
    : href && all("a[href]", now).find((element) => element.getAttribute("href") === href));
  (again || (focused ? now : null))?.focus({ preventScroll: true });
  scrollTo({ top: place, behavior: "instant" });
  document.title = page.title;
  document.dispatchEvent(new CustomEvent("docyard:shown"));
}

// A verdict that is about to be given is for the commit that was read: no other one takes its place unasked.
const commits = (main, within = "") => all(`${within} input[name="commit"]`, main).map((field) => field.value);
const isDeciding = (now, next) => commits(now, "details[open]").some((commit) => !commits(next).includes(commit));

// Live updates. A tab that nobody sees does not listen; what it missed is told by its version.

let source = null;
let turn = Promise.resolve();  // one after the other, or what was asked for first could come last
const refresh = () => (turn = turn.then(shownAnew, shownAnew));
async function shownAnew() {
  const page = await fetched(location.href).catch(() => null);
  const now = one("[data-main]"), next = page && one("[data-main]", page);
  if (!now || !next) return false;
  if (page.documentElement.dataset.version) root.dataset.version = page.documentElement.dataset.version;
  if (sent(next) === shown) return true;
  if (hasEdits() || isDeciding(now, next) || (now.contains(document.activeElement) && isTyping(document.activeElement))) {
    tell("This page has changed.", "Show it", () => location.reload());
  } else {
    swap(now, next, page);
    tell("This page was updated.");
  }
  return true;
}

function listen() {
  if (source || document.hidden || !root.dataset.version || !window.EventSource) return;
  source = new EventSource(`/events?since=${encodeURIComponent(root.dataset.version)}`);
  source.addEventListener("moved", async (event) => {
    const told = source, { version } = JSON.parse(event.data);
    const isShown = await refresh(), isWhole = root.dataset.version !== `${version}~`;
    if (isShown && isWhole) root.dataset.version = version;
    // What could not be fetched, or lacks what is being read yet, is told of again to whoever comes back.
    else if (source === told) { hush(); setTimeout(listen, isShown ? 1000 : 15000); }
  });
  source.addEventListener("error", () => {
    // An answer that is no stream ends it for good: the server has enough listeners, or the session is over.
    if (source?.readyState === EventSource.CLOSED) { hush(); setTimeout(listen, 60000); }
  });
}
function hush() { source?.close(); source = null; }
document.addEventListener("visibilitychange", () => (document.hidden ? hush() : listen()));
addEventListener("pagehide", hush);
addEventListener("pageshow", listen);

// Search as one types: the page of the form's own address, and of it the results.

const ask = one("form[data-live]");
if (ask) {
  let timer = 0, running = null;
  const run = async () => {
    const given = new URLSearchParams([...new FormData(ask)].filter(([, value]) => value));
    const url = `${ask.getAttribute("action")}?${given}`;
    running?.abort();
    running = new AbortController();
    const page = await fetched(url, running.signal).catch(() => null);
    const next = page && one("[data-results]", page);
    if (!next) return;
    shown = sent(one("[data-main]", page));
    one("[data-results]").replaceChildren(...document.adoptNode(next).childNodes);
    chosen = null;
    document.title = page.title;
    history.replaceState(history.state, "", url);
  };
  ask.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(run, 180); });
  ask.addEventListener("submit", () => { clearTimeout(timer); running?.abort(); });
}

for (const [selector, act] of [["[data-theme-switch]", switchTheme], ["[data-keys-switch]", showKeys]]) {
  all(selector).forEach((button) => { button.hidden = false; button.addEventListener("click", act); });
}
