// Mask: a step can be dragged to another place; the buttons do the same by keyboard. Long lists can be filtered.
window.sfumato.settled.push(() => {
  document.querySelectorAll("ol.chain").forEach((chain) => {
    if (chain.dataset.ready) return;
    chain.dataset.ready = "yes";
    let moved = null;
    const clear = () => chain.querySelectorAll(".before, .after").forEach((one) => one.classList.remove("before", "after"));
    const target = (event) => event.target.closest(".step");
    chain.querySelectorAll(".step .grip").forEach((grip) => {
      grip.addEventListener("pointerdown", () => grip.closest(".step").setAttribute("draggable", "true"));
    });
    chain.addEventListener("dragstart", (event) => {
      moved = target(event);
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setData("text/plain", moved.dataset.step);
      moved.classList.add("dragged");
    });
    chain.addEventListener("dragover", (event) => {
      const over = target(event);
      if (!moved || !over) return;
      event.preventDefault();
      clear();
      if (over !== moved) over.classList.add(Number(over.dataset.step) < Number(moved.dataset.step) ? "before" : "after");
    });
    chain.addEventListener("drop", (event) => {
      const over = target(event);
      if (!moved || !over || over === moved) return;
      event.preventDefault();
      const form = moved.querySelector("form[data-move]");
      form.querySelector("[name=to]").value = over.dataset.step;
      form.requestSubmit();
    });
    chain.addEventListener("dragend", () => {
      clear();
      if (moved) { moved.classList.remove("dragged"); moved.removeAttribute("draggable"); }
      moved = null;
    });
  });
  document.querySelectorAll("[data-narrow]").forEach((field) => {
    if (field.dataset.ready) return;
    field.dataset.ready = "yes";
    const list = field.closest("fieldset, details").querySelector(".boxes");
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase();
      list.querySelectorAll("label").forEach((one) => { one.hidden = !one.textContent.toLowerCase().includes(wanted); });
    });
    field.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
  });
});
