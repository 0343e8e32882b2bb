"use strict";
// Scripts of single screens add functions here that set up a page after it was put in place.
window.sfumato = { settled: [] };
// What the pages need beside htmx: the pulse that tells of other tabs and of runs, dropped files, live charts.
(() => {
  const every = 1500; // milliseconds between two pulses
  const field = (name) => document.body.dataset[name];
  const csrf = () => JSON.parse(document.body.getAttribute("hx-headers"))["X-CSRF"];

  // A change that one tab makes is told in the others; a run that goes on is told everywhere.
  let last = null;
  const pulse = async () => {
    try {
      const answer = await fetch("pulse", { headers: { accept: "application/json" } });
      if (!answer.ok) return;
      const told = await answer.json();
      const shown = document.getElementById("job");
      const words = told.job ? told.job.words : "";
      if (shown && shown.dataset.words !== words) {
        shown.dataset.words = words;
        shown.replaceChildren();
        if (told.job) {
          const text = document.createElement("span");
          text.className = "job-words";
          text.textContent = words;
          shown.append(text);
          if (told.job.running) {
            const bar = document.createElement("progress");
            if (told.job.share !== null) { bar.value = told.job.share; bar.max = 1; }
            bar.setAttribute("aria-label", words);
            shown.append(bar);
          }
        }
      }
      const elsewhere = document.getElementById("elsewhere");
      if (elsewhere) elsewhere.hidden = String(told.revision) === field("revision");
      const state = told.job ? told.job.state : "none";
      if (last !== null && last !== state) document.body.dispatchEvent(new CustomEvent("job-changed"));
      last = state;
    } catch { /* the server is being started again: the next pulse tells */ }
  };
  setInterval(pulse, every);

  // After a page was put in place of another, its revision holds, and what it needs is set up.
  const settle = () => {
    const frame = document.querySelector("[name=revision]");
    if (frame) document.body.dataset.revision = frame.value;
    document.querySelectorAll("[data-drop]").forEach(droppable);
    document.querySelectorAll("[data-spec]").forEach(drawn);
    window.sfumato.settled.forEach((set) => set());
  };

  // Files dropped on the page, or picked: sent as they are, with a bar.
  const droppable = (place) => {
    if (place.dataset.ready) return;
    place.dataset.ready = "yes";
    const input = place.querySelector("input[type=file]");
    const told = place.querySelector("[data-told]");
    const send = (file) => {
      const request = new XMLHttpRequest();
      request.open("PUT", `upload?name=${encodeURIComponent(file.name)}`);
      request.setRequestHeader("X-CSRF", csrf());
      request.upload.onprogress = (event) => {
        told.textContent = `${file.name}: ${Math.round((100 * event.loaded) / Math.max(event.total, 1))} %`;
      };
      request.onload = () => {
        let answer = {};
        try { answer = JSON.parse(request.responseText); } catch { answer = { error: request.responseText }; }
        if (request.status === 200) {
          const form = place.closest("form");
          form.querySelector("[name=name]").value = answer.name;
          form.requestSubmit();
        } else {
          told.textContent = answer.error || "The file could not be taken.";
          told.classList.add("problem");
        }
      };
      request.onerror = () => { told.textContent = "The file could not be sent; is the workbench still running?"; };
      request.send(file);
    };
    input.addEventListener("change", () => input.files.length && send(input.files[0]));
    place.addEventListener("dragover", (event) => { event.preventDefault(); place.classList.add("over"); });
    place.addEventListener("dragleave", () => place.classList.remove("over"));
    place.addEventListener("drop", (event) => {
      event.preventDefault();
      place.classList.remove("over");
      if (event.dataTransfer.files.length) send(event.dataTransfer.files[0]);
    });
  };

  // Pictures that answer the mouse; the interpreter, because this page allows no code made of text.
  const drawn = (place) => {
    if (place.dataset.drawn || typeof vegaEmbed === "undefined") return;
    place.dataset.drawn = "yes";
    const spec = JSON.parse(document.getElementById(place.dataset.spec).textContent);
    vegaEmbed(place, spec, { mode: "vega-lite", actions: false, renderer: "svg", ast: true, defaultStyle: false }).then(() => {
      window.dispatchEvent(new Event("resize"));
    });
  };

  document.addEventListener("htmx:afterSettle", settle);
  document.addEventListener("DOMContentLoaded", () => { settle(); pulse(); });
  if (document.readyState !== "loading") { settle(); pulse(); }
})();
