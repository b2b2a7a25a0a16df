// Additions to the review of a proposal. They use functions of docyard.js.
"use strict";

function createElement(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}
const createButton = (text, action, className = "") => {
  const button = createElement("button", { type: "button", textContent: text, className });
  button.addEventListener("click", action);
  return button;
};

// A comment quotes the text that is selected when its form is opened.

const MAX_QUOTE_LENGTH = 500;
let quotedText = null;  // the selected text, and the id of its section
const findElement = (node) => (node.closest ? node : node.parentElement);
const findQuotedEntry = () => quotedText && document.getElementById(quotedText.entryId);

// Unchanged lines are shown twice, side by side. The end of a selection that is cut off is in one of both columns.
function joinRow(row) {
  const texts = findAll("pre", row).map((line) => line.textContent.trim()).filter(Boolean);
  if (findFirst(".again", row) && texts.length > 1) texts.splice(0, texts.length, texts[texts[0].length <= texts[1].length ? 0 : 1]);
  return texts.join("\n");
}

function readSelectedText(fragment) {
  findAll("del, .became, .old, summary, .version-name, h1, h2, h3, h4, h5, h6", fragment).forEach((element) => element.remove());
  const rows = findAll(".row", fragment);
  const text = rows.length ? rows.map(joinRow).filter(Boolean).join("\n") : fragment.textContent;
  return text.trim().replace(/^#{1,6} .*(\n+|$)/, "").slice(0, MAX_QUOTE_LENGTH);  // a comment is about the text below the heading
}

document.addEventListener("selectionchange", () => {
  const selection = getSelection();
  clearTimeout(selectionTimer);
  selectionTimer = setTimeout(showSelectionButton, 150);
  if (selection.isCollapsed) return;
  const range = selection.getRangeAt(0), container = findElement(range.commonAncestorContainer);
  const entry = container?.closest(".changed-section"), isText = container?.closest("form, .thread, h3, del, .old") === null;
  const text = entry && isText ? readSelectedText(range.cloneContents()) : "";
  quotedText = text ? { entryId: entry.id, text } : null;
});
document.addEventListener("pointerdown", (event) => {
  isPointerDown = true;
  if (!event.target.closest?.("summary, .selection-button")) quotedText = null;
});
for (const name of ["pointerup", "pointercancel"]) {
  document.addEventListener(name, () => { isPointerDown = false; showSelectionButton(); });
}

const findQuoteForm = (entry) => entry && findFirst("details.say:has([name=quote])", entry);
const setQuote = (quote, text) => { quote.value = quote.defaultValue = text; };

function insertQuote(details) {
  const quote = findQuotedEntry()?.contains(details) && findFirst('[name="quote"]', details);
  if (quote) setQuote(quote, quotedText.text);
}
document.addEventListener("toggle", (event) => {
  if (!event.target.open) return;
  insertQuote(event.target);
  offerLines(event.target);
  showLineChoice(event.target);
}, true);

function openQuoteForm() {
  const entry = findQuotedEntry(), details = findQuoteForm(entry);
  details.open = true;
  insertQuote(details);
  showLineChoice(details);
  chooseEntry(entry);
  focusForm(details, '[name="text"]');
}

// The key opens the form of the section whose text is selected, also if another section is chosen.
pageKeys.c = () => {
  if (!getSelection().isCollapsed && findQuoteForm(findQuotedEntry())) openQuoteForm();
  else pressKey("c");
};

// A button next to the selected text does the same. It is the next element after the text for Tab, and stays while a
// pointer or the focus is on it, because some browsers then end the selection.

const selectionButton = createButton("Comment on selection", () => { selectionButton.remove(); openQuoteForm(); }, "main selection-button");
selectionButton.append(" ", createElement("kbd", { textContent: "c", ariaHidden: "true" }));
selectionButton.addEventListener("mousedown", (event) => event.preventDefault());
let selectionTimer = 0, isPointerDown = false;

function showSelectionButton() {
  if (isPointerDown || (quotedText && document.activeElement === selectionButton)) return;
  const entry = findQuotedEntry(), selection = getSelection();
  if (selection.isCollapsed || !findQuoteForm(entry)) { selectionButton.remove(); return; }
  const rects = [...selection.getRangeAt(0).getClientRects()], end = rects.findLast(({ width }) => width) ?? rects.at(-1);
  if (!end) return;
  const next = findFirst(":scope > .thread", entry) ?? findQuoteForm(entry);
  if (selectionButton.nextElementSibling !== next) next.before(selectionButton);  // a click needs the same element
  const area = entry.getBoundingClientRect(), { offsetWidth, offsetHeight } = selectionButton;
  const top = Math.max(Math.min(end.bottom + 6, innerHeight - offsetHeight - 6), area.top);
  selectionButton.style.top = `${top - area.top}px`;
  selectionButton.style.left = `${Math.max(8, Math.min(end.right - area.left, area.width - offsetWidth - 8))}px`;
}

// Without a selection, the form has a choice of the first and the last line to quote.

const MAX_LISTED_LINES = 400;
function listLines(entry) {
  const blocks = "p, li, tr, pre, dt, dd", rendered = findAll(`.version:not(.old) .prose :is(${blocks})`, entry);
  const elements = rendered.length ? rendered.filter((element) => !findFirst(blocks, element))
    : findAll(".rows-of pre:not(.old, .again)", entry).filter((element) => !element.closest(".thread"));
  return elements.flatMap((element) => {
    const copy = element.cloneNode(true);
    findAll("del, .became", copy).forEach((deletion) => deletion.remove());
    findAll("td, th", copy).forEach((cell) => cell.append(" "));
    return copy.textContent.split("\n").map((line) => line.trim()).filter((line) => line && !/^#{1,6} /.test(line));
  }).slice(0, MAX_LISTED_LINES);
}

function offerLines(details) {
  const entry = details.closest(".changed-section"), quote = findFirst('[name="quote"]', details);
  if (!entry || !quote || findFirst(".quoted-lines", details)) return;
  const lines = listLines(entry);
  if (!lines.length) return;
  const [first, last] = ["First line", "Last line"].map((label) => {
    const select = createElement("select", {}, createElement("option", { value: "", textContent: "–" }),
      ...lines.map((line, index) => createElement("option", { value: index, textContent: line.length > 70 ? `${line.slice(0, 69)}…` : line })));
    return { select, label: createElement("label", {}, label, select) };
  });
  const update = () => {
    const indexes = [first, last].map(({ select }) => select.value).filter(Boolean).map(Number);
    setQuote(quote, indexes.length ? lines.slice(Math.min(...indexes), Math.max(...indexes) + 1).join("\n").slice(0, MAX_QUOTE_LENGTH) : "");
  };
  [first, last].forEach(({ select }) => select.addEventListener("change", update));
  quote.closest("label").before(createElement("fieldset", { className: "quoted-lines" },
    createElement("legend", { textContent: "Lines to quote (optional)" }), first.label, last.label));
}

// Selected text is quoted already, so no lines need to be chosen.
function showLineChoice(details) {
  const choice = findFirst(".quoted-lines", details);
  if (choice) choice.hidden = Boolean(findFirst('[name="quote"]', details).value) && findAll("select", choice).every(({ value }) => !value);
}

function cancelForm(form) {
  if (findAll("textarea", form).some(isEdited) && !confirm("Discard your text?")) return;
  if (form.elements.quote) form.elements.quote.defaultValue = "";
  form.reset();
  form.dispatchEvent(new Event("input", { bubbles: true }));  // the text is then no longer stored
  closeForm(form.closest("details"));
}
function offerCancel() {
  for (const form of findAll("details.say > form").filter((item) => findFirst("textarea", item) && !findFirst(".cancel", item))) {
    findFirst(".acts", form).append(createButton("Cancel", () => cancelForm(form), "cancel"));
  }
}

// Pending comments: this browser stores them until the server has accepted them with a decision.

const MAX_PENDING_COMMENTS = 100;
const findReview = () => findFirst("[data-review]");
const getReviewKey = () => `docyard-review-${findReview().dataset.review}`;
const isPendingComment = (comment) => ["id", "file", "slug", "quote", "text", "commit"].every((name) => typeof comment?.[name] === "string");
const countPending = (count) => `${count} pending comment${count === 1 ? "" : "s"}`;

// The comments, and the request that sent some of them and whose answer is unknown: its idempotency key, their texts by
// id, and those of earlier attempts with the same key.
function readReview() {
  try {
    const review = JSON.parse(localStorage.getItem(getReviewKey()));
    return { comments: (review?.comments ?? []).filter(isPendingComment), sent: review?.sent ?? null };
  } catch { return { comments: [], sent: null }; }
}

function writeReview(review) {
  try {
    if (review.comments.length || review.sent) localStorage.setItem(getReviewKey(), JSON.stringify(review));
    else localStorage.removeItem(getReviewKey());
    return true;
  } catch { return false; }
}

function dropComments(isSent) {
  writeReview({ comments: readReview().comments.filter((comment) => !isSent(comment)), sent: null });
}

const findSectionForm = ({ file, slug }) => findAll(".changed-section form").find((form) =>
  form.elements.file?.value === file && (form.elements.slug?.value ?? "") === slug);

function changePending(id, change, isShown = true) {
  const review = readReview();
  review.comments = review.comments.flatMap((comment) => (comment.id === id ? change(comment) : [comment]));
  const isStored = writeReview(review);
  if (!isStored) showNotice("This browser cannot store the comment.");
  if (isShown) showPendingComments();
  return isStored;
}

function editPending(article, comment) {
  const area = createElement("textarea", { rows: 3, required: true, defaultValue: comment.text, value: comment.text });
  const cancel = () => { form.remove(); showPendingComments(); focusPending(comment.id); };
  const form = createElement("form", {}, createElement("label", {}, "Your comment", area),
    createElement("div", { className: "acts" }, createElement("button", { className: "main", textContent: "Save" }), createButton("Cancel", cancel)));
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing || isEdited(area)) return;
    event.preventDefault();
    cancel();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!changePending(comment.id, (item) => [{ ...item, text: area.value }], false)) return;
    form.remove();
    showPendingComments();
    focusPending(comment.id);
  });
  findFirst(".pending-text", article).replaceWith(form);
  findAll(":scope > .acts", article).forEach((element) => element.remove());
  area.focus();
}

