/* SPDX-License-Identifier: Apache-2.0 */
/* Plots, each with a title and a description for those who do not see it; what they show stands in a table as well. */
import { make } from "./call.js";

const WIDTH = 320, HEIGHT = 180, LEFT = 48, BELOW = 28, DAYS = 14, MARKS = 6;
const GOOD = ["pass", "promoted", "asked"], NEITHER = ["unchanged", "stopped"];

export const kindOf = (result) => GOOD.includes(result) ? "good" : NEITHER.includes(result) ? "" : "bad";
export const sizeOf = (attempt) => Object.values(attempt.changes ?? {}).reduce((sum, one) => sum + one, 0);
const image = (width, height, title, desc, ...parts) => make("svg", { class: "chart", width, height, viewBox: `0 0 ${width} ${height}`, role: "img" },
  make("title", {}, title), make("desc", {}, desc), ...parts);
const short = (number) => String(Number(number.toPrecision(4)));
/** Where it lies between the two: 0 to 1. Scores may be as large as numbers are, or so near each other that their difference is none. */
function part(number, low, high) {
  const unit = Math.max(Math.abs(low), Math.abs(high)), span = high / unit - low / unit;
  return span > 0 ? (number / unit - low / unit) / span : 0;
}

/** The attempts of a race, by their numbers in its table: score against time, and the larger the mark, the more files it changed. */
export function scatter(attempts) {
  const scores = attempts.map((one) => one.score).filter((score) => score !== null), times = attempts.map((one) => one.duration_ms ?? 0);
  const low = Math.min(0, ...scores), high = Math.max(low, ...scores), slowest = Math.max(1, ...times), largest = Math.max(1, ...attempts.map(sizeOf));
  const x = (ms) => LEFT + 16 + (WIDTH - LEFT - 40) * ms / slowest, y = (score) => HEIGHT - BELOW - 16 - (HEIGHT - BELOW - 40) * part(score, low, high);
  const parts = attempts.flatMap((one, at) => {
    const mark = { cx: x(times[at]), cy: y(one.score ?? low), r: 4 + 10 * Math.sqrt(sizeOf(one) / largest), class: one.score === null ? "ring bad" : "mark" };
    return [make("circle", mark), make("text", { x: mark.cx + mark.r + 2, y: mark.cy + 4 }, String(at + 1))];
  });
  const desc = attempts.map((one, at) => `${at + 1}, ${one.name}: ${one.score === null ? "no score" : "score " + short(one.score)}, ${Math.round(times[at])} ms, ${sizeOf(one)} files`).join("; ");
  return image(WIDTH, HEIGHT, "Score against time; the larger, the more files changed", desc,
    make("line", { x1: LEFT, y1: 8, x2: LEFT, y2: HEIGHT - BELOW }), make("line", { x1: LEFT, y1: HEIGHT - BELOW, x2: WIDTH - 8, y2: HEIGHT - BELOW }), ...parts,
    make("text", { x: LEFT - 4, y: y(high) + 4, "text-anchor": "end" }, scores.length ? short(high) : ""), make("text", { x: LEFT - 4, y: y(low) + 4, "text-anchor": "end" }, short(low)),
    make("text", { x: x(0), y: HEIGHT - BELOW + 14 }, "0"), make("text", { x: x(slowest), y: HEIGHT - BELOW + 14, "text-anchor": "end" }, Math.round(slowest) + " ms"),
    make("text", { x: WIDTH / 2, y: HEIGHT - 2, "text-anchor": "middle" }, "time, and score upwards"));
}

const midnight = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();

/** The last two weeks of a job, a column for each day: a disc for a run that did its work, a square for one that did not, a ring for neither. */
export function strip(name, runs, now = new Date()) {
  const days = Array.from({ length: DAYS }, (_, at) => ({ date: new Date(now.getFullYear(), now.getMonth(), now.getDate() - DAYS + 1 + at), runs: [] }));
  for (const run of runs) days.find((day) => day.date.getTime() === midnight(new Date(run.started)))?.runs.unshift(run);
  const parts = days.flatMap((day, at) => {
    const x = 1 + at * 22, more = day.runs.length - MARKS;
    return [make("rect", { class: "day", x, y: 1, width: 20, height: 62 }), make("text", { x: x + 10, y: 76, "text-anchor": "middle" }, String(day.date.getDate())),
      ...day.runs.slice(-MARKS).map((run, number) => {
        const kind = kindOf(run.result), y = 57 - number * 9;
        return kind === "bad" ? make("rect", { class: "mark bad", x: x + 7, y: y - 3, width: 6, height: 6 }) : make("circle", { class: kind ? "mark good" : "ring", cx: x + 10, cy: y, r: 3 });
      }), more > 0 ? make("text", { x: x + 10, y: 10, "text-anchor": "middle" }, "+" + more) : null];
  });
  const desc = days.filter((day) => day.runs.length > 0).map((day) => `${day.date.toDateString()}: ${day.runs.map((run) => run.result).join(", ")}`).join("; ");
  return image(DAYS * 22, 80, `Runs of ${name} in the last two weeks`, desc || "none", ...parts);
}
