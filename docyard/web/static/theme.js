// Before anything is painted: the colours that were chosen here last. A browser may keep nothing.
try {
  const theme = localStorage.getItem("docyard-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* the system's own colours, then */ }
