// The one script of the console: when the server says that something has changed, and now and then, the page is fetched again,
// and its live part and the status line are replaced. Without it the pages work all the same.
"use strict";

(() => {
  const live = () => document.getElementById("live");
  const status = () => document.getElementById("status");
  const tell = (text) => {
    if (status().textContent !== text) status().textContent = text;
  };
  const AGAIN = 5000;
  // The server tells of what it looks at by itself: what somebody waits for. All else is asked for this often.
  const REFRESH = 15000;
  // A clock that nobody sets. It may stop while the machine sleeps, and that time is added: the other clock has it.
  let slept = 0;
  let read = [performance.now(), Date.now()];
  const now = () => {
    const [before, after] = [read, [performance.now(), Date.now()]];
    const more = after[1] - before[1] - (after[0] - before[0]);
    if (more > 1000) slept += more;
    read = after;
    return after[0] + slept;
  };
  // By that clock: when the server was asked for what is shown, and when it is to be asked again.
  let made = performance.getEntriesByType("navigation")[0]?.requestStart ?? 0;
  let due = made + REFRESH;
  // Fetching; asked for once more meanwhile; and a fresh page that nobody was to be disturbed with.
  let pending = false;
  let missed = false;
  let owed = false;

  const showAge = () => {
    const seconds = Math.floor((now() - made) / 1000);
    const minutes = Math.floor(seconds / 60);
    const age = seconds < 120 ? `${seconds} s` : minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h`;
    document.getElementById("age").textContent = `This page was made ${age} ago.`;
  };

  // No revision is the one of an old page, so the next event makes it fresh; and so does the next try.
  const isOld = (reason) => {
    status().dataset.revision = "";
    due = now() + AGAIN;
    tell(`What is shown is old: ${reason}`);
  };

  // Whoever types or is about to press a button in the live part is not disturbed.
  const isBusy = () => {
    const focused = document.activeElement;
    const acts = live().contains(focused) && focused.matches("input, select, textarea, button");
    return acts || document.hidden;
  };

  // An element is found again by what it is for, and not by its place, which others may take.
  const identity = (it) => [it.tagName, it.getAttribute("href"), it.getAttribute("aria-label"), it.textContent].join("\n");
  const focusables = () => [...live().querySelectorAll("a, summary, [tabindex]")];

  const replace = (page, asked) => {
    const fresh = page.getElementById("live");
    const said = page.getElementById("status");
    if (!fresh || !said) return isOld("the console does not say more.");
    owed = isBusy();
    // The page is not made newer than it is by a line above it that is.
    tell(said.textContent + (owed ? " What is below is older: it waits until you leave it." : ""));
    if (owed) return;
    const opened = [...live().querySelectorAll("details[open] > summary")].map(identity);
    const focused = live().contains(document.activeElement) ? identity(document.activeElement) : null;
    const scrolled = [...live().querySelectorAll(".scroll")].map((it) => it.scrollLeft);
    fresh.querySelectorAll("details").forEach((it) => (it.open = opened.includes(identity(it.querySelector("summary")))));
    live().replaceChildren(...fresh.childNodes);
    status().dataset.revision = said.dataset.revision;
    made = asked;
    showAge();
    [...live().querySelectorAll(".scroll")].forEach((it, index) => (it.scrollLeft = scrolled[index] || 0));
    if (focused === null) return;
    live().tabIndex = -1;
    (focusables().find((it) => identity(it) === focused) || live()).focus({ preventScroll: true });
  };

  const take = async (answer, asked) => {
    if (answer.redirected) {
      isOld("reading takes the token of the console. Sign in again.");
      // Nobody signs in meanwhile: nothing is asked for until somebody looks again.
      due = Infinity;
      return leave();
    }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    // A page of a failure has no live part that could be replaced.
    if (answer.ok && "failed" in live().dataset) return location.reload();
    if (answer.ok) return replace(page, asked);
    const said = page.querySelector("main [role=alert]");
    isOld(said ? said.textContent : `the console answers ${answer.status}.`);
  };

  const refresh = async () => {
    missed = pending;
    if (pending) return;
    pending = true;
    const asked = now();
    due = asked + REFRESH;
    try {
      const answer = fetch(location.href, { headers: { accept: "text/html" }, signal: AbortSignal.timeout(REFRESH) });
      await take(await answer, asked);
    } catch (error) {
      isOld(error.name === "TimeoutError" ? "the console takes longer than 15 s to answer." : "the console does not answer.");
    } finally {
      pending = false;
      if (missed) refresh();
    }
  };

  const pay = () => setTimeout(() => owed && !isBusy() && refresh());

  let events = null;
  let followed = -AGAIN;
  const follow = () => {
    const isSoon = now() - followed < AGAIN;
    if (events || pending || due === Infinity || document.hidden || isSoon) return;
    followed = now();
    let failures = 0;
    const stream = new EventSource("events");
    events = stream;
    stream.addEventListener("change", (event) => {
      // The first event says how things are: perhaps as they were when the page was made.
      const { revision } = JSON.parse(event.data);
      if (String(revision) !== status().dataset.revision) refresh();
    });
    // A stream ends now and then, and the browser begins another one. Only if it cannot is something wrong.
    stream.addEventListener("open", () => (failures = 0));
    stream.addEventListener("error", () => {
      failures += 1;
      // After an answer that is no stream the browser has given up.
      const over = stream.readyState === EventSource.CLOSED;
      if (over && events === stream) events = null;
      // Whoever asks for the page is told why.
      if (over || failures > 1) refresh();
    });
  };
  // A browser has six connections to a host, for all of its tabs.
  const leave = () => {
    events?.close();
    events = null;
  };

  showAge();
  setInterval(() => {
    showAge();
    if (!live() || document.hidden) return;
    if (now() >= due) refresh();
    follow();
  }, 1000);
  if (!live()) return;
  if ("failed" in live().dataset) due = made + AGAIN;
  follow();
  live().addEventListener("focusout", pay);
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : refresh()));
})();
