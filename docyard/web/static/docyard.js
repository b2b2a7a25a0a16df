// Additions to all pages: keys, live updates, and the theme. Reading and forms work without this script.
"use strict";

const root = document.documentElement;
const findAll = (selector, within = document) => [...within.querySelectorAll(selector)];
const findFirst = (selector, within = document) => within.querySelector(selector);
const isTyping = (element) =>
  Boolean(element && (element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName)));
const isVisible = (element) => Boolean(element.getClientRects().length);

// A notice on one line, which screen readers announce.

let noticeTimer = 0;
function showNotice(text, label, action) {
  const line = findFirst("[data-news]");
  if (!line) return;
  clearTimeout(noticeTimer);
  line.hidden = false;
  line.replaceChildren(document.createTextNode(text + (label ? " " : "")));
  if (label) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "link";
    button.textContent = label;
    button.addEventListener("click", () => { line.hidden = true; action(); });
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

// The browser asks the user before it leaves a page with unsent texts.

let isSending = false;
const isEdited = (field) => !field.readOnly && field.value !== field.defaultValue;
const isChoiceChanged = (field) => field.checked !== field.defaultChecked;
const hasEdits = () => findAll('textarea, form[method="post"] input:not([type])').some(isEdited) || findAll("main input[type=radio]").some(isChoiceChanged);
addEventListener("beforeunload", (event) => { if (!isSending && hasEdits()) event.preventDefault(); });

// A form is sent once. The server also ignores a repeated form.

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if (form.dataset.sent) { event.preventDefault(); return; }
  form.dataset.sent = "yes";
  isSending = true;
  // The buttons are disabled later, because the form does not contain the field of a disabled button.
  setTimeout(() => findAll("button", form).forEach((button) => { button.disabled = true; }));
});
addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  isSending = false;
  findAll("form[data-sent]").forEach((form) => {
    delete form.dataset.sent;
    findAll("button", form).forEach((button) => { button.disabled = false; });
  });
});

// Entries: j and k choose the next and the previous entry. Other keys act on the chosen entry first.

let chosenEntry = null;
const listEntries = () => findAll("[data-entry]", findFirst("[data-main]") ?? document).filter(isVisible);

function chooseEntry(entry) {
  chosenEntry?.removeAttribute("data-chosen");
  chosenEntry = entry ?? null;
  if (!chosenEntry) return;
  chosenEntry.setAttribute("data-chosen", "");
  const target = findFirst("a[href], button, summary", chosenEntry) ?? chosenEntry;
  if (target === chosenEntry && !chosenEntry.hasAttribute("tabindex") && chosenEntry.tabIndex < 0) chosenEntry.tabIndex = -1;
  target.focus({ preventScroll: true });
  const box = chosenEntry.getBoundingClientRect();
  if (box.top < 72 || box.bottom > innerHeight) chosenEntry.scrollIntoView({ block: box.height < innerHeight / 2 ? "center" : "start" });
}

function moveChosenEntry(offset) {
  const list = listEntries();
  if (!list.length) return;
  const index = chosenEntry?.isConnected ? list.indexOf(chosenEntry) : -1;
  if (index < 0) chooseEntry(list.find((entry) => entry.getBoundingClientRect().bottom > 72) ?? list[0]);
  else chooseEntry(list[Math.min(Math.max(index + offset, 0), list.length - 1)]);
}

function pressKey(key) {
  const selector = `[data-key="${CSS.escape(key)}"]`;
  const candidates = (chosenEntry?.isConnected ? findAll(selector, chosenEntry) : []).concat(findAll(selector)).filter((element) => !element.disabled);
  const inView = (element) => (element.closest("[data-entry]") ?? element).getBoundingClientRect().bottom > 72;
  const target = candidates.find((element) => chosenEntry?.contains(element)) ?? candidates.find(inView) ?? candidates[0];
  if (!target) return false;
  const closedDetails = target.closest("details:not([open])");
  if (closedDetails && target.tagName !== "SUMMARY") closedDetails.open = true;
  const details = target.tagName === "SUMMARY" ? target.parentElement : null;
  // An open form, such as after a login, gets the focus; only from within does its key close it.
  const isShown = details?.open && !details.contains(document.activeElement);
  target.focus();
  if (isTyping(target)) target.scrollIntoView({ block: "center" });
  else if (!isShown) target.click();
  if (details?.open) focusForm(details);
  return true;
}

// The focus is in the form that was opened, and the form is in view.
function focusForm(details, selector = "textarea, a[href], button") {
  findFirst(selector, details)?.focus({ preventScroll: true });
  // The box of the form, because <details> may have none.
  const form = findFirst("form", details) ?? details.lastElementChild, barHeight = findFirst(".bar")?.offsetHeight ?? 0;
  const { top, bottom, height } = form.getBoundingClientRect();
  if (top < barHeight || bottom > innerHeight) form.scrollIntoView({ block: height < innerHeight - 2 * barHeight ? "center" : "start" });
}

