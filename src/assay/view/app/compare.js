// @ts-check
/** The comparison page: a sentence for each run, every difference with its interval, and the changed samples. */

import { asText, count, h, num, replace, trouble } from "./dom.js";
import { differenceDot, figure, scatter } from "./charts.js";
import { samplePanel } from "./sample.js";

const STEP = 60;
const LONGEST = 3000;
/** Longer answers (in words) get no word diff, because its time grows with the product of both lengths. */

/** @param {import("./source.js").Source} source @param {string[]} ids the earliest first @returns {Promise<import("./main.js").Page>} */
export async function comparePage(source, ids) {
  const [first, ...rest] = ids;
  const found = await Promise.all(rest.map((id) => source.compare(first, id).catch((/** @type {any} */ error) => ({ error, after: { name: id } }))));
  const name = found.find((c) => !c.error)?.before.name ?? "the first run";
  const sections = found.map((c) => (c.error ? h("section", null, h("h2", null, c.after.name), trouble(c.error)) : comparison(c, source)));
  const swap = ids.length === 2 ? h("a", { class: "button second", href: `#/compare/${ids[1]}/${ids[0]}` }, "Swap") : null;
  return {
    title: "Compare",
    path: [{ name: "Runs", href: "#/" }, { name: "Compare" }],
    body: h("div", { class: "page" }, h("div", { class: "head" }, h("h1", null, "Compare"), h("p", { class: "muted" }, "Earlier run: ", h("a", { href: `#/run/${first}` }, name)), h("div", { class: "actions" }, swap)), sections),
  };
}

/** @param {any} c @param {import("./source.js").Source} source */
export function comparison(c, source) {
  const compared = c.rows.filter((/** @type {any} */ r) => !r.refused);
  const pair = `${c.before.name} and ${c.after.name}`;
  return h("section", { class: "comparison", "aria-label": `${c.before.name} and ${c.after.name}` },
    h("h2", null, c.before.name, h("span", { class: "muted" }, " → "), h("a", { href: `#/run/${c.after.id}` }, c.after.name)),
    c.notes?.length ? h("div", { class: "notice bad", role: "note" }, c.notes.length > 1 ? h("ul", { class: "plain-list" }, c.notes.map((/** @type {string} */ note) => h("li", null, note))) : h("p", null, c.notes[0])) : null,
    h("p", { class: "sentence" }, c.sentence),
    differenceTable(c.rows, pair),
    h("div", { class: "grid two" }, groupCharts(compared),
      c.settings?.length ? h("div", { class: "card scroll", tabindex: "0", role: "region", "aria-label": `What else differs between ${pair}` }, h("table", { class: "plain" }, h("caption", null, "What else differs"), h("thead", null, h("tr", null, ["Setting", c.before.name, c.after.name].map((t) => h("th", { scope: "col" }, t)))), h("tbody", null, c.settings.map((/** @type {string[]} */ row) => h("tr", null, h("th", { scope: "row" }, row[0]), h("td", { class: "mono small old" }, row[1]), h("td", { class: "mono small new" }, row[2])))))) : null),
    ...compared.filter((/** @type {any} */ r) => r.flips.length).map((/** @type {any} */ r) => flips(r, c, source)));
}

/** Draws a chart of the groups in both runs for each metric with groups. @param {any[]} compared */
function groupCharts(compared) {
  const tasks = new Set(compared.map((r) => r.task)), metrics = [...new Set(compared.map((r) => r.metric))];
  return metrics.map((metric) => {
    const rows = compared.filter((r) => r.metric === metric);
    const points = rows.flatMap((r) => (r.groups ?? []).map((/** @type {any} */ g) => ({ ...g, name: tasks.size > 1 ? `${r.task} ${g.tag}=${g.name}` : `${g.tag}=${g.name}` })));
    const drawing = scatter(points, undefined, undefined, rows[0].higher_is_better);
    return drawing && h("div", { class: "card" }, figure(`Groups of both runs: ${metric}`, drawing, "above the line: higher in the later run"));
  });
}

