%% debounce
function debounce(fn, ms) {
	let t;
	return (...args) => { clearTimeout(t); t = setTimeout(() => fn(...args), ms); };
}
%% router
const routes = { "/": "home", "/about": "about" };
function resolve(path) { return routes[path] ?? "not-found"; }
%% vue
export default { data() { return { n: 0 }; }, methods: { inc() { this.n++; } } };
%% csv
const parse = (text) => text.trim().split("\n").map((l) => l.split(","));
console.log(parse("a,b\n1,2"));
%% memoise
const memo = (f) => { const m = new Map(); return (x) => (m.has(x) ? m.get(x) : (m.set(x, f(x)), m.get(x))); };
%% koa
const Koa = require("koa");
const app = new Koa();
app.use(async (ctx, next) => { await next(); ctx.body = "ok"; });
app.listen(3000);
%% reducer
export function reducer(state = { items: [] }, action) {
	switch (action.type) {
	case "add": return { ...state, items: [...state.items, action.item] };
	default: return state;
	}
}
%% string tools
const slug = (s) => s.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
console.log(slug("Hello World"));
%% matrix
const mul = (a, b) => a.map((r) => b[0].map((_, j) => r.reduce((s, x, i) => s + x * b[i][j], 0)));
%% queue
class Queue { #items = []; push(x) { this.#items.push(x); } pop() { return this.#items.shift(); } }
%% canvas
const ctx = document.querySelector("canvas").getContext("2d");
ctx.fillStyle = "#f00"; ctx.fillRect(0, 0, 10, 10);
%% local storage
localStorage.setItem("theme", "dark");
document.body.className = localStorage.getItem("theme");
%% form
form.addEventListener("submit", async (e) => {
	e.preventDefault();
	const r = await fetch("/api/save", { method: "POST", body: new FormData(form) });
	if (!r.ok) alert("failed");
});
%% glob
import { readdir, readFile } from "node:fs/promises";
for (const f of await readdir("src")) console.log(f, (await readFile(`src/${f}`, "utf8")).length);
%% mocha
describe("exec", function () { it("matches", function () { if (!/a/.exec("a")) throw new Error(); }); });
%% webpack
const path = require("path");
module.exports = { entry: "./src", output: { filename: "[name].js", path: path.resolve(__dirname, "dist") } };
%% i18n
const t = (k, v) => (messages[k] || k).replace(/\{(\w+)\}/g, (_, n) => v[n]);
%% sleep
const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
await sleep(10);
%% tree walk
function walk(node, f) { f(node); (node.children || []).forEach((c) => walk(c, f)); }
%% dates
const days = (a, b) => Math.round((b - a) / 864e5);
console.log(days(new Date(2026, 0, 1), new Date(2026, 1, 1)));
%% url
const u = new URL("https://example.org/a?b=1");
u.searchParams.set("c", "2");
console.log(u.href);
%% uuid
console.log("xxxxxxxx".replace(/x/g, () => ((Math.random() * 16) | 0).toString(16)));
%% options
const { values } = require("util").parseArgs({ options: { exec: { type: "string" } } });
console.log(values.exec);