// Opened at once, because letters that are typed after a click on the summary are then no shortcuts.
document.addEventListener("click", (event) => {
  const details = event.target.closest?.("details.say > summary")?.parentElement;
  if (!details || details.open || event.defaultPrevented) return;
  event.preventDefault();
  details.open = true;
  focusForm(details, "textarea");
});

// The address can name an action of the page, such as after a login: #[approve], #[merge].
function focusAction() {
  const action = location.hash.startsWith("#[") && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!action) return;
  const details = action.closest("details");
  if (details) { details.open = true; focusForm(details); return; }
  action.tabIndex = -1;
  action.focus();
}
addEventListener("load", focusAction);
addEventListener("hashchange", focusAction);

// A closed form keeps its text, and the browser still asks before it leaves the page.
function closeForm(details) {
  details.open = false;
  findFirst("summary", details).focus();
}

// Keys. They are ignored while the user types, or with a modifier key.

const focusSearchField = () => { const field = findFirst("[data-find]"); field?.focus(); field?.select(); };
const showKeyHelp = () => findFirst("[data-keys]")?.showModal();
const pageKeys = { "/": focusSearchField, "?": showKeyHelp, t: switchTheme, j: () => moveChosenEntry(1), k: () => moveChosenEntry(-1) };
let goPressedAt = 0;

document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.defaultPrevented) return;
  const target = event.target;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && target.tagName === "TEXTAREA" && target.form) {
    event.preventDefault();
    const button = findFirst("button.main", target.form), question = button?.closest("details:not([open])");
    if (question) { question.open = true; focusForm(question, "button"); } else target.form.requestSubmit(button ?? undefined);
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && !findFirst("dialog[open]")) {
    // A browser may leave the focus on the page when the pointer opens a form.
    const openForm = target === document.body ? findAll("details.say[open]").at(-1) : target.closest("details.say[open]");
    if (openForm) closeForm(openForm);
    else if (isTyping(target)) target.blur();
    else chooseEntry(null);
    return;
  }
  if (isTyping(target) || findFirst("dialog[open]")) return;
  if (event.key === "Enter") {
    if (target === document.body && chosenEntry) findFirst("a[href], button, summary", chosenEntry)?.click();
    return;
  }
  if (goPressedAt && Date.now() - goPressedAt < 1500) {
    goPressedAt = 0;
    const link = findFirst(`[data-go="${CSS.escape(event.key)}"]`);
    if (link) { event.preventDefault(); link.click(); }
    return;
  }
  if (event.key === "g") { goPressedAt = Date.now(); return; }
  if (pageKeys[event.key]) { event.preventDefault(); pageKeys[event.key](); }
  else if (event.key.length === 1 && event.key !== " " && pressKey(event.key)) event.preventDefault();
});

// Updates: the page is requested again, and only its <main> replaces the shown one.

