// @ts-check
/** Charts: small functions that draw numbers as SVG, for the app, the bundle and the report. */

import { count, h, interval, num, outcomeClass, outcomeWords, plural, s } from "./dom.js";

/**
 * Returns an SVG drawing with an accessible name.
 * @param {number} width @param {number} height @param {string} label @param {(SVGElement | null)[]} children
 */
function drawing(width, height, label, children) {
  return s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "chart", width, height },
    ...children);
}

/** @param {number} x @param {number} y @param {string} text @param {string} [anchor] @param {string} [cls] */
function label(x, y, text, anchor = "middle", cls = "tick") {
  return s("text", { x, y, "text-anchor": anchor, class: cls }, text);
}

/** Returns round numbers that divide a range. @param {number} low @param {number} high @param {number} most @returns {number[]} */
export function ticks(low, high, most = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((m) => (high - low) / m <= most) ?? rough;
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}

/** Returns the logarithms of 1, 2 and 5 times powers of ten in a range, or of the powers alone if these are many. @param {number} low @param {number} high */
function decades(low, high) {
  const steps = high - low > 2.5 ? [0] : [0, Math.log10(2), Math.log10(5)];
  const found = [];
  for (let power = Math.floor(low); power <= Math.ceil(high); power++) for (const step of steps) if (power + step >= low && power + step <= high) found.push(power + step);
  return found.length > 1 ? found : [low, high];
}

/** @param {number} value */
function short(value) {
  if (Math.abs(value) >= 10000) return `${Number((value / 1000).toPrecision(3))}k`;
  return String(Number(value.toPrecision(4)));
}

/**
 * Returns the range of an axis: the scale if it covers all numbers, 0 to 1 for shares, else with a small margin.
 * @param {{value: number | null, ci?: number[] | null, scale?: number[] | null}[]} results
 * @returns {[number, number]}
 */
export function domainOf(results) {
  const known = results.flatMap((r) => [r.value, ...(r.ci ?? [])]).filter((v) => v !== null && v !== undefined && Number.isFinite(v));
  const numbers = /** @type {number[]} */ (known);
  if (!numbers.length) return [0, 1];
  const low = Math.min(...numbers), high = Math.max(...numbers);
  const scale = results.find((r) => r.scale)?.scale;
  if (scale && scale.every(Number.isFinite) && low >= scale[0] && high <= scale[1]) return [scale[0], scale[1]];
  if (low >= 0 && high <= 1) return [0, 1];
  const room = (high - low || Math.abs(high) || 1) * 0.08;
  return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
}

/**
 * Draws a value with its interval above the ends of the scale.
 * @param {{value: number | null, ci?: number[] | null}} result
 * @param {[number, number]} domain
 * @param {number} [width]
 */
export function intervalDot(result, domain, width = 180) {
  // The interval of a small group may be longer than the axis: it ends where the axis ends.
  const inside = (/** @type {number} */ v) => Math.min(Math.max(v, domain[0]), domain[1]);
  const at = (/** @type {number} */ v) => 6 + ((v - domain[0]) / (domain[1] - domain[0] || 1)) * (width - 12);
  const { value, ci } = result;
  const known = value !== null && value !== undefined && Number.isFinite(value);
  return drawing(width, 28, known ? `${num(value)}, 95 % interval ${interval(ci)}` : "no value", [
    s("line", { x1: 6, x2: width - 6, y1: 11, y2: 11, class: "track" }),
    ...[0, 0.25, 0.5, 0.75, 1].map((share) => s("line", { x1: 6 + share * (width - 12), x2: 6 + share * (width - 12), y1: share % 0.5 ? 9.5 : 8, y2: share % 0.5 ? 12.5 : 14, class: "track" })),
    ci ? s("rect", { x: at(inside(ci[0])), width: Math.max(1.5, at(inside(ci[1])) - at(inside(ci[0]))), y: 7.5, height: 7, rx: 3.5, class: "ci" }) : null,
    known ? s("circle", { cx: at(value), cy: 11, r: 4.2, class: "dot" }) : null,
    label(6, 25, short(domain[0]), "start", "tick tiny"),
    label(width - 6, 25, short(domain[1]), "end", "tick tiny"),
  ]);
}

