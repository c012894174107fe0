// @ts-check
/** The page of a run in progress: progress, speed, values so far, and failures. */

import { count, duration, h, num, outcomeClass, outcomeWords, plural, replace, trouble, when } from "./dom.js";
import { figure, outcomeStrip, runningLine } from "./charts.js";
import { statusBadge } from "./runs.js";

const EVERY = 2000;
const KEPT = 15;

/** @param {import("./source.js").Source} source @param {string} id @returns {Promise<import("./main.js").Page>} */
export async function livePage(source, id) {
  const [listed, first] = await Promise.all([source.brief(id), source.live(id)]);
  const body = h("div", { class: "live" });
  /** @type {{at: number, n: number}[]} */
  const seen = [];
  const draw = (/** @type {any} */ now) => {
    seen.push({ at: performance.now() / 1000, n: answered(now) });
    if (seen.length > KEPT) seen.shift();
    replace(body, ...state(now, seen, id));
  };
  draw(first);
  const timer = setInterval(async () => {
    if (document.hidden) return;
    try {
      const now = await source.live(id);
      draw(now);
      if (!now.live) clearInterval(timer);
    } catch (error) {
      replace(body, trouble(error));
      clearInterval(timer);
    }
  }, EVERY);
  return {
    title: `Watching ${listed.name}`,
    path: [{ name: "Runs", href: "#/" }, { name: listed.name, href: `#/run/${id}` }, { name: "Live" }],
    leave: () => clearInterval(timer),
    body: h("div", { class: "page" }, h("div", { class: "head" }, h("h1", null, listed.name)), body),
  };
}

/** @param {any} now @returns {number} */
function answered(now) { return now.cells.reduce((/** @type {number} */ sum, /** @type {any} */ c) => sum + c.answered, 0); }

/** @param {any} now @param {{at: number, n: number}[]} seen @param {string} id */
function state(now, seen, id) {
  const total = answered(now);
  const from = seen[0], to = seen[seen.length - 1];
  const rate = to.at > from.at ? (to.n - from.n) / (to.at - from.at) : now.seconds ? total / now.seconds : 0;
  const isBounded = now.cells.every((/** @type {any} */ c) => c.expected ?? c.at_most);
  const expected = isBounded ? now.cells.reduce((/** @type {number} */ sum, /** @type {any} */ c) => sum + (c.expected ?? c.at_most), 0) : null;
  const isExact = now.cells.every((/** @type {any} */ c) => c.expected);
  const left = expected && rate > 0 && expected > total ? duration((expected - total) / rate) : null;
  const fact = (/** @type {string} */ name, /** @type {any} */ value) => h("div", { class: "fact" }, h("span", { class: "muted small" }, name), h("b", null, value));
  return [
    h("div", { class: "facts-row card" }, h("div", { class: "fact" }, h("span", { class: "muted small" }, "status"), statusBadge(now.live ? "running" : now.status === "running" ? "stopped" : now.status)),
      fact("samples", expected ? `${count(total)} of ${isExact ? "" : "at most "}${count(expected)}` : count(total)), now.live ? fact("rate", `${rate < 10 ? rate.toFixed(1) : count(Math.round(rate))} a second`) : null,
      now.not_started ? fact("started", `${now.cells.length} of ${plural(now.cells.length + now.not_started, "task")}`) : null,
      left ? fact(now.not_started ? "left in these" : "left", `${isExact ? "about" : "at most about"} ${left}`) : null, now.seconds ? fact("so far", duration(now.seconds)) : fact("started", when(now.started)), now.tokens_out ? fact("tokens", `${count(now.tokens_in)} in, ${count(now.tokens_out)} out`) : null),
    now.cells.length ? null : h("p", { class: "muted" }, "No answer has come yet."),
    ...now.cells.map((/** @type {any} */ c) => cellCard(c, id)),
  ];
}

/** @param {any} c @param {string} id */
function cellCard(c, id) {
  const bound = c.expected ?? c.at_most;
  const share = bound ? Math.min(1, c.answered / bound) : null;
  const bad = Object.entries(c.outcomes).filter(([name, n]) => name !== "scored" && name !== "waiting" && n);
  const last = c.running[c.running.length - 1];
  return h("section", { class: "card", "aria-label": `${c.task} ${c.model}` },
    h("div", { class: "card-head" }, h("b", null, c.task), h("span", { class: "muted" }, c.model), h("span", { class: "facts muted" }, bound ? `${count(c.answered)} of ${c.expected ? "" : "at most "}${count(bound)}` : `${count(c.answered)} answered`), h("a", { class: "quiet-link", href: `#/run/${id}/samples?task=${encodeURIComponent(c.task)}` }, "Samples")),
    share === null ? null : h("progress", { max: 1, value: share, "aria-label": `${Math.round(share * 100)} % of ${c.task}` }),
    h("div", { class: "grid two" },
      h("div", null, outcomeStrip(c.outcomes, 360), bad.length ? h("ul", { class: "plain-list" }, bad.map(([name, n]) => h("li", null, h("span", { class: `pip ${outcomeClass(name)}`, "aria-hidden": "true" }), h("a", { href: `#/run/${id}/samples?outcome=${name}` }, `${count(/** @type {number} */ (n))} ${outcomeWords(name)}`)))) : h("p", { class: "muted small" }, "No failures so far.")),
      last ? figure(`${c.metric ?? "value"} so far: ${num(last[1])}`, runningLine(c.running, c.metric ?? "value")) : null));
}