/** @param {any[]} rows @param {string} pair the names of both runs */
function differenceTable(rows, pair) {
  const reach = (/** @type {any} */ row) => Math.max(...rows.filter((r) => !r.refused && r.metric === row.metric).flatMap((r) => [Math.abs(r.difference), ...(r.ci ?? []).map(Math.abs)]), 1e-9) * 1.1;
  const body = rows.map((r) => (r.refused
    ? h("tr", null, h("th", { scope: "row" }, r.task, h("span", { class: "muted small" }, ` ${r.metric}`)), h("td", { colspan: 6, class: "muted" }, h("div", { class: "refused" }, r.words)))
    : h("tr", null, h("th", { scope: "row" }, r.task, h("span", { class: "muted small mono" }, ` ${r.metric} ${r.higher_is_better ? "↑" : "↓"}`)), h("td", { class: "number" }, num(r.baseline_value)), h("td", { class: "number" }, num(r.value)),
      h("td", { class: "number" }, h("b", null, signed(r.difference)), h("div", { class: "muted small" }, r.ci ? `${signed(r.ci[0])} to ${signed(r.ci[1])}` : "no interval")), h("td", null, differenceDot(r, reach(r))),
      h("td", { class: "small" }, r.higher_is_better ? `${count(r.wins)} up, ${count(r.losses)} down` : `${count(r.losses)} better (lower), ${count(r.wins)} worse`, h("div", { class: "muted" }, `of ${count(r.n)}`)),
      h("td", { class: "small" }, h("b", { class: r.verdict === "better" ? "t-good" : r.verdict === "worse" ? "t-bad" : "" }, r.verdict), h("div", { class: "muted" }, `p ${chance(r.p_adjusted)}${r.bootstrap ? `, paired bootstrap ${chance(r.bootstrap.p)}` : ""}`)))));
  return h("div", { class: "card scroll", tabindex: "0", role: "region", "aria-label": `Differences of ${pair}` }, h("table", { class: "plain differences" }, h("thead", null, h("tr", null, ["Number", "Earlier", "Later", "Difference", "95 % interval", "Samples", "Verdict"].map((t, i) => h("th", { scope: "col", class: i > 0 && i < 4 ? "number" : "" }, t)))), h("tbody", null, body)));
}

/** @param {number | null} p */
function chance(p) { return p === null ? "n/a" : p < 0.001 ? "< 0.001" : p.toPrecision(2); }

/** @param {number} value */
function signed(value) { return `${value > 0 ? "+" : value < 0 ? "−" : ""}${num(Math.abs(value))}`; }

/** Lists changed samples; opening one shows both answers side by side. @param {any} r @param {any} c @param {import("./source.js").Source} source */
function flips(r, c, source) {
  const list = h("div", { class: "flips" });
  let shown = 0, way = "all";
  const chosen = () => r.flips.filter((/** @type {any[]} */ f) => way === "all" || (way === "up" ? f[2] > f[1] : f[2] < f[1]));
  const more = h("button", { type: "button", class: "quiet", onclick: () => grow() }, "Show more");
  const grow = () => {
    const all = chosen();
    const next = all.slice(shown, shown + STEP);
    const rows = next.map((/** @type {any[]} */ flip) => flipRow(flip, r, c, source));
    list.append(...rows);
    source.rows(c.after.id, next.map((/** @type {any[]} */ flip) => flip[4])).then((/** @type {any[]} */ snippets) => {
      const known = new Map(snippets.map((one) => [one.row, one.question]));
      for (const [i, flip] of next.entries()) rows[i].querySelector(".question").textContent = known.get(flip[4]) ?? "";
    }, () => {});
    shown = Math.min(all.length, shown + STEP);
    more.hidden = shown >= all.length;
  };
  const again = () => { replace(list); shown = 0; grow(); };
  const tell = (/** @type {string} */ name, /** @type {string} */ words) => h("button", { type: "button", class: "chip", "aria-pressed": way === name ? "true" : "false", onclick: (/** @type {any} */ e) => {
    way = name;
    for (const chip of e.currentTarget.parentElement.children) chip.setAttribute("aria-pressed", String(chip === e.currentTarget));
    again();
  } }, words);
  const { all, up, down, shown: listed } = r.flip_counts;
  const cut = all > listed ? h("p", { class: "muted small" }, `First ${count(listed)} shown: the largest changes of both directions.`) : null;
  again();
  return h("section", { "aria-label": `Changed samples of ${c.before.name} and ${c.after.name}: ${r.task} ${r.metric}` }, h("h3", null, "Changed samples ", h("span", { class: "muted" }, `${r.task} · ${r.metric}`)),
    h("div", { class: "chips", role: "group", "aria-label": "Direction" }, tell("all", `All ${count(all)}`), tell("up", `Up ${count(up)}`), tell("down", `Down ${count(down)}`)), cut, list, more);
}

