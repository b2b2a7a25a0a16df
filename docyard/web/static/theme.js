// Sets the stored theme before the page is painted. Access to the storage may be denied.
try {
  const theme = localStorage.getItem("docyard-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* the theme of the system applies */ }
