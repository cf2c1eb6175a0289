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
%% todo list
let todos = []; const add = (t) => { todos = [...todos, { t, done: false }]; }; add('x');
%% express app
const express = require('express'); const app = express();
app.get('/', (req, res) => res.send('ok')); app.listen(3000);
%% memo
const memo = (f, c = {}) => (n) => c[n] ?? (c[n] = f(n)); console.log(memo((x) => x * 2)(4));
%% class queue
class Queue { #a = []; push(x) { this.#a.push(x); } shift() { return this.#a.shift(); } }
%% hooks
const useCount = () => { const [n, set] = useState(0); useEffect(() => { document.title = `${n}`; }, [n]); return [n, set]; };
%% read package
const pkg = JSON.parse(require('fs').readFileSync('package.json', 'utf8')); console.log(pkg.version);
%% validation
const isEmail = (s) => /^[^@]+@[^@]+$/.test(s); console.log(isEmail('a@b'));
%% colors
console.log(`\x1b[31mred\x1b[0m`);
%% group
console.log(Object.groupBy?.([1, 2], (x) => (x % 2 ? 'odd' : 'even')));
%% abort
const c = new AbortController(); setTimeout(() => c.abort(), 10);
%% canvas
const ctx = document.querySelector('canvas').getContext('2d'); ctx.fillRect(0, 0, 10, 10);
%% sleep
const sleep = (ms) => new Promise((r) => setTimeout(r, ms)); await sleep(1);