function removePending(comment) {
  const summary = findFirst("summary", findSectionForm(comment)?.closest("details") ?? findReview());
  changePending(comment.id, () => []);
  summary?.focus();
}

const focusPending = (id) => document.getElementById(`pending-${id}`)?.focus();

// A suggestion is shown as the server will show it: as a change of the quoted words.
function readSuggestion({ text, quote }) {
  const found = quote ? [...text.matchAll(/^ {0,3}(`{3,}|~{3,}) *suggestion *\n((?:.*\n)*?) {0,3}\1 *$/gm)] : [];
  if (found.length !== 1) return null;
  const [[fence, , newText]] = found;
  return { newText: newText.replace(/\n$/, ""), otherText: text.replace(fence, () => "").trim() };
}

function buildChange(oldText, newText) {
  const [oldWords, newWords] = [oldText, newText].map((text) => text.split(/(?<=\s)(?=\S)|(?<=\S)(?=\s)/));
  const count = Math.min(oldWords.length, newWords.length);
  let start = 0, end = 0;
  while (start < count && oldWords[start] === newWords[start]) start += 1;
  while (end < count - start && oldWords.at(-end - 1) === newWords.at(-end - 1)) end += 1;
  const [removed, added] = [oldWords, newWords].map((words) => words.slice(start, words.length - end).join(""));
  const line = createElement("pre", { className: "both" }, oldWords.slice(0, start).join(""));
  line.dataset.sign = "±";
  if (removed) line.append(createElement("del", { textContent: removed }));
  if (removed && added) line.append(createElement("span", { className: "became", textContent: " → " }));
  if (added) line.append(createElement("ins", { textContent: added }));
  line.append(oldWords.slice(oldWords.length - end).join(""));
  return line;
}

function buildPendingText(comment) {
  const suggestion = readSuggestion(comment), text = suggestion ? suggestion.otherText : comment.text;
  const parts = text ? [createElement("p", { className: "plain-text", textContent: text })] : [];
  if (suggestion) {
    const section = createElement("section", { className: "suggestion", ariaLabel: "Suggestion" });
    section.append(["diff", "rows-of one", "row"].reduceRight((child, className) => createElement("div", { className }, child), buildChange(comment.quote, suggestion.newText)));
    parts.push(section);
  }
  return parts;
}

function buildPendingComment(comment, isInPlace) {
  const article = createElement("article", { className: "thread pending", id: `pending-${comment.id}`, tabIndex: -1 });
  article.setAttribute("aria-label", "Pending comment");
  const head = createElement("p", { className: "remark-head" }, createElement("span", { className: "tag warn", textContent: "Pending" }));
  if (!isInPlace) {
    const url = `/proposals/${findReview().dataset.review}/changes?path=${encodeURIComponent(comment.file)}`;
    head.append(createElement("a", { href: url, textContent: comment.file + (comment.slug === "_preamble" ? ", introduction" : comment.slug && `#${comment.slug}`) }));
  }
  article.append(head);
  if (comment.quote) article.append(createElement("blockquote", { className: "quote", textContent: comment.quote }));
  article.append(createElement("div", { className: "pending-text" }, ...buildPendingText(comment)),
    createElement("div", { className: "acts" }, createButton("Edit", () => editPending(article, comment)), createButton("Remove", () => removePending(comment))));
  return article;
}

// Show each pending comment below its section, else in the review. One that is being edited stays as it is.
function showPendingComments() {
  const box = findReview() && findFirst("[data-pending]", findReview());
  if (!box) return;
  const { comments } = readReview();
  findAll(".thread.pending").filter((article) => !findFirst("form", article)).forEach((article) => article.remove());
  for (const comment of comments) {
    if (document.getElementById(`pending-${comment.id}`)) continue;
    const details = findSectionForm(comment)?.closest("details");
    if (details) details.before(buildPendingComment(comment, true));
    else box.append(buildPendingComment(comment, false));
  }
  box.hidden = !comments.length;
  const are = comments.length === 1 ? "is" : "are";
  findFirst("p", box).textContent = `${countPending(comments.length)} ${are} sent with your comment, your approval or your request for changes.`;
  for (const area of findAll("form textarea", findReview())) {
    area.dataset.required ??= String(area.required);
    area.required = area.dataset.required === "true" && !comments.length;
  }
}

function addPending(form) {
  if (!form.reportValidity()) return;
  const review = readReview(), field = (name) => form.elements[name]?.value ?? "";
  if (review.comments.length >= MAX_PENDING_COMMENTS) { showNotice(`A review has at most ${MAX_PENDING_COMMENTS} comments: send it first.`); return; }
  const id = [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  review.comments.push({ id, file: field("file"), slug: field("slug"), quote: field("quote"), text: field("text"), commit: findReview().dataset.commit });
  if (!writeReview(review)) { showNotice("This browser cannot store the comment: send it with “Comment”."); return; }
  form.elements.quote.defaultValue = "";
  form.reset();
  form.closest("details").open = false;
  showPendingComments();
  focusPending(id);
  showNotice(`Added to your review: ${countPending(review.comments.length)}.`);
}

// A suggestion replaces whole lines of the source, because rendered text lacks the marks of links, code and tables. The
// server finds the lines of the quoted text, and the user changes them.
async function fetchSuggestedLines(form, quote) {
  const { review: id, commit } = findReview().dataset;
  const query = new URLSearchParams({ file: form.elements.file.value, slug: form.elements.slug?.value ?? "", quote, commit });
  try {
    const response = await fetch(`/proposals/${id}/suggested-lines?${query}`, { credentials: "same-origin" });
    return await response.json();
  } catch { return { message: "The source of the quoted text cannot be read. Try again." }; }
}

async function insertSuggestion(form) {
  const words = form.elements.quote.value.trim(), area = form.elements.text;
  if (!words) { showNotice("Select the text to change first, or quote it."); form.elements.quote.focus(); return; }
  if (area.readOnly) return;
  area.readOnly = true;  // keys are then neither text nor shortcuts until the lines are there
  area.focus();
  const { lines: quote, message } = await fetchSuggestedLines(form, words);
  area.readOnly = false;
  if (!quote) { showNotice(message); form.elements.quote.focus(); return; }
  setQuote(form.elements.quote, quote);
  const fence = "`".repeat(Math.max(3, ...[...quote.matchAll(/`+/g)].map(([marks]) => marks.length + 1)));
  const start = `${area.value.trim()}${area.value.trim() && "\n\n"}${fence}suggestion\n`;
  area.value = `${start}${quote}\n${fence}`;
  area.focus();
  const index = quote.indexOf(words), first = start.length + Math.max(index, 0);
  area.setSelectionRange(first, first + (index < 0 ? quote : words).length);
}

function offerPendingComments() {
  if (!findReview() || !findFirst("[data-pending]", findReview())) return;
  for (const form of findAll(".changed-section details.say > form").filter((item) => item.elements.quote)) {
    findFirst(".acts", form).append(createButton("Add to the review", () => addPending(form)), createButton("Suggest a change", () => insertSuggestion(form)));
  }
  showPendingComments();
}

// A request that may have been accepted is repeated with the same key, so that no comment is sent twice.
document.addEventListener("submit", (event) => {
  const form = event.target, isDecision = /\/(comment|approve|request-changes)$/.test(form.getAttribute("action") ?? "");
  if (event.defaultPrevented || !isDecision || !findReview() || !(form.closest("[data-pending-forms]") || form.elements.comments)) return;
  const review = readReview();
  if (!form.elements.comments || form.elements.comments.dataset.added) {
    form.elements.comments?.remove();  // the browser has restored a page whose form was sent
    if (!review.comments.length) return;
    const input = createElement("input", { type: "hidden", name: "comments", value: JSON.stringify(review.comments) });
    input.dataset.added = "yes";
    form.append(input);
  }
  if (!form.elements.comments.value) return;
  const texts = Object.fromEntries(JSON.parse(form.elements.comments.value).map(({ id, text }) => [id, text]));
  review.sent = { key: review.sent?.key ?? form.elements.key.value, texts, earlier: review.sent ? [...review.sent.earlier, review.sent.texts] : [] };
  form.elements.key.value = review.sent.key;
  writeReview(review);
});

// The address of the next page has the key of an accepted request. A refused request has sent no comment, unless an
// earlier attempt with the same key was accepted.
function acknowledgeSentComments() {
  if (!findReview()) return;
  const query = new URLSearchParams(location.search), key = query.get("sent"), { sent } = readReview();
  if (sent && sent.key === key) dropComments(({ id, text }) => sent.texts[id] === text);
  if (findFirst(".pending-list")) {
    const isSentBefore = Boolean(sent) && findFirst('[data-refused="IDEMPOTENCY_KEY_REUSED"]') !== null;
    dropComments(({ id, text }) => isSentBefore && sent.earlier.length && sent.earlier.every((texts) => texts[id] === text));
    const field = findFirst('.resend input[name="comments"]'), { comments } = readReview();
    if (isSentBefore && field) {
      field.value = comments.length ? JSON.stringify(comments) : "";
      findFirst(".pending-list").remove();
    }
  }
  if (key === null) return;
  query.delete("sent");
  history.replaceState(history.state, "", `${location.pathname}${query.size ? `?${query}` : ""}${location.hash}`);
}

acknowledgeSentComments();
offerPendingComments();
offerCancel();
document.addEventListener("docyard:shown", () => { offerPendingComments(); offerCancel(); });
addEventListener("storage", (event) => { if (findReview() && event.key === getReviewKey()) showPendingComments(); });

// Marks of viewed documents, for the versions that were shown. This browser stores them; they are no evidence.

const findTree = () => findFirst("[data-tree]");
const getMarksKey = () => `docyard-viewed-${findTree().dataset.tree}`;
const listTreeFiles = () => findAll("[data-file]", findTree()).map((link) => [link, ...link.dataset.file.split(" ")]);

function readMarks() {
  try { return JSON.parse(localStorage.getItem(getMarksKey())) ?? {}; } catch { return {}; }
}

function markViewed(id, isViewed) {
  const marks = readMarks(), file = listTreeFiles().find(([, fileId]) => fileId === id);
  if (!file) return;
  if (isViewed) marks[id] = file[2];
  else delete marks[id];
  try { localStorage.setItem(getMarksKey(), JSON.stringify(marks)); } catch { showNotice("This browser cannot store the mark."); }
  showMarks();
}

function addMarkField(article, id) {
  const field = createElement("input", { type: "checkbox" });
  field.addEventListener("change", () => markViewed(id, field.checked));
  findFirst(".changed-head", article).append(createElement("label", { className: "viewed-mark" }, field, "Viewed"));
  return field;
}

function showMarks() {
  if (!findTree()) return;
  const marks = readMarks(), target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  let count = 0;
  for (const [link, id, digest] of listTreeFiles()) {
    const isViewed = marks[id] === digest, article = document.getElementById(id);
    count += isViewed;
    link.toggleAttribute("data-viewed", isViewed);
    findFirst(".hidden", link)?.remove();
    if (isViewed) link.append(createElement("span", { className: "hidden", textContent: " (viewed)" }));
    if (!article) continue;
    (findFirst(".viewed-mark input", article) ?? addMarkField(article, id)).checked = isViewed;
    // A section that the address names is shown.
    article.toggleAttribute("data-viewed", isViewed && !(target && target !== article && article.contains(target)));
  }
  findFirst("[data-viewed-count]").textContent = count ? `, ${count} viewed` : "";
}

pageKeys.x = () => {
  const article = chosenEntry?.isConnected ? chosenEntry.closest(".changed") : findAll(".changed").find((item) => item.getBoundingClientRect().bottom > 72);
  const field = article && findFirst(".viewed-mark input", article);
  if (!field) return;
  const next = findAll(".changed-section").find((entry) => article.compareDocumentPosition(entry) & Node.DOCUMENT_POSITION_FOLLOWING && !article.contains(entry) && isVisible(entry));
  markViewed(article.id, !field.checked);
  if (!field.checked) return;
  if (next) chooseEntry(next);
  else { chooseEntry(null); field.focus(); }
};

if (findTree() && matchMedia("(min-width: 64rem)").matches) findFirst("details", findTree()).open = true;
showMarks();
document.addEventListener("docyard:shown", showMarks);
addEventListener("hashchange", showMarks);
addEventListener("storage", (event) => { if (findTree() && event.key === getMarksKey()) showMarks(); });
