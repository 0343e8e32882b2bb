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
  let unanswered = 0;
  const answered = (yes) => {
    unanswered = yes ? 0 : unanswered + 1;
    const gone = document.getElementById("gone");
    if (gone && gone.hidden !== unanswered < 2) gone.hidden = unanswered < 2;
  };
  document.addEventListener("htmx:sendError", () => { unanswered = Math.max(unanswered, 1); answered(false); window.scrollTo({ top: 0 }); });
  const pulse = async () => {
    try {
      const answer = await fetch("pulse", { headers: { accept: "application/json" } });
      answered(true);
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
      if (elsewhere && !asking) elsewhere.hidden = String(told.revision) === field("revision");
      const state = told.job ? told.job.state : "none";
      if (last !== null && last !== state) document.body.dispatchEvent(new CustomEvent("job-changed"));
      last = state;
    } catch { answered(false); /* it may only be started again: the next pulse tells */ }
  };
  setInterval(pulse, every);

  // A change that swaps a part of the page leaves forms on it: they go on from the answer's revision, and each change
  // is another one. A part of a page that is no longer the latest is not put into one that is older still.
  let asking = 0;
  document.addEventListener("htmx:beforeRequest", () => { asking += 1; });
  document.addEventListener("htmx:afterRequest", () => { asking -= 1; });
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr, target, requestConfig } = event.detail;
    const elsewhere = document.getElementById("elsewhere");
    const revision = /<body[^>]* data-revision="(\d+)"/.exec(xhr.responseText);
    const once = /name="once" value="([^"]+)"/.exec(xhr.responseText);
    if (target === document.body || !elsewhere || !revision || !once) return;
    if (xhr.status === 409 || (requestConfig.verb === "get" && revision[1] !== field("revision"))) {
      event.detail.shouldSwap = false;
      elsewhere.hidden = false;
      elsewhere.scrollIntoView({ block: "center" });
      return;
    }
    document.body.dataset.revision = revision[1];
    for (const input of document.querySelectorAll("[name=revision]")) input.value = revision[1];
    for (const input of document.querySelectorAll("[name=once]")) input.value = once[1];
    elsewhere.hidden = true;
  });

  // A link that is followed right after a change waits until the change is kept: else the next page were older than it.
  let posting = 0;
  let changed = -Infinity;
  document.addEventListener("htmx:beforeRequest", ({ detail }) => { posting += detail.requestConfig.verb === "post"; });
  document.addEventListener("htmx:afterRequest", ({ detail }) => { posting -= detail.requestConfig.verb === "post"; });
  document.addEventListener("change", ({ target }) => {
    if (target.closest("[hx-post]")) changed = performance.now(); // it is sent a moment later
  }, true);
  window.sfumato.busy = () => posting > 0 || performance.now() - changed < 300;
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (!link || link.target || !window.sfumato.busy()) return;
    event.preventDefault();
    event.stopPropagation();
    const until = performance.now() + 5000;
    const follow = () => {
      if (window.sfumato.busy() && performance.now() < until) { setTimeout(follow, 40); return; }
      posting = 0;
      changed = -Infinity;
      link.click();
    };
    follow();
  }, true);

  // What stands in an element goes to the clipboard.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const told = button.parentElement.querySelector("[role=status]");
    try {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      told.textContent = "copied";
    } catch { told.textContent = "the browser does not allow it: mark the text and copy it"; }
  });

  // After a page was put in place of another, its revision holds, and what it needs is set up.
  const settle = () => {
    const frame = document.querySelector("[name=revision]");
    if (frame) document.body.dataset.revision = frame.value;
    const here = document.querySelector("nav.steps [aria-current]");
    const list = here?.closest("ol"); // on a narrow screen a line that scrolls by itself
    if (list && list.scrollWidth > list.clientWidth) list.scrollLeft = here.offsetLeft - list.clientWidth / 2;
    document.querySelectorAll("[data-drop]").forEach(droppable);
    document.querySelectorAll("[data-spec]").forEach(drawn);
    window.sfumato.settled.forEach((set) => set());
  };

  // Another step begins at its top; an answer on the same step stays where one was, or shows what is to be mended. The
  // browser itself would hold on to the end of the page that was taken away.
  const step = () => document.querySelector("nav.steps [aria-current]")?.getAttribute("href");
  let left = null;
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    left = detail.target === document.body && detail.shouldSwap ? { step: step(), at: window.scrollY } : null;
  });
  document.addEventListener("htmx:afterSwap", () => {
    if (left === null) return;
    const problem = document.querySelector("main .problem[role=alert]");
    window.scrollTo({ top: left.step === step() ? left.at : 0, behavior: "instant" });
    if (problem) problem.scrollIntoView({ block: "nearest", behavior: "instant" });
    left = null;
  });

  // Files dropped on the page, or picked: sent as they are, with a bar.
  const droppable = (place) => {
    if (place.dataset.ready) return;
    place.dataset.ready = "yes";
    const input = place.querySelector("input[type=file]");
    const told = place.querySelector("[data-told]");
    const send = (file) => {
      told.classList.remove("problem");
      const request = new XMLHttpRequest();
      request.open("PUT", `upload?name=${encodeURIComponent(file.name)}`);
      request.setRequestHeader("X-CSRF", csrf());
      request.upload.onprogress = (event) => {
        told.textContent = `${file.name}: ${Math.round((100 * event.loaded) / Math.max(event.total, 1))} %`;
      };
      request.onload = () => {
        let answer = {};
        try { answer = JSON.parse(request.responseText); } catch { /* not one of our answers */ }
        if (request.status === 200) {
          const form = place.closest("form");
          const name = form.querySelector("[name=name]");
          if (name.options) name.append(new Option(answer.name, answer.name));
          name.value = answer.name;
          form.requestSubmit();
        } else {
          told.textContent = answer.error || "The file could not be taken.";
          told.classList.add("problem");
        }
      };
      request.onerror = () => { told.textContent = "The file could not be sent; is the workbench still running?"; };
      request.send(file);
    };
    const picked = () => input.files.length && send(input.files[0]);
    input.addEventListener("change", picked);
    picked(); // before this script was there
    place.addEventListener("dragover", (event) => { event.preventDefault(); place.classList.add("over"); });
    place.addEventListener("dragleave", () => place.classList.remove("over"));
    place.addEventListener("drop", (event) => {
      event.preventDefault();
      place.classList.remove("over");
      if (event.dataTransfer.files.length) send(event.dataTransfer.files[0]);
    });
  };

  // The drawing library is large, and loaded when the first picture asks for it; its address says our version.
  const own = document.currentScript.src;
  let loading = null;
  const library = () => {
    if (typeof vegaEmbed !== "undefined") return Promise.resolve();
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = own.replace("workbench.js", "vega.js");
      script.onload = resolve;
      script.onerror = () => { loading = null; reject(new Error("the drawing library could not be loaded")); };
      document.head.append(script);
    });
    return loading;
  };

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
  const narrowed = (spec) => {
    if (window.innerWidth >= 700 || spec.width !== "container" || !spec.layer) return spec;
    if (spec.config?.legend) spec.config.legend.columns = 1;
    delete spec.title; // too wide for one line; the caption says the same
    spec.layer = spec.layer.filter((layer) => layer.encoding?.text?.field !== "short"); // names would be cut off
    spec.layer.forEach(({ encoding }) => {
      const legend = encoding?.color?.condition?.legend;
      if (legend) Object.assign(legend, { columns: 1, labelLimit: window.innerWidth - 190 });
      for (const axis of [encoding?.x, encoding?.y]) if (axis?.title) axis.title = wrapped(axis.title, 34);
    });
    return spec;
  };

  // Pictures that answer the mouse; the interpreter, because this page allows no code made of text. A picture whose
  // data changed is drawn beside the old one, which stays until it is there.
  const drawn = (place) => {
    const source = document.getElementById(place.dataset.spec);
    if (!source || place.sfumatoSpec === source.textContent) return;
    const text = (place.sfumatoSpec = source.textContent);
    if (source.dataset.words) place.setAttribute("aria-label", source.dataset.words);
    const how = { mode: "vega-lite", actions: false, renderer: "svg", ast: true, defaultStyle: false };
    library().then(() => {
      if (place.sfumatoSpec !== text) return null;
      const room = document.createElement("div");
      room.className = "coming";
      place.append(room);
      const spec = narrowed(JSON.parse(text));
      return vegaEmbed(room, spec, { ...how, tooltip: { disableDefaultStyle: true } }).then((made) => {
        for (const other of [...place.children]) if (other !== room) other.remove();
        if (place.sfumatoView) place.sfumatoView.finalize();
        place.sfumatoView = made;
        room.classList.remove("coming");
        // the place says in words what the picture shows; its single marks would only be noise
        if (place.getAttribute("role") === "img") room.querySelectorAll("svg").forEach((svg) => svg.setAttribute("aria-hidden", "true"));
        window.dispatchEvent(new Event("resize"));
      });
    }).catch((trouble) => { place.textContent = `The picture could not be drawn: ${trouble.message}`; });
  };

  document.addEventListener("htmx:afterSettle", settle);
  document.addEventListener("DOMContentLoaded", () => { settle(); pulse(); });
  if (document.readyState !== "loading") { settle(); pulse(); }
})();
