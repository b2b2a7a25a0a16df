// Additions to the pages of a proposal. They use functions of docyard.js.
"use strict";

// Texts that the user has not sent are stored during a login, and restored after it.

const DRAFT_KEY = "docyard-draft";
const getAreaKey = (area) => [area.form?.getAttribute("action"), area.name]
  .concat(area.form ? findAll('input[type="hidden"]', area.form).filter((field) => !/^(csrf|key|commit)$/.test(field.name)).map((field) => field.value) : [])
  .join("\n");
document.addEventListener("click", (event) => {
  if (!event.target.closest?.("[data-sign-in]")) return;
  const isOwn = (area) => isEdited(area) || (!area.readOnly && area.closest(".resend"));
  const drafts = findAll("textarea").filter((area) => isOwn(area) && area.value.trim()).map((area) => [getAreaKey(area), area.value]);
  try { sessionStorage.setItem(DRAFT_KEY, JSON.stringify(drafts)); } catch { return; }  // the browser then asks before it leaves the page
  isSending = true;
});
function restoreDraft() {
  const drafts = new Map(JSON.parse(sessionStorage.getItem(DRAFT_KEY) ?? "[]"));
  if (!drafts.size) return;
  sessionStorage.removeItem(DRAFT_KEY);
  findAll("textarea").filter((area) => drafts.has(getAreaKey(area))).forEach((area) => {
    area.value = drafts.get(getAreaKey(area));
    if (area.closest("details")) area.closest("details").open = true;
  });
}
try { restoreDraft(); } catch { /* no text was stored */ }