/** @param {any[]} flip @param {any} r @param {any} c @param {import("./source.js").Source} source */
function flipRow([id, before, after, oldRow, newRow], r, c, source) {
  const better = (after > before) === r.higher_is_better;
  const inner = h("div", { class: "pairwise" });
  const open = async () => {
    if (inner.childElementCount) return;
    try {
      const [older, newer] = await Promise.all([source.sample(c.before.id, oldRow), source.sample(c.after.id, newRow)]);
      replace(inner, beside(older, newer, c, source, oldRow, newRow));
    } catch (error) {
      replace(inner, trouble(error));
    }
  };
  return h("details", { class: "flip", ontoggle: (/** @type {any} */ e) => { if (e.target.open) open(); } },
    h("summary", null, h("span", { class: `pip ${better ? "t-good" : "t-bad"}`, "aria-hidden": "true" }), h("span", { class: "mono", title: id }, id), h("span", { class: "question muted", dir: "auto" }), h("span", { class: better ? "t-good" : "t-bad" }, `${num(before).replace(/\.?0+$/, "")} → ${num(after).replace(/\.?0+$/, "")}`)), inner);
}

/** @param {any} older @param {any} newer @param {any} c @param {import("./source.js").Source} source @param {number} oldRow @param {number} newRow */
function beside(older, newer, c, source, oldRow, newRow) {
  const [a, b] = [older, newer].map(answerText);
  const [left, right] = wordDiff(a, b);
  const question = (older.rounds[0]?.prompt ?? []).filter((/** @type {any} */ t) => t.content).map((/** @type {any} */ t) => (typeof t.content === "string" ? t.content : t.content.map((/** @type {any} */ p) => p.text ?? `[${p.type}]`).join(""))).join("\n\n");
  const column = (/** @type {string} */ title, /** @type {any} */ words, /** @type {any} */ sample, /** @type {string} */ run, /** @type {number} */ row) => h("div", { class: "card" }, h("h4", null, title),
    h("div", { class: "text", dir: "auto" }, words), h("p", { class: "pairs" }, sample.verdicts.map((/** @type {any} */ v) => h("span", { class: "pair" }, h("span", { class: "muted small" }, v.scorer), h("b", null, v.outcome === "scored" ? asText(Object.values(v.values)[0] ?? "–") : v.outcome), v.answer ? h("span", { class: "read", dir: "auto" }, String(v.answer).slice(0, 80)) : null))),
    h("details", null, h("summary", null, "The whole sample"), samplePanel(sample, { source, id: run, row })));
  return [
    h("div", { class: "card question-box" }, h("h4", null, "Question"), h("div", { class: "text", dir: "auto" }, question.slice(0, 4000)), older.target !== undefined && older.target !== null ? h("p", null, h("span", { class: "muted small" }, "target "), h("b", { dir: "auto" }, asText(older.target).slice(0, 400))) : null),
    h("div", { class: "grid two" }, column(c.before.name, left, older, c.before.id, oldRow), column(c.after.name, right, newer, c.after.id, newRow)),
  ];
}

/** @param {any} sample */
function answerText(sample) {
  const candidates = sample.rounds[sample.rounds.length - 1]?.output?.candidates ?? [];
  const error = sample.rounds[sample.rounds.length - 1]?.output?.error;
  const isSaid = (/** @type {any} */ part) => part.type !== "reasoning";
  return candidates.map((/** @type {any} */ x) => x.text ?? (x.parts ?? []).filter(isSaid).map((/** @type {any} */ p) => p.text ?? `[${p.type}]`).join("")).join("\n") || (error ? `(no answer: ${error.kind})` : "(nothing)");
}

/**
 * Marks the words that are in only one of two texts, by their longest common subsequence of words.
 * @param {string} a @param {string} b @returns {[(Node | string)[], (Node | string)[]]}
 */
export function wordDiff(a, b) {
  const [x, y] = [a, b].map((t) => t.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? []);
  if (x.length > LONGEST || y.length > LONGEST || x.length * y.length > 4_000_000) return [[a.slice(0, 20000)], [b.slice(0, 20000)]];
  const wide = y.length + 1;
  const best = new Uint16Array((x.length + 1) * wide);
  for (let i = x.length - 1; i >= 0; i--) for (let j = y.length - 1; j >= 0; j--) best[i * wide + j] = x[i] === y[j] ? best[(i + 1) * wide + j + 1] + 1 : Math.max(best[(i + 1) * wide + j], best[i * wide + j + 1]);
  /** @type {(Node | string)[]} */ const left = [];
  /** @type {(Node | string)[]} */ const right = [];
  let i = 0, j = 0;
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) { left.push(x[i++]); right.push(y[j++]); }
    else if (j >= y.length || (i < x.length && best[(i + 1) * wide + j] >= best[i * wide + j + 1])) left.push(h("del", null, x[i++]));
    else right.push(h("ins", null, y[j++]));
  }
  return [left, right];
}
