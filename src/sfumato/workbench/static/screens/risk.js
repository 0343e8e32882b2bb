// Risk now: a threshold that is dragged counts the records above it; lists are sorted by a click on a heading.
(() => {
  const counted = ({ target }) => {
    const place = target.closest?.(".chances");
    if (!place || target.type !== "range") return;
    const above = Number(target.value);
    const records = JSON.parse(place.dataset.exact).reduce((sum, [chance, number]) => sum + (chance > above ? number : 0), 0);
    place.querySelector("output").textContent = String(above);
    const share = ((100 * records) / Number(place.dataset.records)).toPrecision(3);
    place.querySelector("[role=status]").textContent = `${records.toLocaleString("en")} records, ${Number(share)} %`;
    for (const bar of place.querySelectorAll("rect[data-low]")) bar.setAttribute("class", Number(bar.dataset.low) >= above ? "above" : "below");
    const list = place.dataset.way;
    place.querySelector("[data-see]").href = `risk?now=yes&${list}&above=${above}#list-${/list=(\d+)/.exec(list)[1]}`;
    place.querySelector("[data-export]").href = `download/risk?${list}&above=${above}`;
  };
  document.addEventListener("input", counted);
  document.addEventListener("click", ({ target }) => {
    const heading = target.closest?.("table[data-sorts] th");
    if (!heading) return;
    const table = heading.closest("table");
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row) => row.cells[heading.cellIndex].dataset.value;
    const order = (a, b) => value(a).localeCompare(value(b), undefined, { numeric: true });
    table.tBodies[0].append(...[...table.tBodies[0].rows].sort(down ? (a, b) => order(b, a) : order));
  });
})();
