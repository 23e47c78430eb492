// Keeps a page current. Everything can be read and done without this script.
(() => {
  "use strict";

  const root = document.documentElement;
  const body = document.body;
  const status = document.getElementById("status");
  let ahead = Number(root.dataset.now) - Date.now(); // the store's clock before ours
  const POLL_MS = 10000;
  const SAFETY_MS = 30000;

  // Relative times -------------------------------------------------------------------------------------------------

  const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

  function length(ms) {
    let rest = Math.floor(ms / 1000);
    const parts = [];
    for (const [unit, seconds] of UNITS) {
      const amount = Math.floor(rest / seconds);
      rest %= seconds;
      if (amount) parts.push(amount + " " + unit);
      else if (parts.length) break;
    }
    return parts.slice(0, 2).join(" ");
  }

  function relative(ms) {
    const distance = ms - (Date.now() + ahead);
    if (Math.abs(distance) < 1000) return "now";
    return distance > 0 ? "in " + length(distance) : length(-distance) + " ago";
  }

  function tell() {
    for (const each of document.querySelectorAll(".rel[data-ms]")) {
      const text = relative(Number(each.dataset.ms));
      if (each.textContent !== text) each.textContent = text;
    }
  }

  setInterval(tell, 1000);
  tell();

  // A form is sent once --------------------------------------------------------------------------------------------

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post") return;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "yes";
    setTimeout(() => delete form.dataset.sent, 10000);
  });
  window.addEventListener("pageshow", () => {
    for (const form of document.forms) delete form.dataset.sent;
  });

  // Regions that changed -------------------------------------------------------------------------------------------

  function say(word, text) {
    if (!status) return;
    status.dataset.is = word;
    if (status.textContent !== text) status.textContent = text;
  }

  let busy = false;
  let again = false;

  async function refresh() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const reply = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
      if (reply.redirected && new URL(reply.url).pathname === "/login") {
        location.assign(reply.url);
        return;
      }
      if (!reply.ok) throw new Error("status " + reply.status);
      replace(new DOMParser().parseFromString(await reply.text(), "text/html"));
      say(source && source.readyState === 1 ? "live" : "polling", source && source.readyState === 1 ? "live" : "every 10 s");
    } catch {
      say("reconnecting", "reconnecting");
    } finally {
      busy = false;
      if (again) {
        again = false;
        setTimeout(refresh, 500);
      }
    }
  }

  function replace(fresh) {
    const now = Number(fresh.documentElement.dataset.now);
    if (now) ahead = now - Date.now();
    for (const old of document.querySelectorAll("[data-region]")) {
      const made = fresh.getElementById(old.id);
      if (!made || sameBut(old, made) || old.contains(document.activeElement)) continue;
      const next = document.importNode(made, true);
      old.replaceWith(next);
      next.classList.add("fresh");
    }
    tell();
  }

  function sameBut(old, made) {
    return plain(old) === plain(made);
  }

  function plain(region) {
    const copy = region.cloneNode(true);
    copy.classList.remove("fresh");
    if (!copy.getAttribute("class")) copy.removeAttribute("class");
    for (const each of copy.querySelectorAll(".rel")) each.textContent = "";
    return copy.outerHTML;
  }

  let source = null;
  let poller = 0;

  function poll(on) {
    if (on && !poller) poller = setInterval(refresh, POLL_MS);
    if (!on && poller) {
      clearInterval(poller);
      poller = 0;
    }
  }

  function listen() {
    if (!window.EventSource) {
      say("polling", "every 10 s");
      poll(true);
      return;
    }
    source = new EventSource(body.dataset.live);
    source.addEventListener("live", () => {
      say("live", "live");
      poll(false);
      refresh();
    });
    source.addEventListener("changed", refresh);
    source.addEventListener("away", () => say("reconnecting", "Redis is away"));
    source.addEventListener("error", () => {
      say("reconnecting", "reconnecting");
      poll(true);
      if (source.readyState === 2) setTimeout(listen, 15000);
    });
  }

  if (body.dataset.live) {
    say("reconnecting", "connecting");
    listen();
    setInterval(refresh, SAFETY_MS);
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) refresh();
    });
  }

  // A page that says that the store is away comes back by itself -----------------------------------------------------

  if ("away" in body.dataset) {
    say("reconnecting", "reconnecting");
    setInterval(async () => {
      try {
        const reply = await fetch(location.href, { cache: "no-store" });
        if (reply.status !== 503) location.replace(reply.url); // a reload would send a form again
      } catch {
        say("reconnecting", "reconnecting");
      }
    }, 2000);
  }

  // The preview of a new schedule ------------------------------------------------------------------------------------

  const form = document.querySelector("form[data-preview]");
  if (form) {
    let timer = 0;
    let asked = 0;
    const names = ["spec", "start_at", "end_at"];
    const preview = async () => {
      const query = new URLSearchParams(names.map((name) => [name, form.elements[name].value]));
      const number = ++asked;
      try {
        const reply = await fetch(form.dataset.preview + "?" + query, { cache: "no-store" });
        if (!reply.ok || number !== asked) return;
        const made = new DOMParser().parseFromString(await reply.text(), "text/html").getElementById("preview");
        if (made) document.getElementById("preview").replaceWith(document.importNode(made, true));
      } catch {
        // The button is there for whoever is offline for a moment.
      }
    };
    form.addEventListener("input", (event) => {
      if (!names.includes(event.target.name)) return;
      clearTimeout(timer);
      timer = setTimeout(preview, 250);
    });
  }
})();