/**
 * Draws a strip that is divided by the share of each outcome.
 * @param {Record<string, number> | null | undefined} outcomes
 * @param {number} [width]
 */
export function outcomeStrip(outcomes, width = 120) {
  const entries = Object.entries(outcomes ?? {}).filter(([, n]) => n > 0).sort(([a], [b]) => Number(b === "scored") - Number(a === "scored"));
  const total = entries.reduce((sum, [, n]) => sum + n, 0);
  let x = 0;
  const parts = entries.map(([name, n]) => {
    const wide = Math.max(total ? (n / total) * width : 0, 1.5);
    const part = s("rect", { x, y: 7, width: Math.max(0, Math.min(wide, width - x)), height: 8, class: outcomeClass(name) },
      s("title", null, `${outcomeWords(name)}: ${count(n)}`));
    x += wide;
    return part;
  });
  const words = entries.map(([name, n]) => `${count(n)} ${outcomeWords(name)}`).join(", ");
  return drawing(width, 22, words || "no samples", [s("rect", { x: 0, y: 7, width, height: 8, class: "bed" }), ...parts]);
}

const LOG_RATIO = 20;
/** A logarithmic axis is used if the largest number is at least this many times the smallest. */

/** Returns true if there are two different values; otherwise a chart would show nothing. @param {ArrayLike<number | null>} values */
export function hasShape(values) {
  const first = Array.prototype.find.call(values, (v) => v !== null && Number.isFinite(v));
  return Array.prototype.some.call(values, (v) => v !== null && Number.isFinite(v) && v !== first);
}

/**
 * Draws a histogram. With `log`, the axis is logarithmic if the largest number is 20 times the smallest or more.
 * @param {ArrayLike<number | null>} values
 * @param {{label: string, width?: number, height?: number, log?: boolean, unit?: string, bins?: number, axis?: string}} options
 */
export function histogram(values, { label: name, width = 360, height = 166, log = false, unit = "", bins = 24, axis = "" }) {
  /** @type {number[]} */
  let known = [];
  let smallest = Infinity, largest = 0;
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (v === null || !Number.isFinite(v)) continue;
    known.push(v);
    if (v > 0 && v < smallest) smallest = v;
    if (v > largest) largest = v;
  }
  if (log && largest > 0 && largest >= LOG_RATIO * smallest) {
    known = known.filter((v) => v > 0).map(Math.log10);
    axis = `${axis} (log scale)`.trim();
  } else log = false;
  if (!known.length) return null;
  let low = Infinity, high = -Infinity;
  for (const v of known) { if (v < low) low = v; if (v > high) high = v; }
  const distinct = new Set(known.length > 5000 ? known.slice(0, 5000) : known);
  const names = distinct.size <= 12 ? [...distinct].map((v) => short(v)) : [];
  if (!log && names.length && new Set(names).size === names.length) return bars([...distinct].sort((a, b) => a - b).map((v) => ({ name: short(v) + unit, n: known.filter((w) => w === v).length })), { label: name, width, height, axis });
  if (high === low) { low -= 0.5; high += 0.5; }
  const counts = new Array(bins).fill(0);
  for (const v of known) counts[Math.min(bins - 1, Math.floor(((v - low) / (high - low)) * bins))]++;
  const top = Math.max(...counts), inner = width - 16, base = height - 36;
  const back = (/** @type {number} */ v) => (log ? 10 ** v : v);
  const marks = log ? decades(low, high) : ticks(low, high, 6);
  return drawing(width, height, `${name}: ${count(known.length)} values from ${short(back(low))}${unit} to ${short(back(high))}${unit}`, [
    ...counts.map((n, i) => s("rect", { x: 8 + (i * inner) / bins + 0.5, width: inner / bins - 1, y: base - (n / top) * (base - 14), height: Math.max(n ? 1 : 0, (n / top) * (base - 14)), class: "col", rx: 1 },
      s("title", null, `${short(back(low + ((high - low) * i) / bins))}${unit} to ${short(back(low + ((high - low) * (i + 1)) / bins))}${unit}: ${count(n)}`))),
    s("line", { x1: 8, x2: width - 8, y1: base + 0.5, y2: base + 0.5, class: "axis" }),
    ...marks.map((m) => label(8 + ((m - low) / (high - low)) * inner, height - 22, short(back(m)) + unit)),
    label(8, 9, plural(top, "sample"), "start", "tick tiny"),
    axis ? label(width / 2, height - 6, axis) : null,
  ]);
}

