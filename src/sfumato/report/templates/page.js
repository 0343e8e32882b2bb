"use strict";
// The table: a click on a heading sorts by it, a second click turns the order round; what has no figure stays last.
document.querySelectorAll("table.sortable").forEach((table) => {
  const headings = Array.from(table.tHead.rows[0].cells);
  headings.forEach((heading, column) => {
    const button = heading.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = Array.from(table.tBodies[0].rows);
      const value = (row) => row.cells[column].dataset.value;
      const numeric = heading.classList.contains("n");
      rows.sort((a, b) => {
        const [p, q] = [value(a), value(b)];
        if (p === "" || q === "") return (p === "") - (q === "");
        const order = numeric ? Number(p) - Number(q) : p.localeCompare(q, undefined, { numeric: true });
        return down ? -order : order;
      });
      table.tBodies[0].append(...rows);
    });
  });
});
// The filter: a text that the name must hold, and boxes for the frontier and the bounds; what is hidden is counted.
document.querySelectorAll(".filter").forEach((filter) => {
  const rows = Array.from(document.getElementById(filter.dataset.table).tBodies[0].rows);
  const text = filter.querySelector("input[type=search]");
  const boxes = Array.from(filter.querySelectorAll("input[type=checkbox]"));
  const rest = document.getElementById(filter.dataset.table).closest(".folded")?.querySelector("details.rest");
  const show = () => {
    if (rest) rest.open = true; // what is looked for may be among the rows that are folded
    const wanted = text.value.trim().toLowerCase();
    let shown = 0;
    rows.forEach((row) => {
      const named = row.cells[1].textContent.toLowerCase().includes(wanted);
      row.hidden = !named || boxes.some((box) => box.checked && !(box.dataset.only in row.dataset));
      shown += row.hidden ? 0 : 1;
    });
    filter.querySelector("[aria-live]").textContent = shown < rows.length ? `${shown} of ${rows.length}` : "";
  };
  [text, ...boxes].forEach((input) => input.addEventListener("input", show));
});
// A title of an axis in lines that a narrow screen has room for.
const wrapped = (lines, most) =>
  [].concat(lines || []).flatMap((line) =>
    line.split(" ").reduce((rows, word) => {
      const last = rows[rows.length - 1];
      if (last !== undefined && `${last} ${word}`.length <= most) rows[rows.length - 1] = `${last} ${word}`;
      else rows.push(word);
      return rows;
    }, []),
  );
// The pictures: where scripts run, the drawing gives way to the live one that answers the mouse.
document.querySelectorAll("[data-spec]").forEach((place) => {
  const spec = JSON.parse(document.getElementById(place.dataset.spec).textContent);
  if (window.innerWidth < 700) {
    spec.config.legend.columns = 2;
    delete spec.title; // too wide for one line; the caption says the same
    spec.layer = (spec.layer || []).filter((layer) => layer.encoding.text?.field !== "short"); // names would be cut off
    spec.layer.forEach(({ encoding }) => {
      const legend = encoding.color?.condition?.legend;
      if (legend) Object.assign(legend, { columns: 1, labelLimit: window.innerWidth - 190 });
      for (const axis of [encoding.x, encoding.y]) if (axis?.title) axis.title = wrapped(axis.title, 34);
    });
  }
  vegaEmbed(place, spec, { mode: "vega-lite", actions: false, renderer: "svg", ast: true }).then(() => {
    place.closest("figure").classList.remove("drawn");
    const drawing = place.closest("figure").querySelector("img");
    if (drawing) drawing.remove();
    window.dispatchEvent(new Event("resize"));
  });
});
