"use strict";
// Cuts on a histogram, by pointer and by keyboard; categories dragged onto one another. The forms do the rest.
(() => {
  const WIDE = 600, HIGH = 150, PAUSE = 250; // of the histogram; milliseconds before a moved cut is sent
  const SVG = "http://www.w3.org/2000/svg";
  const board = () => document.getElementById("cut-here");
  const field = () => document.getElementById("cuts");
  const scale = () => {
    const { least, greatest, step, date } = board().dataset;
    return { least: Number(least), greatest: Number(greatest), step: Number(step), date: Boolean(date) };
  };

  // values as the field has them: numbers, or days of dates
  const day = (text) => Date.parse(`${text}T00:00:00Z`) / 86400000;
  const read = (text) => (scale().date ? day(text) : Number(text));
  const written = (value) => (scale().date ? new Date(Math.round(value) * 86400000).toISOString().slice(0, 10) : String(value));
  const cuts = () => field().value.split(/[,;\s]+/).filter(Boolean).map(read).filter(Number.isFinite);
  const stepped = (value) => {
    const { least, greatest, step } = scale();
    const near = Number((Math.round(value / step) * step).toPrecision(12));
    return Math.min(Math.max(near, Math.ceil(least / step) * step), greatest);
  };

  let waiting = null;
  const send = (after) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => document.getElementById("cutting")?.requestSubmit(), after);
  };
  // Put cuts into the field and the picture; the one that is worked on keeps the focus.
  const put = (values, focused, after = PAUSE) => {
    const sorted = [...new Set(values)].sort((a, b) => a - b);
    field().value = sorted.map(written).join(", ");
    draw();
    const place = sorted.indexOf(focused);
    if (place >= 0) document.getElementById(`cut-${place}`)?.focus({ preventScroll: true });
    if (after !== null) send(after);
  };

  const made = (name, attributes, parent) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    parent.append(element);
    return element;
  };
  const draw = () => {
    const { least, greatest } = scale();
    const values = cuts();
    const worked = document.activeElement?.closest(".cut")?.id;
    board().querySelectorAll(".cut").forEach((old) => old.remove());
    values.forEach((value, place) => {
      const x = (WIDE * (Math.min(Math.max(value, least), greatest) - least)) / (greatest - least);
      const cut = made("g", {
        class: "cut", id: `cut-${place}`, tabindex: 0, role: "slider", transform: `translate(${x} 0)`,
        "aria-label": `Cut ${place + 1} of ${values.length}`, "aria-orientation": "horizontal",
        "aria-valuemin": least, "aria-valuemax": greatest, "aria-valuenow": value, "aria-valuetext": written(value),
      }, board());
      made("rect", { class: "hit", x: -12, y: -26, width: 24, height: HIGH + 28 }, cut);
      made("line", { class: "blade", x1: 0, x2: 0, y1: -8, y2: HIGH }, cut);
      made("path", { class: "handle", d: "M-7 -10h14l-7 9z" }, cut);
      made("text", { x: Math.min(Math.max(0, 20 - x), WIDE - 20 - x), y: -14 }, cut).textContent = written(value);
    });
    if (worked) document.getElementById(worked)?.focus({ preventScroll: true });
  };

  const at = (event) => {
    const { least, greatest } = scale();
    const box = board().getBoundingClientRect();
    return stepped(least + ((event.clientX - box.left) / box.width) * (greatest - least));
  };
  const among = (cut) => Number(cut.id.slice("cut-".length));

  let held = null; // the cut that the pointer holds: its value, and those of the others
  document.addEventListener("pointerdown", (event) => {
    const here = event.target.closest?.("#cut-here");
    if (!here || event.button !== 0) return;
    event.preventDefault();
    const values = cuts();
    const cut = event.target.closest(".cut");
    const value = cut ? values[among(cut)] : at(event);
    held = { value, others: values.filter((other) => other !== value), moved: !cut, before: field().value };
    here.setPointerCapture(event.pointerId);
    put([...held.others, value], value, null);
  });
  document.addEventListener("pointermove", (event) => {
    if (!held || !board()) return;
    const value = at(event);
    if (value === held.value || held.others.includes(value)) return;
    held = { ...held, value, moved: true };
    put([...held.others, value], value, null);
  });
  const release = () => {
    if (held?.moved && board()) send(0);
    held = null;
  };
  document.addEventListener("pointerup", release);
  document.addEventListener("pointercancel", () => { // the page is scrolled by touch: nothing was meant
    if (!held || !board()) return;
    field().value = held.before;
    held = null;
    draw();
  });

  document.addEventListener("keydown", (event) => {
    const cut = event.target.closest?.(".cut");
    if (!cut) return;
    const { least, greatest, step } = scale();
    const values = cuts();
    const value = values[among(cut)];
    const others = values.filter((other) => other !== value);
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
    const to = event.key === "Home" ? least + step : event.key === "End" ? greatest - step : by && value + by * step;
    if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      put(others, others[Math.min(among(cut), others.length - 1)], 0);
      if (!others.length) field().focus();
    } else if (event.key === "Insert" || event.key === "+") {
      event.preventDefault();
      const next = Math.min(...others.filter((other) => other > value), greatest);
      const between = stepped((value + next) / 2);
      if (!values.includes(between)) put([...values, between], between, 0);
    } else if (to !== undefined) {
      event.preventDefault();
      const moved = stepped(to);
      if (!others.includes(moved)) put([...others, moved], moved);
    }
  });
  document.addEventListener("input", (event) => { if (event.target.id === "cuts" && board()) draw(); });

  // Categories: one dragged onto another is put together with it, under the other's name.
  let dragged = null;
  const row = (event) => document.elementFromPoint(event.clientX, event.clientY)?.closest("#groups > li[data-name]");
  document.addEventListener("pointerdown", (event) => {
    const grip = event.target.closest?.("#groups .grip");
    if (!grip || event.button !== 0) return;
    event.preventDefault();
    dragged = grip.closest("li");
    dragged.classList.add("dragged");
    document.documentElement.classList.add("dragging");
  });
  document.addEventListener("pointermove", (event) => {
    if (!dragged) return;
    const over = row(event);
    for (const one of document.querySelectorAll("#groups > li")) one.classList.toggle("over", one === over && one !== dragged);
  });
  const drop = (event) => {
    if (!dragged) return;
    const over = event.type === "pointerup" ? row(event) : null;
    const from = dragged;
    dragged = null;
    document.documentElement.classList.remove("dragging");
    for (const one of document.querySelectorAll("#groups > li")) one.classList.remove("over", "dragged");
    if (!over || over === from) return;
    for (const box of document.querySelectorAll("#groups input")) box.checked = [from, over].includes(box.closest("li"));
    document.getElementById("into").value = over.dataset.name;
    document.getElementById("merging").requestSubmit();
  };
  document.addEventListener("pointerup", drop);
  document.addEventListener("pointercancel", drop);

  // The variable that is worked on is in sight in the list.
  const shown = () => {
    const list = document.getElementById("scroller");
    const here = list?.querySelector("a[aria-current]");
    if (!here) return;
    const { offsetTop: top, offsetLeft: left, offsetHeight: high, offsetWidth: wide } = here;
    if (top < list.scrollTop || top + high > list.scrollTop + list.clientHeight) list.scrollTop = top - 60;
    if (left < list.scrollLeft || left + wide > list.scrollLeft + list.clientWidth) list.scrollLeft = left - 20;
  };
  window.sfumato.settled.push(() => {
    shown();
    if (!board()) return;
    if (!held) draw();
    field().toggleAttribute("aria-invalid", false);
    if (document.querySelector("#cuts-problem .problem")) field().setAttribute("aria-invalid", "true");
  });
})();