/**
 * Draws a bar for each count.
 * @param {{name: string, n: number, cls?: string}[]} rows
 * @param {{label: string, width?: number, height?: number, axis?: string}} options
 */
export function bars(rows, { label: name, width = 360, height = 166, axis = "" }) {
  const top = Math.max(1, ...rows.map((r) => r.n)), base = height - 36, each = (width - 16) / Math.max(rows.length, 1);
  const wide = Math.min(each * 0.72, 54);
  return drawing(width, height, `${name}: ${rows.map((r) => `${r.name} ${count(r.n)}`).join(", ")}`, [
    ...rows.flatMap((r, i) => {
      const x = 8 + each * (i + 0.5), high = (r.n / top) * (base - 24);
      return [
        s("rect", { x: x - wide / 2, width: wide, y: base - high, height: Math.max(high, r.n ? 1 : 0), rx: 2, class: `col ${r.cls ?? ""}` }),
        label(x, base - high - 5, count(r.n), "middle", "tick strong"),
        label(x, height - 22, r.name),
      ];
    }),
    s("line", { x1: 8, x2: width - 8, y1: base + 0.5, y2: base + 0.5, class: "axis" }),
    axis ? label(width / 2, height - 6, axis) : null,
  ]);
}

/**
 * Draws a calibration chart: how often answers of each confidence are right.
 * @param {ArrayLike<number | null>} confidence
 * @param {ArrayLike<number | null>} right
 */
export function calibration(confidence, right, width = 260, height = 260) {
  const bins = Array.from({ length: 10 }, () => ({ n: 0, sure: 0, right: 0 }));
  let error = 0, total = 0;
  for (let i = 0; i < confidence.length; i++) {
    const c = confidence[i], r = right[i];
    if (c === null || r === null || !Number.isFinite(c) || !Number.isFinite(r)) continue;
    const bin = bins[Math.min(9, Math.floor(c * 10))];
    bin.n++; bin.sure += c; bin.right += r; total++;
  }
  if (total < 10) return null;
  for (const bin of bins) if (bin.n) error += Math.abs(bin.sure - bin.right) / total;
  const at = (/** @type {number} */ v) => 30 + v * (width - 42), up = (/** @type {number} */ v) => height - 30 - v * (height - 42);
  const most = Math.max(...bins.map((b) => b.n));
  return drawing(width, height, `Calibration: expected calibration error ${error.toFixed(3)} over ${count(total)} samples`, [
    ...[0, 0.5, 1].flatMap((v) => [label(at(v), height - 14, String(v)), label(24, up(v) + 4, String(v), "end")]),
    s("rect", { x: at(0), y: up(1), width: at(1) - at(0), height: up(0) - up(1), class: "frame" }),
    s("line", { x1: at(0), y1: up(0), x2: at(1), y2: up(1), class: "diagonal" }),
    ...bins.filter((b) => b.n).map((b) => s("circle", { cx: at(b.sure / b.n), cy: up(b.right / b.n), r: 2.5 + 5 * Math.sqrt(b.n / most), class: "dot soft" },
      s("title", null, `sure ${(b.sure / b.n).toFixed(2)}, right ${(b.right / b.n).toFixed(2)}, n ${count(b.n)}`))),
    label(at(0.5), height - 1, "confidence", "middle", "tick"),
    label(at(0.03), up(0.94), `ECE ${error.toFixed(3)}`, "start", "tick strong"),
  ]);
}

/**
 * Draws a scatter plot of groups in two runs; above the diagonal the later run is higher.
 * @param {{name: string, before: number, after: number, n: number}[]} points
 */
