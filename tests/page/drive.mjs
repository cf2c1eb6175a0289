/* SPDX-License-Identifier: Apache-2.0 */
/* Drives a browser: one JSON call a line on standard input, one answer a line on standard output. */
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [clients, program, profile, patience] = process.argv.slice(2);
const require = createRequire(clients + "/");
const puppeteer = require("puppeteer-core");
const axe = require("axe-core").source;

const faults = [], foreign = [];
let origin = null;

const browser = await puppeteer.launch({ executablePath: program, userDataDir: profile, protocolTimeout: patience * 1000,
  timeout: patience * 1000,
  // The browser's own sandbox needs what a plain user in a container may not have; all it loads is the page under test.
  args: ["--no-sandbox", "--disable-gpu", "--disable-extensions", "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"] });
const [page] = await browser.pages();
page.on("pageerror", (error) => faults.push("error: " + error.message));
page.on("console", (message) => { if (message.type() === "error") faults.push("console: " + message.text()); });
page.on("dialog", (dialog) => { faults.push("dialog: " + dialog.message()); void dialog.dismiss(); });
await page.setRequestInterception(true);
page.on("request", (request) => {
  if (new URL(request.url()).origin === origin) return void request.continue();
  foreign.push(request.url());
  void request.abort();
});

/** Waits in the page until an expression is true there; its value. Scripts of strings are the debugger's, no policy is in their way. */
const until = (js) => page.evaluate(`new Promise((done, fail) => {
  const look = () => { let value; try { value = ${js}; } catch { value = false; } if (value) { clearInterval(timer); clearTimeout(late); done(value); } };
  const timer = setInterval(look, 50);
  const late = setTimeout(() => { clearInterval(timer); fail(new Error("never true: " + ${JSON.stringify(js)} + "\\n" + document.body.innerText.slice(0, 1500))); }, ${patience * 800});
  look();
})`);

/** In the page: what is outside the window, or lies over something else. */
function layout() {
  const wrong = [], root = document.scrollingElement;
  const say = (one) => `${one.localName} "${(one.textContent || one.ariaLabel || "").slice(0, 40)}"`;
  if (root.scrollWidth > innerWidth) wrong.push(`the page is ${root.scrollWidth} wide, the window ${innerWidth}`);
  const seen = [...document.body.querySelectorAll("h1,h2,h3,p,a,button,input,summary,strong,th,svg,code,#view div:not(:has(*))")].flatMap((one) => {
    const box = one.getBoundingClientRect(), at = { left: box.left, right: box.right, top: box.top, bottom: box.bottom };
    let scrolls = false;
    for (let above = one.parentElement; above; above = above.parentElement) {
      if (getComputedStyle(above).overflowX === "visible") continue;
      const edge = above.getBoundingClientRect();
      scrolls ||= true;
      at.left = Math.max(at.left, edge.left); at.right = Math.min(at.right, edge.right);
      at.top = Math.max(at.top, edge.top); at.bottom = Math.min(at.bottom, edge.bottom);
    }
    if (at.right - at.left < 1 || at.bottom - at.top < 1 || !one.checkVisibility({ visibilityProperty: true })) return [];
    if (at.left < 0 || at.right > innerWidth) wrong.push(`outside: ${say(one)}`);
    if (!scrolls && one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== "inline" && one.localName !== "input") wrong.push(`too wide for its place: ${say(one)}`);
    if (one.matches("button") && box.height < 24) wrong.push(`too small to hit: ${say(one)}`);
    return [{ one, at }];
  });
  for (const [number, a] of seen.entries()) for (const b of seen.slice(number + 1)) {
    if (a.one.contains(b.one) || b.one.contains(a.one)) continue;
    const wide = Math.min(a.at.right, b.at.right) - Math.max(a.at.left, b.at.left);
    const high = Math.min(a.at.bottom, b.at.bottom) - Math.max(a.at.top, b.at.top);
    // Boxes of text that wraps, and of lines close to each other, may touch.
    const wraps = [a, b].some(({ one }) => one.getClientRects().length > 1);
    if (wide > 1 && high > 3 && !wraps) wrong.push(`${say(a.one)} lies over ${say(b.one)}`);
  }
  return wrong;
}

const calls = {
  open: async (url) => { origin = new URL(url).origin; await page.goto("about:blank"); await page.goto(url); },
  reload: () => page.reload(),
  stray: (url) => page.goto(url).then(() => "let through", () => "stopped"),
  until,
  get: (js) => page.evaluate(js),
  /** With the mouse: the one element that an expression names, once it is there. */
  click: async (js) => {
    for (let left = 5; ; left--) {
      await until(`!!(${js})`);
      // What is drawn anew meanwhile is looked for again.
      try { return await (await page.evaluateHandle(js)).click(); } catch (error) { if (left === 0) throw error; }
    }
  },
  /** By the Tab key alone to the element that an expression names; on the way the focus is always somewhere, and to be seen. */
  reach: async (js) => {
    for (let left = 200; left > 0; left--) {
      await page.keyboard.press("Tab");
      const at = await page.evaluate(`[document.activeElement === ${js}, document.activeElement.matches("body, :not(:focus-visible)") || getComputedStyle(document.activeElement).outlineStyle === "none"]`);
      if (at[1]) throw new Error("the focus is lost");
      if (at[0]) return;
    }
    throw new Error("not reached");
  },
  press: async (...keys) => { for (const key of keys) await page.keyboard.press(key); },
  type: (text) => page.keyboard.type(text),
  /** What is wrong with what is shown, at this width and in this scheme. */
  look: async (width, scheme) => {
    await page.setViewport({ width, height: 740 });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await until(`innerWidth === ${width} && matchMedia("(prefers-color-scheme: ${scheme})").matches`);
    if (!await page.evaluate("!!globalThis.axe")) await page.evaluate(axe);
    const found = await page.evaluate(`axe.run(document, { resultTypes: ["violations"] })`);
    return [...await page.evaluate(layout), ...found.violations.map((one) =>
      `${one.id}: ${one.help}: ${one.nodes.map((node) => node.html.slice(0, 120) + " " + (node.any[0]?.message ?? "")).slice(0, 3).join(" | ")}`)];
  },
  faults: () => ({ faults: faults.splice(0), foreign: foreign.splice(0) }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...words] = JSON.parse(line);
  let answer;
  try { answer = { value: await calls[name](...words) ?? null }; } catch (error) { answer = { error: String(error.message ?? error) }; }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
await browser.close();
