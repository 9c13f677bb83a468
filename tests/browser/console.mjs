// Opens the console in a headless Chromium. Every step throws if it is not as it should be.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { createServer as listen } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium, request } from "playwright-core";

const ROOT = new URL("../../", import.meta.url).pathname;
const BIN = process.env.LEASEHOLD_TARGET;
const PICTURES = process.argv.includes("--screenshots") ? join(ROOT, "docs/console") : null;
const TOKEN = "correct-horse-battery-staple";
const PHONE = { width: 360, height: 740 };
const children = [];

const start = (program, args, options = {}) => {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"], ...options });
  children.push(child);
  return child;
};

const freePort = () =>
  new Promise((resolve) => {
    const server = listen().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

const until = async (what, isSo, within = 30_000) => {
  const end = Date.now() + within;
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error(`not within ${within} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
};

// A redis-server on a port of its own. Another process may take a port that was free a moment ago: then it ends at once, and
// another is tried. Only its own log tells that it is this one that listens.
const startRedis = async (directory) => {
  for (let tries = 0; tries < 20; tries += 1) {
    const port = await freePort();
    const child = start("redis-server", ["--port", String(port), "--save", "", "--bind", "127.0.0.1", "--dir", directory]);
    let log = "";
    child.stdout.on("data", (text) => (log += text));
    const isReady = () => log.includes("Ready to accept connections");
    await until("redis-server is ready, or has ended", () => isReady() || child.exitCode !== null);
    if (child.exitCode === null) return [port, child];
  }
  throw new Error("redis-server does not start");
};

// Where a console listens, which is the first line that it says.
const firstLine = async (child) => {
  const line = new Promise((resolve) => createInterface(child.stdout).once("line", resolve));
  const ended = new Promise((_, reject) => child.once("exit", (code) => reject(new Error(`it ended with ${code}`))));
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error("it said nothing in 30 s")), 30_000).unref());
  return (await Promise.race([line, ended, late])).replace("listening on ", "");
};

const axeSource = await readFile(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

// axe runs in a world of its own: the policy of the page lets no script in.
const assertAccessible = async (page, where) => {
  const client = await page.context().newCDPSession(page);
  const { frameTree } = await client.send("Page.getFrameTree");
  const { executionContextId } = await client.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id });
  const run = async (expression) => {
    const answer = await client.send("Runtime.evaluate", {
      expression,
      contextId: executionContextId,
      awaitPromise: true,
      returnByValue: true,
    });
    assert.equal(answer.exceptionDetails, undefined, JSON.stringify(answer.exceptionDetails));
    return answer.result.value;
  };
  await run(axeSource);
  const violations = await run(
    `axe.run().then((found) => found.violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.map((it) => it.html + " " + it.failureSummary) })))`,
  );
  const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  assert.deepEqual(serious, [], `axe on ${where}`);
  await client.detach();
};

const assertFits = async (page, where) => {
  const [inner, scroll] = await page.evaluate(() => [window.innerWidth, document.documentElement.scrollWidth]);
  assert.ok(scroll <= inner, `${where} is ${scroll} wide in ${inner}`);
};

const picture = async (page, name) => {
  if (PICTURES) await page.screenshot({ path: join(PICTURES, `${name}.png`) });
};

const directory = await mkdtemp(join(tmpdir(), "leasehold-browser-"));
let browser;
try {
  const [redis, server] = await startRedis(directory);
  const store = `redis://127.0.0.1:${redis}`;
  for (let count = 0; count < 2; count += 1) {
    start(join(BIN, "examples/scheduler"), ["--store", store, "--every", "2s"], { cwd: directory, stdio: "ignore" });
  }
  const served = start(join(BIN, "leasehold"), ["serve", "--store", store, "--listen", "127.0.0.1:0"], {
    cwd: directory,
    env: { ...process.env, LEASEHOLD_CONSOLE_TOKEN: TOKEN },
  });
  const base = await firstLine(served);

  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  const context = await browser.newContext({ viewport: { width: 1100, height: 760 } });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));

  // After a restart nobody is signed in any more: an open page says so, and does not ask again and again.
  const elsewhere = await browser.newContext();
  const restarted = await elsewhere.newPage();
  const listenAgain = async (address) => {
    const options = ["serve", "--store", store, "--listen", address, "--reading-needs-token"];
    const child = start(join(BIN, "leasehold"), options, {
      cwd: directory,
      env: { ...process.env, LEASEHOLD_CONSOLE_TOKEN: TOKEN },
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.said = "";
    child.stderr.on("data", (text) => (child.said += text));
    return [child, await firstLine(child)];
  };
  const [before, address] = await listenAgain("127.0.0.1:0");
  await restarted.goto(address);
  await restarted.fill("#token", TOKEN);
  await restarted.locator("#token").press("Enter");
  await restarted.locator("#live").waitFor({ state: "attached" });
  const gone = new Promise((resolve) => before.once("exit", resolve));
  before.kill("SIGKILL");
  await gone;
  const [after] = await listenAgain(new URL(address).host);
  await restarted.getByText("What is shown is old: reading takes the token").waitFor({ timeout: 30_000 });
  await restarted.waitForTimeout(12_000);
  const refusals = after.said.split("refused").length - 1;
  assert.ok(refusals <= 3, `an idle page was refused ${refusals} times: ${after.said}`);
  await elsewhere.close();

  // The candidate that waits is seen without anybody reloading the page.
  await page.goto(base);
  const row = page.locator("#live tbody tr").first();
  await row.waitFor({ timeout: 30_000 });
  const name = (await row.locator("a.name").textContent()).trim();
  await page.waitForTimeout(5_000);

  // What nobody waits for is no event, and is seen all the same; and the page says how old it is.
  await page.goto(new URL("?all=true&prefix=quiet/", base).href);
  await page.getByText("All of these are free.").waitFor();
  assert.match(await page.locator("#age").textContent(), /^This page was made \d+ s ago\.$/);
  start(join(BIN, "leasehold"), ["run", "--store", store, "quiet/1", "--", "sleep", "120"], { cwd: directory, stdio: "ignore" });
  await page.getByRole("link", { name: "quiet/1" }).waitFor({ timeout: 30_000 });

  // Whoever reads a table that they have opened is told what is new, and it stays open.
  await page.goto(new URL("resource?name=quiet/1", base).href);
  await page.locator("#live details summary").click({ timeout: 30_000 });
  start(join(BIN, "leasehold"), ["run", "--store", store, "--wait", "60s", "quiet/1", "--", "true"], { cwd: directory, stdio: "ignore" });
  await page.getByRole("region", { name: "Waiters, in the order of the queue" }).waitFor({ timeout: 10_000 });
  assert.equal(await page.locator("#live details[open]").count(), 1, "the table was closed");

  // Every view, wide and light, then narrow and dark.
  const views = ["./", "./?all=true", `resource?name=${encodeURIComponent(name)}`, "managers", "elections", "schedules", "partitions", "doctor", "tuning", "login"];
  for (const [scheme, size] of [["light", { width: 1100, height: 760 }], ["dark", PHONE]]) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize(size);
    for (const view of views) {
      const answer = await page.goto(new URL(view, base).href);
      assert.equal(answer.status(), 200, view);
      await assertAccessible(page, `${view}, ${scheme}`);
      await assertFits(page, `${view}, ${scheme}`);
    }
  }
  await page.goto(new URL(views[2], base).href);
  await picture(page, "phone-dark");
  await page.setViewportSize({ width: 1100, height: 760 });
  await page.goto(base);
  await picture(page, "resources-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await page.goto(new URL(views[2], base).href);
  await picture(page, "resource");
  await page.goto(new URL("schedules", base).href);
  await picture(page, "schedules");

  // By the keyboard alone: over the skip link to the content, through the navigation, and into the sign-in.
  await page.goto(base);
  const focused = () => page.evaluate(() => document.activeElement.textContent.trim());
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "Skip to the content");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  await page.goto(base);
  const walk = async (wanted) => {
    for (let steps = 0; steps < 60; steps += 1) {
      await page.keyboard.press("Tab");
      if ((await focused()) === wanted) return;
    }
    throw new Error(`the keyboard does not reach ${wanted}`);
  };
  await walk("Sign in");
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.notEqual(outline, "none", "the focus is not seen");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/login");
  for (let steps = 0; (await page.evaluate(() => document.activeElement.id)) !== "token"; steps += 1) {
    assert.ok(steps < 60);
    await page.keyboard.press("Tab");
  }
  await page.keyboard.type(TOKEN);
  await page.keyboard.press("Tab");
  await page.keyboard.type("ann");
  await page.keyboard.press("Enter");
  await page.getByText("Signed in: ann").waitFor();

  // A page of another site cannot revoke, also with the session of this browser.
  const evil = createServer((_, answer) => {
    answer.setHeader("content-type", "text/html");
    answer.end(`<form method="post" action="${base}revoke"><input name="resource" value="${name}">
      <input name="reason" value="evil"><input name="grace_seconds" value="0"><button>win</button></form>`);
  });
  await new Promise((resolve) => evil.listen(0, "127.0.0.1", resolve));
  const other = await context.newPage();
  await other.goto(`http://127.0.0.1:${evil.address().port}/`);
  const [refused] = await Promise.all([other.waitForResponse(`${base}revoke`), other.click("button")]);
  assert.equal(refused.status(), 403);
  // It stays open: Chromium sometimes never closes a page whose navigation was refused a moment ago.
  await page.bringToFront();
  evil.close();

  // Nor can somebody without a session, nor with a wrong token.
  const stranger = await request.newContext();
  const unsigned = await stranger.post(new URL("revoke", base).href, {
    headers: { origin: new URL(base).origin },
    form: { resource: name, reason: "no session", grace_seconds: "0" },
  });
  assert.equal(unsigned.status(), 401);
  await stranger.dispose();

  // A revoke from the page, which the page tells by itself when it is over.
  await page.goto(new URL(views[2], base).href);
  await page.fill("#reason", "a browser test");
  await page.fill("#grace", "1");
  await page.locator("#reason").press("Enter");
  await page.getByText(/\d+ finished, \d+ taken/).waitFor({ timeout: 30_000 });
  await assertAccessible(page, "a resource, signed in");
  await page.goto(new URL("schedules", base).href);
  // Nothing is taken away from under a finger, and the page says that it waits.
  await page.getByRole("button", { name: /^Pause/ }).first().focus();
  await page.getByText("What is below is older").waitFor({ timeout: 30_000 });
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: /^Resume/ }).first().waitFor({ timeout: 30_000 });
  await page.goto(new URL("doctor", base).href);
  await page.getByRole("button", { name: "Examine now" }).press("Enter");
  await page.getByText(/Findings of/).waitFor({ timeout: 60_000 });
  await assertAccessible(page, "findings");
  await picture(page, "doctor");
  assert.deepEqual(complaints, [], "the browser complains");

  // A store that does not answer is told above what is old, and what is fresh again is shown.
  await page.goto(new URL(views[2], base).href);
  await page.locator("#live table").first().waitFor();
  server.kill("SIGSTOP");
  await page.getByText("What is shown is old:").waitFor({ timeout: 30_000 });
  assert.ok((await page.locator("#live table").count()) > 0, "what was known is gone");
  server.kill("SIGCONT");
  await page.getByText(/^\d+ resources? contended/).waitFor({ timeout: 30_000 });
  console.log("the console is as it should be");
} finally {
  await browser?.close();
  children.forEach((child) => child.kill("SIGKILL"));
  await rm(directory, { recursive: true, force: true, maxRetries: 5 });
}