export function scatter(points, width = 460, height = 340, higherIsBetter = true) {
  if (points.length < 2) return null;
  const [low, high] = domainOf(points.flatMap((p) => [{ value: p.before }, { value: p.after }]));
  const share = (/** @type {number} */ v) => (v - low) / (high - low || 1);
  const at = (/** @type {number} */ v) => 40 + share(v) * (width - 52), up = (/** @type {number} */ v) => height - 34 - share(v) * (height - 54);
  const most = Math.max(...points.map((p) => p.n || 1));
  const isGood = (/** @type {{before: number, after: number}} */ p) => (higherIsBetter ? p.after >= p.before : p.after <= p.before);
  return drawing(width, height, `Groups: ${points.filter((p) => p.after > p.before).length} of ${points.length} are higher in the later run`, [
    s("rect", { x: at(low), y: up(high), width: at(high) - at(low), height: up(low) - up(high), class: "frame" }),
    s("line", { x1: at(low), y1: up(low), x2: at(high), y2: up(high), class: "diagonal" }),
    ...ticks(low, high, 4).flatMap((t) => [label(at(t), height - 18, short(t)), label(34, up(t) + 4, short(t), "end")]),
    ...points.map((p) => s("circle", { cx: at(p.before), cy: up(p.after), r: 3 + 4 * Math.sqrt((p.n || 1) / most), class: isGood(p) ? "dot up" : "dot down" },
      s("title", null, `${p.name}: ${num(p.before)} → ${num(p.after)}, n ${p.n}`))),
    ...dotNames(points.map((p) => ({ name: p.name, moved: Math.abs(p.after - p.before), x: at(p.before), y: up(p.after) })), { left: at(low), right: at(high), top: up(high), bottom: up(low) }),
    label(at((low + high) / 2), height - 3, "earlier run"),
    label(40, 12, "later run", "start"),
  ]);
}

const NAMED_DOTS = 10;
const DOT_NAME_LENGTH = 24;
const DOT_ROOM = 8;
/** Half the side of the square around a dot that labels must not cover, in pixels. */
const LETTER_WIDTH = 6.5;

/** @typedef {{left: number, right: number, top: number, bottom: number}} Box */

