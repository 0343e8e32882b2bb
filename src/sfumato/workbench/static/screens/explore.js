// Explore: bounds that are moved by a slider or typed, and the table of candidates, which keeps its order, its filter
// and its ticks when another answer takes its place.
(() => {
  "use strict";
  const slides = () =>
    document.querySelectorAll(".trying input.slide").forEach((slide) => {
      if (slide.dataset.ready) return;
      slide.dataset.ready = "yes";
      const field = document.getElementById(slide.dataset.for);
      const stops = slide.dataset.stops.split(" ").map(Number);
      const told = () => slide.setAttribute("aria-valuetext", `${field.value} ${slide.dataset.unit}`);
      const nearest = (value) =>
        stops.reduce((best, stop, i) => (Math.abs(stop - value) < Math.abs(stops[best] - value) ? i : best), 0);
      slide.addEventListener("input", () => { field.value = stops[Number(slide.value)]; told(); });
      field.addEventListener("input", () => { slide.value = nearest(Number(field.value)); told(); });
      field.form.addEventListener("reset", () =>
        setTimeout(() => { field.value = field.dataset.stated; field.dispatchEvent(new Event("input", { bubbles: true })); }),
      );
      told();
    });

  const kept = { sort: null, text: "", only: [], ticks: new Set(), open: false };

  const sorted = (table, column, down) => {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((other) => other.removeAttribute("aria-sort"));
    headings[column].setAttribute("aria-sort", down ? "descending" : "ascending");
    const numeric = headings[column].classList.contains("n");
    const value = (row) => row.cells[column].dataset.value ?? "";
    const rows = [...table.tBodies[0].rows].sort((a, b) => {
      const [p, q] = [value(a), value(b)];
      if (p === "" || q === "") return (p === "") - (q === "");
      const order = numeric ? Number(p) - Number(q) : p.localeCompare(q, undefined, { numeric: true });
      return down ? -order : order;
    });
    table.tBodies[0].append(...rows);
  };

  const filtered = (table, bar) => {
    const rows = [...table.tBodies[0].rows];
    const wanted = kept.text.trim().toLowerCase();
    let shown = 0;
    rows.forEach((row) => {
      const named = row.querySelector("th").textContent.toLowerCase().includes(wanted);
      row.hidden = !named || kept.only.some((only) => !(only in row.dataset));
      shown += row.hidden ? 0 : 1;
    });
    const rest = table.closest(".folded").querySelector("details.rest");
    if (rest && (wanted || kept.only.length)) rest.open = true; // what is looked for may be among the folded rows
    bar.querySelector("[data-count]").textContent = shown < rows.length ? `${shown} of ${rows.length}` : "";
  };

  const tabled = () => {
    const table = document.getElementById("ranked");
    const bar = document.querySelector("[data-filters=ranked]");
    if (!table || table.dataset.ready || !bar) return;
    table.dataset.ready = "yes";
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) =>
      heading.querySelector("button")?.addEventListener("click", () => {
        kept.sort = { name: heading.textContent, down: heading.getAttribute("aria-sort") === "ascending" };
        sorted(table, column, kept.sort.down);
      }),
    );
    const text = bar.querySelector("input[type=search]");
    const boxes = [...bar.querySelectorAll("input[type=checkbox]")];
    const look = () => {
      kept.text = text.value;
      kept.only = boxes.filter((box) => box.checked).map((box) => box.dataset.only);
      filtered(table, bar);
    };
    [text, ...boxes].forEach((input) => input.addEventListener("input", look));
    table.addEventListener("change", ({ target }) => {
      if (target.name === "tick") kept.ticks[target.checked ? "add" : "delete"](target.value);
    });
    const rest = table.closest(".folded").querySelector("details.rest");
    rest?.addEventListener("toggle", () => { kept.open = rest.open; });
    // as it was before another answer came
    text.value = kept.text;
    boxes.forEach((box) => { box.checked = kept.only.includes(box.dataset.only); });
    table.querySelectorAll("[name=tick]").forEach((box) => { box.checked = kept.ticks.has(box.value); });
    if (rest) rest.open = kept.open;
    const column = kept.sort ? headings.findIndex((heading) => heading.textContent === kept.sort.name) : -1;
    if (column >= 0) sorted(table, column, kept.sort.down);
    if (kept.text || kept.only.length) filtered(table, bar);
  };

  // A point of the map that is clicked: what the candidate does, its figures, and what can be done with it.
  let picked = null;
  const link = (words, href) => Object.assign(document.createElement("a"), { textContent: words, href, className: "button" });
  const shown = () => {
    const card = document.getElementById("picked");
    const source = document.getElementById("spec-lines");
    const line = source && Object.values(JSON.parse(source.textContent)).find((one) => one.mark === picked);
    if (!card || !line || card.dataset.of === source.textContent) return;
    card.dataset.of = source.textContent;
    const element = (tag, words) => Object.assign(document.createElement(tag), { textContent: words });
    const tools = Object.assign(element("p", ""), { className: "tools" });
    if (line.chosen) tools.append(link("Compare with the chosen one", `compare?first=${line.chosen}&second=${line.mark}`));
    else tools.append(link("Look closely", `compare?first=${line.mark}`));
    if (line.may_be_chosen) tools.append(link("Choose this one", `explore?pick=${line.mark}`));
    card.replaceChildren(element("h3", line.name), element("p", line.sentence), element("p", line.status), window.sfumato.figures(line.figures), tools);
    htmx.process(card);
  };
  document.addEventListener("picked", ({ detail }) => {
    picked = detail.mark;
    const card = document.getElementById("picked");
    delete card.dataset.of;
    shown();
  });

  window.sfumato.settled.push(slides, tabled, shown);
})();
