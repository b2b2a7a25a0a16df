// What pages of a proposal can do beyond reading and forms. Its few words are those of docyard.js.
"use strict";

// Who signs in under their name in between finds what they had written where it was.

const DRAFT = "docyard-draft";
const placed = (area) => [area.form?.getAttribute("action"), area.name]
  .concat(area.form ? all('input[type="hidden"]', area.form).filter((field) => !/^(csrf|key|commit)$/.test(field.name)).map((field) => field.value) : [])
  .join("\n");
document.addEventListener("click", (event) => {
  if (!event.target.closest?.("[data-sign-in]")) return;
  const isOwn = (area) => isEdited(area) || (!area.readOnly && area.closest(".resend"));
  const words = all("textarea").filter((area) => isOwn(area) && area.value.trim()).map((area) => [placed(area), area.value]);
  try { sessionStorage.setItem(DRAFT, JSON.stringify(words)); } catch { return; }  // the browser asks, then
  isSending = true;
});
function takeUp() {
  const words = new Map(JSON.parse(sessionStorage.getItem(DRAFT) ?? "[]"));
  if (!words.size) return;
  sessionStorage.removeItem(DRAFT);
  all("textarea").filter((area) => words.has(placed(area))).forEach((area) => {
    area.value = words.get(placed(area));
    if (area.closest("details")) area.closest("details").open = true;
  });
}
try { takeUp(); } catch { /* nothing was kept */ }

// Words that are selected in a text when somebody begins to comment on it are those that they mean.

let meant = null;
document.addEventListener("selectionchange", () => {
  const selection = getSelection();
  if (selection.isCollapsed) return;
  const range = selection.getRangeAt(0), words = range.cloneContents(), at = range.commonAncestorContainer;
  all("del, .old, summary", words).forEach((gone) => gone.remove());
  const entry = (at.closest ? at : at.parentElement)?.closest(".changed-section");
  const isOld = Boolean((at.closest ? at : at.parentElement)?.closest("del, .old"));
  meant = entry && !isOld ? { entry, text: words.textContent.trim().slice(0, 500) } : null;
});
document.addEventListener("pointerdown", (event) => { if (!event.target.closest?.("summary")) meant = null; });
document.addEventListener("toggle", (event) => {
  const quote = event.target.open && event.target.closest(".changed-section") && one('input[name="quote"]', event.target);
  if (quote && meant && meant.entry.contains(quote)) quote.value = quote.defaultValue = meant.text;
}, true);