/** @param {Box} a @param {Box} b */
function overlap(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/**
 * The names of the dots that moved most, each on a side of its dot where it covers no dot and no other name. A dot without such a side has its name on hover only.
 * @param {{name: string, moved: number, x: number, y: number}[]} dots @param {Box} frame
 */
function dotNames(dots, frame) {
  /** @type {Box[]} */
  const taken = dots.map(({ x, y }) => ({ left: x - DOT_ROOM, right: x + DOT_ROOM, top: y - DOT_ROOM, bottom: y + DOT_ROOM }));
  const marks = [];
  for (const dot of [...dots].sort((a, b) => b.moved - a.moved).slice(0, NAMED_DOTS)) {
    const name = dot.name.length > DOT_NAME_LENGTH ? `…${dot.name.slice(1 - DOT_NAME_LENGTH)}` : dot.name;
    const length = name.length * LETTER_WIDTH, y = Math.max(frame.top + 12, Math.min(dot.y + 4, frame.bottom - 5));
    for (const [anchor, x, from] of /** @type {[string, number, number][]} */ ([["start", dot.x + 10, dot.x + 10], ["end", dot.x - 10, dot.x - 10 - length]])) {
      const box = { left: from, right: from + length, top: y - 10, bottom: y + 2 };
      if (box.left < frame.left || box.right > frame.right || taken.some((other) => overlap(box, other))) continue;
      taken.push(box);
      marks.push(label(x, y, name, anchor));
      break;
    }
  }
  return marks;
}

/**
 * Draws a difference with its interval on a scale around 0.
 * @param {{difference: number, ci: number[] | null, verdict: string}} row
 * @param {number} reach
 */
export function differenceDot(row, reach, width = 220) {
  const at = (/** @type {number} */ v) => width / 2 + (Math.max(-reach, Math.min(reach, v)) / (reach || 1)) * (width / 2 - 8);
  const cls = row.verdict === "better" ? "up" : row.verdict === "worse" ? "down" : "";
  return drawing(width, 22, `difference ${num(row.difference)}, 95 % interval ${interval(row.ci)}`, [
    s("line", { x1: 8, x2: width - 8, y1: 11, y2: 11, class: "track" }),
    s("line", { x1: width / 2, x2: width / 2, y1: 2, y2: 20, class: "axis" }),
    row.ci ? s("rect", { x: at(row.ci[0]), width: Math.max(1.5, at(row.ci[1]) - at(row.ci[0])), y: 7.5, height: 7, rx: 3.5, class: `ci ${cls}` }) : null,
    s("circle", { cx: at(row.difference), cy: 11, r: 4.2, class: `dot ${cls}` }),
  ]);
}

/**
 * Draws a value as more samples are scored.
 * @param {number[][]} points pairs of n and value
 * @param {string} name
 */
export function runningLine(points, name, width = 420, height = 140) {
  if (points.length < 2) return null;
  const last = points[points.length - 1];
  const [low, high] = domainOf(points.map((p) => ({ value: p[1] })));
  const at = (/** @type {number} */ n) => 36 + (n / last[0]) * (width - 48), up = (/** @type {number} */ v) => height - 22 - ((v - low) / (high - low || 1)) * (height - 34);
  return drawing(width, height, `${name}: ${num(last[1])} after ${count(last[0])} samples`, [
    ...ticks(low, high, 3).flatMap((t) => [s("line", { x1: 36, x2: width - 12, y1: up(t), y2: up(t), class: "track" }), label(30, up(t) + 4, short(t), "end")]),
    s("polyline", { points: points.map((p) => `${at(p[0]).toFixed(1)},${up(p[1]).toFixed(1)}`).join(" "), class: "line" }),
    s("circle", { cx: at(last[0]), cy: up(last[1]), r: 3.5, class: "dot" }),
    label(width - 12, height - 6, plural(last[0], "sample"), "end"),
  ]);
}

/**
 * Draws the volume of audio over time, with the played part filled.
 * @param {Uint8Array} peaks
 */
export function waveform(peaks, width = 600, height = 56) {
  const bars = Math.min(peaks.length, 150), each = width / Math.max(bars, 1);
  const heights = Array.from({ length: bars }, (_, i) => {
    let top = 0;
    for (let k = Math.floor((i * peaks.length) / bars); k < ((i + 1) * peaks.length) / bars; k++) top = Math.max(top, peaks[k]);
    return Math.max(2, (top / 255) * (height - 6));
  });
  return s("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", class: "wave", "aria-hidden": "true" },
    ...heights.map((high, i) => s("rect", { x: i * each + each * 0.18, width: each * 0.64, y: (height - high) / 2, height: high, rx: 1 })));
}

/**
 * Returns a drawing with its title and a button that saves it.
 * @param {string} title @param {SVGElement | null} svg @param {string} [note]
 */
export function figure(title, svg, note) {
  if (!svg) return null;
  const save = h("button", { class: "quiet save", type: "button", "aria-label": `Save ${title} as SVG`, onclick: () => saveSvg(svg, title) }, "SVG");
  return h("figure", null, h("figcaption", null, h("span", null, title), save), svg, note ? h("p", { class: "muted small" }, note) : null);
}

const PAINTED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-family", "font-weight", "text-anchor"];

/** Saves a drawing as a file that contains its colours. @param {SVGElement} svg @param {string} title */
function saveSvg(svg, title) {
  const copy = /** @type {SVGElement} */ (svg.cloneNode(true));
  const pairs = [svg, ...svg.querySelectorAll("*")].map((from, i) => [from, [copy, ...copy.querySelectorAll("*")][i]]);
  for (const [from, to] of pairs) {
    const look = getComputedStyle(from);
    for (const name of PAINTED) to.setAttribute(name, look.getPropertyValue(name));
    to.removeAttribute("class");
  }
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const url = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
  h("a", { href: url, download: `${title.replace(/[^\w-]+/g, "-").slice(0, 60)}.svg` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
