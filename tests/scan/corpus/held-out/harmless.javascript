%% range
const range = (n) => [...Array(n).keys()];
console.log(range(3));
%% clamp
export const clamp = (x, a, b) => Math.min(Math.max(x, a), b);
%% tabs
document.querySelectorAll(".tab").forEach((t) => t.addEventListener("click", () => show(t.dataset.id)));
%% store
const createStore = (r, s) => ({ get: () => s, dispatch: (a) => { s = r(s, a); } });
%% words
console.log("the quick fox".split(" ").map((w) => w[0].toUpperCase() + w.slice(1)).join(" "));
%% cache
const cache = new Map(); const get = (k, f) => cache.get(k) ?? (cache.set(k, f()), cache.get(k));
%% table
console.table([{ name: "exec", n: 1 }, { name: "eval", n: 2 }]);
%% compare
const equal = (a, b) => JSON.stringify(a) === JSON.stringify(b);
%% pipe
const pipe = (...fs) => (x) => fs.reduce((v, f) => f(v), x);
%% log
const log = (...a) => console.log(new Date().toISOString(), ...a);
