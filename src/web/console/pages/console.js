// The one script of the console: when the server says that something has changed, the page is fetched again, and its live
// part and the status line are replaced. Without it the pages work all the same.
"use strict";

(() => {
  const live = () => document.getElementById("live");
  const status = () => document.getElementById("status");
  let pending = false;

  // Whoever types or has opened something in the live part is not disturbed.
  const isBusy = () => {
    const focused = document.activeElement;
    const typing = live().contains(focused) && focused.matches("input, select, textarea");
    return typing || document.hidden || live().querySelector("details[open]") !== null;
  };

  // The element with the focus is found again by its place among those that can have it.
  const focusables = () => [...live().querySelectorAll("a, button, summary, [tabindex]")];

  const replace = (page) => {
    const fresh = page.getElementById("live");
    const said = page.getElementById("status");
    if (said && said.textContent !== status().textContent) status().textContent = said.textContent;
    if (!fresh || isBusy()) return;
    const at = focusables().indexOf(document.activeElement);
    const scrolled = [...live().querySelectorAll(".scroll")].map((it) => it.scrollLeft);
    live().replaceChildren(...fresh.childNodes);
    if (said) status().dataset.revision = said.dataset.revision;
    [...live().querySelectorAll(".scroll")].forEach((it, index) => (it.scrollLeft = scrolled[index] || 0));
    if (at >= 0) (focusables()[at] || live()).focus({ preventScroll: true });
  };

  const refresh = async () => {
    if (pending || !live()) return;
    pending = true;
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      if (answer.ok && !answer.redirected) {
        replace(new DOMParser().parseFromString(await answer.text(), "text/html"));
      }
    } catch {
      status().textContent = "The console does not answer. What is shown is old.";
    } finally {
      pending = false;
    }
  };

  if (!live()) return;
  const events = new EventSource("events");
  events.addEventListener("change", (event) => {
    // The first event says how things are: perhaps as they were when the page was made.
    const { revision } = JSON.parse(event.data);
    if (String(revision) !== status().dataset.revision) refresh();
  });
  // A stream ends now and then, and the browser begins another one. Only if it cannot is something wrong.
  let failures = 0;
  events.addEventListener("open", () => (failures = 0));
  events.addEventListener("error", () => {
    failures += 1;
    if (failures < 2) return;
    status().textContent = "The console does not answer. What is shown is old.";
    status().dataset.revision = "";
  });
  document.addEventListener("visibilitychange", () => document.hidden || refresh());
})();
