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
    const before = sent;
    try {
      const answer = await fetch("pulse", { headers: { accept: "application/json" } });
      answered(true);
      if (answer.ok) send(); // what could not be sent before
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
      if (!busy() && changes.length === 0 && before === sent && elsewhere) elsewhere.hidden = String(told.revision) === field("revision");
      const state = told.job ? told.job.state : "none";
      if (last !== null && last !== state) document.body.dispatchEvent(new CustomEvent("job-changed"));
      last = state;
    } catch { answered(false); /* it may only be started again: the next pulse tells */ }
  };
  setInterval(pulse, every);

  // Changes: every form that is sent by post, and every control of a form with data-live as soon as it is changed. They go
  // one after another, each as it was when it was made, on the revision that the one before led to. An answer takes the
  // place of what it concerns (data-swap, else of the whole page), and what was typed meanwhile is put back into it.
  const changes = [];
  let sending = null;
  let sent = 0; // changes so far: a pulse that was asked for before one of them is of the time before
  const busy = (window.sfumato.busy = () => sending !== null || changes.length > 0);
  const PAGE = ["csrf", "revision", "once"]; // what a form says of the page that it is on
  const valueOf = (control) => (["checkbox", "radio"].includes(control.type) ? String(control.checked) : control.value);
  const usualOf = (control) => {
    if (["checkbox", "radio"].includes(control.type)) return String(control.defaultChecked);
    if (control.tagName !== "SELECT") return control.defaultValue;
    return ([...control.options].find((option) => option.defaultSelected) || control.options[0])?.value;
  };
  const typed = (root) =>
    [...root.querySelectorAll("input, select, textarea")].filter(
      (one) => !["hidden", "file", "submit"].includes(one.type) && valueOf(one) !== usualOf(one),
    );
  const nameOf = (control) => {
    const label = control.labels?.[0];
    const words = label && (label.firstChild.textContent.trim() || label.innerText.trim().split("\n")[0]);
    return words || control.ariaLabel || control.name;
  };

  const change = (form, { control = null, submitter = null } = {}) => {
    const alone = control?.dataset.alone !== undefined; // of this control nothing but its own value
    const own = (name) => name === control.name || form.querySelector(`input[type=hidden][name="${name}"]`);
    const fields = [...new FormData(form, submitter)].filter(([name]) => !alone || own(name));
    const about = (control || submitter || form).closest("[data-swap]");
    const url = new URL(submitter?.getAttribute("formaction") || form.getAttribute("action"), document.baseURI);
    for (const [name, value] of new URLSearchParams(about?.dataset.query || "")) url.searchParams.set(name, value);
    const key = `${url} ${JSON.stringify(fields.filter(([name]) => !PAGE.includes(name)))}`;
    const last = changes.at(-1) || sending;
    if (last?.key === key && !form.dataset.again) return; // a double click
    if (control && !alone && changes.at(-1)?.form === form) changes.pop(); // the whole form is sent anyway
    for (const pair of fields) if (pair[0] === "once") pair[1] = crypto.randomUUID();
    changes.push({ form, control, alone, fields, url, key, swap: about?.dataset.swap, name: control && nameOf(control) });
    send();
  };
  document.addEventListener("submit", (event) => {
    if (event.target.getAttribute("method")?.toLowerCase() !== "post") return;
    event.preventDefault();
    event.stopPropagation();
    change(event.target, { submitter: event.submitter });
  }, true);
  document.addEventListener("change", ({ target }) => {
    if (target.dataset.alone === undefined && target.form?.dataset.live === undefined) return;
    if (target.form.reportValidity()) change(target.form, { control: target });
  });

  const kept = (words) => {
    const place = document.getElementById("kept");
    if (place) { place.textContent = words; place.classList.toggle("shown", words !== ""); }
  };
  const send = async () => {
    if (sending || !changes.length) return;
    const made = (sending = changes.shift());
    sent += 1;
    made.form.classList.add("htmx-request");
    kept("Keeping …");
    let answer, text;
    try {
      const body = new URLSearchParams(made.fields.map(([name, value]) => [name, name === "revision" ? field(name) : value]));
      answer = await fetch(made.url, { method: "POST", body, headers: { "X-CSRF": csrf() } });
      text = await answer.text();
    } catch { // it stays the next to be sent, when the workbench answers again
      changes.unshift(made);
      sending = null;
      kept("Not kept yet");
      unanswered = Math.max(unanswered, 1);
      answered(false);
      window.scrollTo({ top: 0 });
      return;
    }
    made.form.classList.remove("htmx-request");
    const stale = answer.status === 409;
    if (stale) changes.length = 0; // they were made on what no longer holds, too
    sending = null;
    put(made, answer, new DOMParser().parseFromString(text, "text/html"));
    kept(answer.ok ? "Kept" : made.name ? `Not kept: ${made.name}` : "Not kept");
    if (answer.ok && !busy()) setTimeout(() => { if (!busy()) kept(""); }, 2500);
    send();
  };

  // Whether a control says no more than what was sent: then the answer says what it is to show.
  const settledBy = (made, answer, control) => {
    if (control.form !== made.form || (made.alone && control.name !== made.control.name)) return false;
    if (!answer.ok && !(answer.status === 409 && made.control)) return false;
    const box = ["checkbox", "radio"].includes(control.type);
    const was = made.fields.some(([name, value]) => name === control.name && value === control.value);
    return box ? was === control.checked : was;
  };
  const keepAs = (control) => { // what it shows is what holds from now on
    if (control.tagName === "SELECT") for (const option of control.options) option.defaultSelected = option.selected;
    else if (["checkbox", "radio"].includes(control.type)) control.defaultChecked = control.checked;
    else if (control.type !== "hidden" && control.tagName !== "BUTTON") control.defaultValue = control.value;
  };
  const counterpart = (control, root) => {
    if (control.id) return root.querySelector(`#${CSS.escape(control.id)}`);
    const form = root.querySelector(`form[action="${CSS.escape(control.form?.getAttribute("action") || "")}"]`);
    const box = ["checkbox", "radio"].includes(control.type);
    return [...(form?.elements || [])].find((one) => one.name === control.name && (!box || one.value === control.value));
  };
  const put = (made, answer, page) => {
    const fresh = page.body.dataset;
    const same = fresh.screen === field("screen");
    for (const control of made.form.elements) if (answer.ok && settledBy(made, answer, control)) keepAs(control);
    let places = !made.swap || !same || answer.status === 409 ? [] : made.swap.split(",").filter((one) => page.querySelector(one));
    if (!places.length) places = [".bench"];
    const focus = document.activeElement;
    const [at, id, from, to] = [window.scrollY, focus?.id, focus?.selectionStart, focus?.selectionEnd];
    for (const place of places) {
      const [old, next] = [document.querySelector(place), page.querySelector(place)];
      if (!old || !next) continue;
      const element = document.importNode(next, true);
      if (same) {
        for (const control of typed(old)) {
          const other = settledBy(made, answer, control) ? null : counterpart(control, element);
          if (!other) continue;
          if (["checkbox", "radio"].includes(other.type)) other.checked = control.checked;
          else if (other.tagName !== "SELECT" || [...other.options].some((one) => one.value === control.value)) other.value = control.value;
        }
        const open = new Set([...old.querySelectorAll("details[open] > summary")].map((one) => one.textContent));
        for (const one of element.querySelectorAll("details > summary")) if (open.has(one.textContent)) one.parentElement.open = true;
        for (const one of element.querySelectorAll("[hx-preserve][id]")) one.replaceWith(document.getElementById(one.id) || one);
      }
      old.replaceWith(element);
      htmx.process(element);
    }
    const whole = places[0] === ".bench";
    if (fresh.revision) document.body.dataset.revision = fresh.revision;
    if (fresh.screen) document.body.dataset.screen = fresh.screen;
    for (const input of document.querySelectorAll("[name=revision]")) input.value = field("revision");
    if (whole) {
      document.title = page.title;
      if (answer.ok && answer.url !== location.href) history[same ? "replaceState" : "pushState"]({ htmx: true }, "", answer.url);
      window.scrollTo({ top: same ? at : 0, behavior: "instant" });
      document.querySelector("main .problem[role=alert]")?.scrollIntoView({ block: "nearest", behavior: "instant" });
    }
    settle();
    const first = whole ? document.querySelector("main [autofocus]:not(:disabled)") : null;
    const again = first || (same && id && focus !== document.activeElement ? document.getElementById(id) : null);
    again?.focus({ preventScroll: !first });
    if (again && !first && typeof from === "number" && again.setSelectionRange && from !== null) again.setSelectionRange(from, to);
  };

  // A part of a page that was asked for before a change is asked for again; one that is newer than the page is not put in.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr, target, requestConfig } = event.detail;
    const revision = /<body[^>]* data-revision="(\d+)"/.exec(xhr.responseText);
    if (target === document.body || !revision || revision[1] === field("revision")) return;
    event.detail.shouldSwap = false;
    if (busy() || Number(revision[1]) < Number(field("revision"))) return whenCalm(() => askedAgain(requestConfig));
    document.getElementById("elsewhere").hidden = false;
    document.getElementById("elsewhere").scrollIntoView({ block: "center" });
  });
  const whenCalm = (act) => (busy() ? setTimeout(() => whenCalm(act), 40) : act());
  const askedAgain = ({ elt, triggeringEvent }) => {
    if (!elt.isConnected) return;
    if (triggeringEvent && triggeringEvent.type !== "load") return htmx.trigger(elt, triggeringEvent.type);
    const copy = elt.cloneNode(true);
    elt.replaceWith(copy);
    htmx.process(copy);
  };

  // A link that is followed right after a change waits until the change is kept: else the next page were older than it.
  // What was typed into a form with data-asks and not sent is asked about first.
  const unsent = () => [...document.querySelectorAll("form[data-asks]")].find((form) => form.dataset.asks === "yes" || typed(form).length);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (!link || link.target || link.dataset.leave) return;
    const form = unsent();
    if (!busy() && !(form && !link.closest("form[data-asks]"))) return;
    event.preventDefault();
    event.stopPropagation();
    const follow = () => { link.dataset.leave = "yes"; link.click(); delete link.dataset.leave; };
    whenCalm(() => (unsent() ? ask(unsent(), follow) : follow()));
  }, true);
  const ask = (form, follow) => {
    const asked = document.getElementById("unsent");
    asked.querySelector("[data-what]").textContent = typed(form).map(nameOf).filter(Boolean).slice(0, 5).join("; ");
    asked.onclose = () => {
      if (asked.returnValue === "leave") follow();
      if (asked.returnValue !== "keep" || !form.reportValidity()) return;
      const screen = field("screen");
      form.requestSubmit();
      whenCalm(() => { if (field("screen") === screen && !document.querySelector("main .problem[role=alert]")) follow(); });
    };
    asked.returnValue = "";
    asked.showModal();
  };
  window.addEventListener("beforeunload", (event) => { if (busy() || unsent()) event.preventDefault(); });

  // Undo and redo by keyboard, except where the browser itself undoes what is typed.
  document.addEventListener("keydown", (event) => {
    const key = event.key.toLowerCase();
    if (!(event.ctrlKey || event.metaKey) || event.altKey || !["z", "y"].includes(key)) return;
    if (event.target.matches("input:not([type=checkbox]):not([type=radio]):not([type=range]), textarea")) return;
    event.preventDefault();
    const move = key === "y" || event.shiftKey ? "redo" : "undo";
    document.querySelector(`#history form[action^="${move}"] button:not(:disabled)`)?.click();
  });

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
    document.querySelectorAll("[data-reading]").forEach(followed);
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

  // A file that is being read: how far it is, until the page that shows it, or says why not, takes the place of this one.
  let uploads = 0;
  const followed = (place) => {
    if (place.dataset.ready) return;
    place.dataset.ready = "yes";
    const look = async () => {
      if (!place.isConnected) return;
      try {
        const answer = await fetch(location.href);
        const next = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-reading]");
        if (next) place.replaceChildren(...next.children);
        else if (answer.ok && place.isConnected && !busy() && !uploads) return location.reload();
      } catch { /* the pulse says that the workbench does not answer */ }
      setTimeout(look, 500);
    };
    setTimeout(look, 500);
  };

  // Files dropped on the page, or picked: sent as they are, with a bar.
  const droppable = (place) => {
    if (place.dataset.ready) return;
    place.dataset.ready = "yes";
    const input = place.querySelector("input[type=file]");
    const told = place.querySelector("[data-told]");
    const send = (file) => {
      told.classList.remove("problem");
      const request = new XMLHttpRequest();
      uploads += 1;
      request.onloadend = () => { uploads -= 1; };
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

  // What a picture says of a mark that is pointed at: the words that the page has of it, beside the pointer and inside the
  // window. The words stand in the element that data-lines names.
  const pointOf = (place, item) => {
    const source = document.getElementById(place.dataset.lines);
    return source && item?.datum?.label ? JSON.parse(source.textContent)[item.datum.label] : null;
  };
  const told = (tag, words, className = "") => Object.assign(document.createElement(tag), { textContent: words, className });
  window.sfumato.figures = (figures) => {
    const list = told("dl", "", "pairs");
    for (const [name, value] of figures) list.append(told("dt", name), told("dd", value));
    return list;
  };
  const tipped = (place) => (handler, event, item, value) => {
    let tip = document.getElementById("tip");
    if (value === null || value === undefined || value === "") { tip?.remove(); return; }
    if (!tip) document.body.append((tip = Object.assign(told("div", "", "tip"), { id: "tip" })));
    const line = pointOf(place, item);
    const rows = line ? line.figures : Object.entries(value);
    tip.replaceChildren(...(line ? [told("strong", line.name), told("p", line.sentence), told("p", line.status, "soft")] : []), window.sfumato.figures(rows));
    const { width, height } = tip.getBoundingClientRect();
    const left = event.clientX + 14 + width > window.innerWidth ? event.clientX - 14 - width : event.clientX + 14;
    tip.style.left = `${Math.max(left, 4)}px`;
    tip.style.top = `${Math.max(Math.min(event.clientY + 14, window.innerHeight - height - 4), 4)}px`;
  };

  // Pictures that answer the mouse; the interpreter, because this page allows no code made of text. A picture whose
  // data changed is drawn beside the old one, which stays until it is there.
  const drawn = (place) => {
    const source = document.getElementById(place.dataset.spec);
    if (!source || place.sfumatoSpec === source.textContent) return;
    const text = (place.sfumatoSpec = source.textContent);
    if (source.dataset.words) place.setAttribute("aria-label", source.dataset.words);
    const how = { mode: "vega-lite", actions: false, renderer: "svg", ast: true, defaultStyle: false, tooltip: tipped(place) };
    library().then(() => {
      if (place.sfumatoSpec !== text) return null;
      const room = document.createElement("div");
      room.className = "coming";
      place.append(room);
      const spec = narrowed(JSON.parse(text));
      return vegaEmbed(room, spec, how).then((made) => {
        made.view.addEventListener("click", (event, item) => {
          const line = pointOf(place, item);
          if (line) place.dispatchEvent(new CustomEvent("picked", { bubbles: true, detail: line }));
        });
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
