// Additions to the form of conflicts: who writes an own text, chooses it.
"use strict";

document.addEventListener("input", ({ target }) => {
  const choice = target.matches?.(".own textarea") && target.closest(".own").querySelector('input[type="radio"]');
  if (choice) choice.checked = true;
});