async function fetchPage(url, signal) {
  const response = await fetch(url, { credentials: "same-origin", signal, headers: { Accept: "text/html" } });
  if (!response.ok || response.redirected) return null;
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

// Two versions are compared as the server sent them. Hidden fields are omitted, because they differ in each
// response. Colours of code are omitted, because a page does not wait for them, and ages, because they change
// all the time.
function serializeMain(main) {
  const copy = main.cloneNode(true);
  findAll('input[type="hidden"], script', copy).forEach((element) => element.remove());
  findAll("pre > code", copy).forEach((code) => code.replaceChildren(code.textContent));
  findAll("time", copy).forEach((time) => time.replaceChildren());
  return copy.innerHTML;
}
let shownHtml = findFirst("[data-main]") && serializeMain(findFirst("[data-main]"));

// Add the colours of code that the shown version lacks.
function addLateColours(current, next) {
  const blocks = findAll("pre > code", next);
  findAll("pre > code", current).forEach((code, index) => {
    const block = blocks[index];
    if (block?.childElementCount && !code.childElementCount && block.textContent === code.textContent) {
      code.replaceChildren(...document.adoptNode(block).childNodes);
    }
  });
}

// The <details> elements by label and number of the same label, because an update may insert others.
function listDetails(main) {
  const counts = {}, elements = new Map();
  for (const element of findAll("details", main)) {
    const name = element.id || findFirst("summary", element)?.textContent.trim();
    counts[name] = (counts[name] ?? 0) + 1;
    elements.set(`${name} ${counts[name]}`, element);
  }
  return elements;
}

function replaceMain(current, next, page) {
  const openStates = new Map([...listDetails(current)].map(([name, element]) => [name, element.open]));
  const index = chosenEntry ? listEntries().indexOf(chosenEntry) : -1;
  const link = index >= 0 ? findFirst("a[href]", chosenEntry)?.getAttribute("href") : null;
  const focusedElement = current.contains(document.activeElement) ? document.activeElement : null;
  const href = focusedElement?.getAttribute("href");
  const scrollTop = scrollY;
  findAll("script", next).forEach((script) => script.remove());
  shownHtml = serializeMain(next);
  current.replaceChildren(...document.adoptNode(next).childNodes);
  for (const [name, element] of listDetails(current)) element.open = openStates.get(name) ?? element.open;
  if (index >= 0) {
    const list = listEntries();
    chosenEntry = list.find((entry) => findFirst("a[href]", entry)?.getAttribute("href") === link) ?? list[index] ?? null;
    chosenEntry?.setAttribute("data-chosen", "");
  }
  const nextFocus = focusedElement && (focusedElement.id ? document.getElementById(focusedElement.id)
    : href && findAll("a[href]", current).find((element) => element.getAttribute("href") === href));
  (nextFocus || (focusedElement ? current : null))?.focus({ preventScroll: true });
  scrollTo({ top: scrollTop, behavior: "instant" });
  document.title = page.title;
  document.dispatchEvent(new CustomEvent("docyard:shown"));
}

// A verdict applies to the commit that the user has read, so an update must not replace it without consent.
const listCommits = (main, within = "") => findAll(`${within} input[name="commit"]`, main).map((field) => field.value);
const isDeciding = (current, next) => listCommits(current, "details[open]").some((commit) => !listCommits(next).includes(commit));

// Live updates. A hidden tab does not listen; its version shows later whether it missed a change.

let eventSource = null;
let lastRefresh = Promise.resolve();  // in sequence, because an older response must not replace a newer one
const refresh = () => (lastRefresh = lastRefresh.then(reloadMain, reloadMain));
async function reloadMain() {
  const page = await fetchPage(location.href).catch(() => null);
  const current = findFirst("[data-main]"), next = page && findFirst("[data-main]", page);
  if (!current || !next) return false;
  if (page.documentElement.dataset.version) root.dataset.version = page.documentElement.dataset.version;
  if (serializeMain(next) === shownHtml) { addLateColours(current, next); return true; }
  if (hasEdits() || isDeciding(current, next) || (current.contains(document.activeElement) && isTyping(document.activeElement))) {
    showNotice("This page has changed.", "Show it", () => { document.dispatchEvent(new CustomEvent("docyard:leaving")); location.reload(); });
  } else {
    replaceMain(current, next, page);
    showNotice("This page was updated.");
  }
  return true;
}

function listen() {
  if (eventSource || document.hidden || !root.dataset.version || !window.EventSource) return;
  eventSource = new EventSource(`/events?since=${encodeURIComponent(root.dataset.version)}`);
  eventSource.addEventListener("moved", async (event) => {
    const notifyingSource = eventSource, { version } = JSON.parse(event.data);
    const isUpdated = await refresh(), isComplete = root.dataset.version !== `${version}~`;
    if (isUpdated && isComplete) root.dataset.version = version;
    // After a failure, or for an unfinished page, a new connection reports the change again.
    else if (eventSource === notifyingSource) { stopListening(); setTimeout(listen, isUpdated ? 1000 : 15000); }
  });
  eventSource.addEventListener("error", () => {
    // The browser does not reconnect if the server has too many listeners, or if the session has ended.
    if (eventSource?.readyState === EventSource.CLOSED) { stopListening(); setTimeout(listen, 60000); }
  });
}
function stopListening() { eventSource?.close(); eventSource = null; }
document.addEventListener("visibilitychange", () => (document.hidden ? stopListening() : listen()));
addEventListener("pagehide", stopListening);
addEventListener("pageshow", listen);

// Search during typing: the results of the page that the form would open.

let resultsTimer = 0, resultsController = null;
async function updateResults(form) {
  const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
  const url = `${form.getAttribute("action")}?${query}`;
  resultsController?.abort();
  resultsController = new AbortController();
  const page = await fetchPage(url, resultsController.signal).catch(() => null);
  const next = page && findFirst("[data-results]", page);
  if (!next) return;
  shownHtml = serializeMain(findFirst("[data-main]", page));
  findFirst("[data-results]").replaceChildren(...document.adoptNode(next).childNodes);
  chosenEntry = null;
  document.title = page.title;
  history.replaceState(history.state, "", url);
}
// The listeners are at the document, because an update of the page replaces the form.
document.addEventListener("input", (event) => {
  const form = event.target.closest?.("form[data-live]");
  if (!form) return;
  clearTimeout(resultsTimer);
  resultsTimer = setTimeout(() => updateResults(form), 180);
});
document.addEventListener("submit", (event) => {
  if (event.target.matches("form[data-live]")) { clearTimeout(resultsTimer); resultsController?.abort(); }
});

for (const [selector, action] of [["[data-theme-switch]", switchTheme], ["[data-keys-switch]", showKeyHelp]]) {
  findAll(selector).forEach((button) => { button.hidden = false; button.addEventListener("click", action); });
}
