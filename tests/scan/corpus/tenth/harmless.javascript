%% read directory
const fs = require("fs");
const path = require("path");
for (const name of fs.readdirSync(".")) {
  const p = path.join(".", name);
  console.log(name, fs.statSync(p).size);
}
%% callbacks of own
function each(items, cb) { for (const i of items) cb(i); }
each([1, 2], x => console.log(x));
%% promise chain
fetch("/api/items").then(r => r.json()).then(({ items = [] }) => items.forEach(i => console.log(i.name)));
%% recursive mkdir
const fs = require("fs");
fs.mkdirSync("out/a/b", { recursive: true });
fs.writeFileSync("out/a/b/c.txt", "hello");
%% copy tree
const fs = require("fs");
fs.cpSync("public", "dist/public", { recursive: true });
%% watch
const fs = require("fs");
fs.watch("src", { recursive: true }, (e, f) => console.log(e, f));
%% router
const routes = { "/": () => "home", "/etc": () => "more" };
const handle = url => (routes[url] ?? (() => "none"))();
console.log(handle("/"));
%% unlink of own file
const fs = require("fs");
const pid = "server.pid";
process.on("exit", () => { if (fs.existsSync(pid)) fs.unlinkSync(pid); });
%% defaults in options
function connect({ host = "localhost", port = 5432, retries = 3 } = {}) { return `${host}:${port}/${retries}`; }
console.log(connect({ port: 1 }));
%% logical assignment
const opts = {};
opts.name ??= "x";
opts.list ||= [];
opts.list.push(1);
console.log(opts);
%% redux style
const reducers = { add: (s, a) => s + a.by, sub: (s, a) => s - a.by };
const reduce = (s, a) => (reducers[a.type] || (x => x))(s, a);
console.log([{ type: "add", by: 2 }].reduce(reduce, 1));
%% class mixins
const Loud = B => class extends B { shout() { return this.name.toUpperCase(); } };
class P { constructor(n) { this.name = n; } }
console.log(new (Loud(P))("x").shout());
%% emitter
const { EventEmitter } = require("events");
class Job extends EventEmitter { run() { this.emit("done", 1); } }
const j = new Job();
j.once("done", v => console.log(v));
j.run();
%% reactive proxy
const watch = (o, cb) => new Proxy(o, { set(t, k, v) { t[k] = v; cb(k, v); return true; } });
const s = watch({ n: 0 }, (k, v) => console.log(k, v));
s.n = 1;
%% dom
document.querySelectorAll("a").forEach(a => a.addEventListener("click", e => { e.preventDefault(); console.log(a.href); }));
%% csv
const rows = "a,b\n1,2".split("\n").map(l => l.split(","));
const [head, ...body] = rows;
console.log(body.map(r => Object.fromEntries(r.map((v, i) => [head[i], v]))));
%% koa
const Koa = require("koa");
const app = new Koa();
app.use(async (ctx, next) => { const t = Date.now(); await next(); ctx.set("X-Time", `${Date.now() - t}`); });
app.use(ctx => { ctx.body = { ok: true }; });
app.listen(3000);
%% promisified fs
const { promisify } = require("util");
const fs = require("fs");
const read = promisify(fs.readFile);
read("package.json", "utf8").then(JSON.parse).then(p => console.log(p.name));
