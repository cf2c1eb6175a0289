%% router
const routes = [];
const route = (path, fn) => routes.push({ re: new RegExp(`^${path.replace(/:(\w+)/g, "(?<$1>[^/]+)")}$`), fn });
route("/users/:id", ({ id }) => `user ${id}`);
const handle = (url) => { for (const { re, fn } of routes) { const m = re.exec(url); if (m) return fn(m.groups ?? {}); } return "404"; };
console.log(handle("/users/7"));
%% observable
class Observable {
  constructor(subscribe) { this._subscribe = subscribe; }
  map(fn) { return new Observable((next) => this._subscribe((v) => next(fn(v)))); }
  subscribe(next) { return this._subscribe(next); }
  static of(...vs) { return new Observable((next) => vs.forEach(next)); }
}
Observable.of(1, 2, 3).map((x) => x * 2).subscribe((v) => console.log(v));
%% test helpers
const { test } = require("node:test");
const assert = require("node:assert");
const lib = require("./lib");
for (const name of Object.keys(lib)) test(`${name} is a function`, () => assert.equal(typeof lib[name], "function"));
test("quotes", () => assert.equal(lib.quote("rm -rf /"), "'rm -rf /'"));
%% pipeline of functions
const pipe = (...fns) => (x) => fns.reduce((v, f) => f(v), x);
const steps = { trim: (s) => s.trim(), upper: (s) => s.toUpperCase() };
const names = ["trim", "upper"];
console.log(pipe(...names.map((n) => steps[n]))("  hi "));
%% svg builder
const svg = (w, h, body) => `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}">${body}</svg>`;
const bars = [3, 5, 2].map((v, i) => `<rect x="${i * 12}" y="${50 - v * 10}" width="10" height="${v * 10}"/>`).join("");
require("fs").writeFileSync("chart.svg", svg(40, 50, bars));
