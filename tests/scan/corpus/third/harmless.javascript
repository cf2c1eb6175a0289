%% fizz
for (let i = 1; i <= 15; i++) console.log(i % 15 === 0 ? "FizzBuzz" : i % 5 === 0 ? "Buzz" : i % 3 === 0 ? "Fizz" : i);
%% group
const by = (xs, f) => xs.reduce((m, x) => ((m[f(x)] ||= []).push(x), m), {});
console.log(by([1, 2, 3], (x) => (x % 2 ? "odd" : "even")));
%% linked list
class List { constructor() { this.head = null; } push(v) { this.head = { v, next: this.head }; } *[Symbol.iterator]() { for (let n = this.head; n; n = n.next) yield n.v; } }
console.log([...new List()]);
%% throttle
export const throttle = (f, ms) => { let last = 0; return (...a) => { const now = Date.now(); if (now - last >= ms) { last = now; f(...a); } }; };
%% hooks
import { useEffect, useRef } from "react";
export function useInterval(cb, ms) { const r = useRef(cb); useEffect(() => { const t = setInterval(() => r.current(), ms); return () => clearInterval(t); }, [ms]); }
%% express error
app.use((err, req, res, next) => { res.status(500).json({ error: err.message }); });
%% mongoose
const schema = new mongoose.Schema({ name: String, password: { type: String, select: false } });
module.exports = mongoose.model("User", schema);
%% gulp
const gulp = require("gulp");
exports.default = () => gulp.src("src/*.js").pipe(gulp.dest("dist"));
%% stats
const median = (xs) => { const s = [...xs].sort((a, b) => a - b), m = s.length >> 1; return s.length % 2 ? s[m] : (s[m - 1] + s[m]) / 2; };
%% url params
const params = new URLSearchParams(location.search);
console.log(params.get("page") ?? 1);
%% observer
const o = new IntersectionObserver((es) => es.forEach((e) => e.target.classList.toggle("seen", e.isIntersecting)));
%% colours
const hex = (r, g, b) => "#" + [r, g, b].map((x) => x.toString(16).padStart(2, "0")).join("");
%% zod
import { z } from "zod";
const User = z.object({ name: z.string().min(1), exec: z.boolean().optional() });
%% array shuffle
for (let i = xs.length - 1; i > 0; i--) { const j = Math.floor(Math.random() * (i + 1)); [xs[i], xs[j]] = [xs[j], xs[i]]; }
%% cli help
if (process.argv.includes("--help")) { console.log("usage: tool [--exec NAME] FILE"); process.exit(0); }
%% markdown
const html = md.replace(/^# (.*)$/gm, "<h1>$1</h1>").replace(/\*\*(.*?)\*\*/g, "<b>$1</b>");
