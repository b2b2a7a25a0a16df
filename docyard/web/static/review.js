// Additions to the review of a proposal. They use functions of docyard.js.
"use strict";

// A comment quotes the text that is selected when its form is opened.

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
  findAll("del, .old, summary", fragment).forEach((element) => element.remove());
  const rows = findAll(".row", fragment);
  const text = rows.length ? rows.map(joinRow).filter(Boolean).join("\n") : fragment.textContent;
  return text.trim().replace(/^#{1,6} .*(\n+|$)/, "").slice(0, 500);  // a comment is about the text below the heading
}

document.addEventListener("selectionchange", () => {
  const selection = getSelection();
  if (selection.isCollapsed) return;
  const range = selection.getRangeAt(0), container = findElement(range.commonAncestorContainer);
  const entry = container?.closest(".changed-section"), isText = container?.closest("form, .thread, h3, del, .old") === null;
  const text = entry && isText ? readSelectedText(range.cloneContents()) : "";
  quotedText = text ? { entryId: entry.id, text } : null;
});
document.addEventListener("pointerdown", (event) => { if (!event.target.closest?.("summary")) quotedText = null; });

function insertQuote(details) {
  const quote = findQuotedEntry()?.contains(details) && findFirst('[name="quote"]', details);
  if (quote) quote.value = quote.defaultValue = quotedText.text;
}
document.addEventListener("toggle", (event) => { if (event.target.open) insertQuote(event.target); }, true);

// The key opens the form of the section whose text is selected, also if another section is chosen.
pageKeys.c = () => {
  const details = !getSelection().isCollapsed && findQuotedEntry() && findFirst("details.say:has([name=quote])", findQuotedEntry());
  if (!details) { pressKey("c"); return; }
  details.open = true;
  insertQuote(details);
  chooseEntry(findQuotedEntry());
  findFirst('[name="text"]', details).focus();
};
