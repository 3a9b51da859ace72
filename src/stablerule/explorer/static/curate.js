// Deciding by keyboard: A, R and U press the buttons, Z undoes, C goes to the comment.
"use strict";
(() => {
  const pressed = { a: "[data-decide] [value=accept]", r: "[data-decide] [value=reject]", u: "[data-decide] [value=unsure]", z: "[data-undo]" };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest("input, textarea, select");
    if (typing && event.key === "Escape") { typing.blur(); return; }
    if (typing) return;
    if (event.key.toLowerCase() === "c") {
      event.preventDefault();
      document.querySelector("[data-decide] [name=comment]")?.focus();
      return;
    }
    const button = document.querySelector(pressed[event.key.toLowerCase()] ?? "[data-none]");
    if (button && !event.repeat) { event.preventDefault(); button.click(); }
  });
  // What was decided is gone: the next one is read out, and the keyboard stays with it.
  document.addEventListener("htmx:after:swap", () => {
    if (document.activeElement === document.body) document.getElementById("fact")?.focus({ preventScroll: true });
  });
})();
