// Additions to forms: this browser tab stores texts until they are sent, and restores them after a reload or a login.
// They use functions of docyard.js.
"use strict";

const DRAFT_KEY = "docyard-draft";
const MAX_DRAFT_LENGTH = 1_000_000;
const listDraftForms = () => findAll('form[method="post"]').filter((form) => findFirst("textarea", form));
const listDraftFields = (form) => findAll("textarea:not([readonly]), input:not([type])", form);
const listHiddenFields = (form, names) => findAll('input[type="hidden"]', form).filter(({ name }) => names.test(name));
const listTargetValues = (form) => listHiddenFields(form, /^(file|slug|reply_to|comment)$/).map(({ name, value }) => `${name}=${value}`);
const getFieldKey = (form, { name }) => [form.getAttribute("action") ?? location.pathname, name, ...listTargetValues(form)].join("\n");
// The version that a text was written for, so that the server still refuses to replace another author's change.
const listVersionFields = (form) => listHiddenFields(form, /^(base|seen)$/);
const isDraft = (form) => !form.dataset.sent && listDraftFields(form).some((field) => field.value.trim() && (isEdited(field) || form.closest(".resend")));

function readDrafts() {
  try { return new Map(JSON.parse(sessionStorage.getItem(DRAFT_KEY) ?? "[]")); } catch { return new Map(); }
}

// Returns true if all texts of the page are stored. The texts of other pages stay stored.
function storeDrafts() {
  clearTimeout(draftTimer);
  const drafts = readDrafts();
  for (const form of listDraftForms()) {
    const isKept = isDraft(form);
    for (const field of [...listDraftFields(form), ...listVersionFields(form)]) {
      const key = getFieldKey(form, field);
      drafts.delete(key);
      if (isKept && field.value.length <= MAX_DRAFT_LENGTH) drafts.set(key, field.value);
    }
  }
  try {
    if (drafts.size) sessionStorage.setItem(DRAFT_KEY, JSON.stringify([...drafts]));
    else sessionStorage.removeItem(DRAFT_KEY);
    return true;
  } catch { return false; }  // the browser then asks before it leaves the page
}

function restoreDraft(form, drafts) {
  const fields = listDraftFields(form).filter((field) => drafts.has(getFieldKey(form, field)) && field.value !== drafts.get(getFieldKey(form, field)));
  if (!fields.length) return;
  listVersionFields(form).forEach((field) => { field.value = drafts.get(getFieldKey(form, field)) ?? field.value; });
  for (const field of fields) {
    field.value = drafts.get(getFieldKey(form, field));
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
  const details = form.closest("details");
  if (details) details.open = true;
}

let draftTimer = 0;
document.addEventListener("input", (event) => {
  if (!event.target.closest?.('form[method="post"]')) return;
  clearTimeout(draftTimer);
  draftTimer = setTimeout(storeDrafts, 300);
});
addEventListener("pagehide", storeDrafts);
const leave = () => { if (storeDrafts()) isSending = true; };
document.addEventListener("click", (event) => { if (event.target.closest?.("[data-sign-in]")) leave(); });
document.addEventListener("docyard:leaving", leave);
document.addEventListener("submit", (event) => { if (!event.defaultPrevented) storeDrafts(); });

// After the scripts of the page, which listen to the restored fields.
document.addEventListener("DOMContentLoaded", () => {
  const drafts = readDrafts();
  if (drafts.size) listDraftForms().forEach((form) => restoreDraft(form, drafts));
});
