// Additions to the edit form: an image is inserted where the cursor was, and can be pasted or dropped.
"use strict";

{
  const form = document.querySelector("[data-edit-form]");
  const text = form?.querySelector('textarea[name="text"]');
  const field = form?.querySelector("[data-image]");
  if (text && field) {
    const cursor = form.querySelector("[data-cursor]");
    const upload = form.querySelector("[data-upload]");

    // The server counts characters, and the browser counts UTF-16 units.
    const markCursor = () => { cursor.value = String([...text.value.slice(0, text.selectionEnd)].length); };
    text.addEventListener("blur", markCursor);

    const checkSize = () => {
      const [file] = field.files;
      const isTooLarge = Boolean(file) && file.size > Number(field.dataset.maxBytes);
      field.setCustomValidity(isTooLarge ? `The image has ${file.size.toLocaleString("en")} bytes, which is too large.` : "");
      upload.disabled = isTooLarge;
      if (isTooLarge) field.reportValidity();
      return !isTooLarge;
    };
    field.addEventListener("change", checkSize);

    const takeFile = (event, files) => {
      const images = [...(files ?? [])].filter((file) => file.type.startsWith("image/"));
      if (!images.length) return;
      event.preventDefault();
      const transfer = new DataTransfer();
      transfer.items.add(images[0]);
      field.files = transfer.files;
      field.closest("details").open = true;
      markCursor();
      if (checkSize()) form.requestSubmit(upload);
    };
    text.addEventListener("paste", (event) => takeFile(event, event.clipboardData?.files));
    text.addEventListener("drop", (event) => takeFile(event, event.dataTransfer?.files));
  }
}
