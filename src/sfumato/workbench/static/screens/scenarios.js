"use strict";
// A list of things to tick or to choose from: found by words, or by what is ticked.
(() => {
  const filtered = (list) => {
    const find = document.querySelector(`[data-filter="${list.id}"]`);
    const only = document.querySelector(`[data-only="${list.id}"]`);
    const asked = find ? find.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
    let shown = 0;
    for (const item of list.querySelectorAll("[data-words]")) {
      const ticked = !only || !only.checked || item.querySelector("input").checked;
      item.hidden = !ticked || !asked.every((word) => item.dataset.words.includes(word));
      if (!item.hidden) shown += 1;
    }
    const none = list.querySelector("[data-none]");
    if (none) none.hidden = shown > 0;
  };
  const of = (element) => document.getElementById(element.dataset.filter || element.dataset.only);

  document.addEventListener("input", (event) => { if (event.target.matches("[data-filter]")) filtered(of(event.target)); });
  document.addEventListener("keydown", (event) => {
    if (!event.target.matches("[data-filter]")) return;
    if (event.key === "Escape") { event.target.value = ""; filtered(of(event.target)); }
    if (event.key === "Enter") event.preventDefault();
  });
  // looking for something changes nothing: the form that the search stands in does not hear of it
  document.addEventListener("change", (event) => {
    if (!event.target.matches("[data-filter], [data-only]")) return;
    event.stopPropagation();
    filtered(of(event.target));
  }, true);
  window.sfumato.settled.push(() => document.querySelectorAll("[data-filter]").forEach((find) => filtered(of(find))));
})();
