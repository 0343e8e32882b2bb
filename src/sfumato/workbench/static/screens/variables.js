// Variables: find, sort and tick without the server; the order of categories is moved here and sent at once.
(() => {
  const rows = () => [...document.querySelectorAll("table.variables > tbody")];
  const chosen = (row, name) => row.querySelector(`select[name=${name}]`).value;
  const words = (row) => `${row.querySelector(".what").textContent} ${chosen(row, "kind")} ${chosen(row, "role")}`.toLowerCase();
  const by = {
    place: (row) => Number(row.dataset.place),
    name: (row) => row.dataset.name.toLowerCase(),
    kind: (row) => chosen(row, "kind"),
    role: (row) => ["key", "confidential", "other", "identifier"].indexOf(chosen(row, "role")),
    missing: (row) => -Number(row.dataset.missing),
  };
  let down = false;

  const find = () => {
    const asked = document.getElementById("find").value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows()) {
      const has = words(row);
      row.hidden = !asked.every((word) => has.includes(word));
      if (row.hidden) row.querySelector("input[name=names]").checked = false; // what is not seen is not changed
      else shown += 1;
    }
    document.getElementById("none").hidden = shown > 0;
    tell();
  };
  const sort = () => {
    const key = document.getElementById("sort").value;
    const table = document.querySelector("table.variables");
    const order = (a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[1] - b[1]);
    const ranked = rows().map((row) => [by[key](row), Number(row.dataset.place), row]).sort(order);
    if (down) ranked.reverse();
    if (ranked.some(([, , row], place) => rows()[place] !== row)) table.append(...ranked.map(([, , row]) => row));
    for (const heading of table.querySelectorAll("th[data-sort]")) {
      const here = heading.dataset.sort === key;
      heading.setAttribute("aria-sort", here ? (down ? "descending" : "ascending") : "none");
    }
  };
  const tell = () => {
    const seen = rows().filter((row) => !row.hidden);
    const ticked = seen.filter((row) => row.querySelector("input[name=names]").checked);
    const all = document.getElementById("all");
    all.checked = ticked.length > 0 && ticked.length === seen.length;
    all.indeterminate = ticked.length > 0 && ticked.length < seen.length;
    const told = document.getElementById("ticked");
    const said = ticked.length ? `${ticked.length} ticked` : seen.length < rows().length ? `${seen.length} shown` : "";
    if (told.textContent !== said) told.textContent = said;
    document.getElementById("many-set").disabled = !ticked.length;
  };

  const moved = (button) => {
    const list = button.closest("fieldset").querySelector("[data-order]");
    const item = button.closest("li");
    if (button.value === "turn") list.append(...[...list.children].reverse());
    else if (button.value.endsWith("up")) item.previousElementSibling?.before(item);
    else item.nextElementSibling?.after(item);
    const items = [...list.children];
    for (const one of items) {
      const [up, lower] = one.querySelectorAll("button");
      up.disabled = one === items[0];
      lower.disabled = one === items[items.length - 1];
    }
    if (button.disabled) item.querySelector("button:not(:disabled)").focus();
    else button.focus();
  };

  document.addEventListener("input", (event) => { if (event.target.id === "find") find(); });
  document.addEventListener("change", (event) => {
    if (event.target.id === "sort") { down = false; sort(); }
    if (event.target.id === "all") {
      for (const row of rows()) if (!row.hidden) row.querySelector("input[name=names]").checked = event.target.checked;
      tell();
    }
    if (event.target.matches("table.variables input[name=names]")) tell();
  });
  document.addEventListener("click", (event) => {
    const move = event.target.closest("button[name=move]");
    if (move) { event.preventDefault(); moved(move); }
    const heading = event.target.closest("table.variables th[data-sort]");
    if (heading) {
      const select = document.getElementById("sort");
      down = select.value === heading.dataset.sort && !down;
      select.value = heading.dataset.sort;
      sort();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.id === "find") { event.target.value = ""; find(); }
  });
  window.sfumato.settled.push(() => {
    if (!document.querySelector("table.variables")) return;
    find();
    sort();
    const editor = document.querySelector("[data-editor]:not([data-seen])");
    if (editor) {
      editor.dataset.seen = "yes";
      if (document.activeElement === document.body || document.activeElement.id.startsWith("more-")) {
        editor.querySelector("input:not([type=hidden])").focus();
      }
    }
  });
})();
