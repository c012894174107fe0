// @ts-check
/** The list of runs: every number with its interval, drawn to scale. Two or more ticked runs can be compared. */

import { breakable, count, h, interval, num, outcomeWords, plural, replace, took, when } from "./dom.js";
import { intervalDot, outcomeStrip } from "./charts.js";

const SHOWN_RESULTS = 6;
const EVERY = 5000;
const PREPARED = 4;
/** The journals of the newest runs are read while the user looks at the list, so that their pages open quickly. */

/** @param {import("./source.js").Source} source @returns {Promise<import("./main.js").Page>} */
export async function runsPage(source) {
  let listed = await source.runs();
  const state = { words: "", sort: "new", ticked: /** @type {Set<string>} */ (new Set()) };
  const list = h("div", { class: "runs" });
  const tray = h("div", { class: "tray", role: "status" });
  const draw = () => {
    replace(list, ...cards(listed, state, drawTray));
    drawTray();
  };
  const prepared = new Set();
  const prepare = async (/** @type {string} */ id) => {
    if (prepared.has(id)) return;
    prepared.add(id);
    await source.prepare(id).catch(() => {});
  };
  const drawTray = () => {
    for (const id of state.ticked) prepare(id);
    const ids = listed.runs.map((/** @type {any} */ r) => r.id).filter((/** @type {string} */ id) => state.ticked.has(id));
    const inTime = [...ids].sort((a, b) => started(listed.runs, a) - started(listed.runs, b));
    tray.classList.toggle("open", ids.length > 0);
    replace(tray, h("span", null, ids.length < 2 ? `${plural(ids.length, "run")} ticked: tick another one to compare` : `${ids.length} runs ticked`),
      ids.length > 1 ? h("a", { class: "button", href: `#/compare/${inTime.join("/")}` }, "Compare") : null,
      ids.length ? h("button", { type: "button", class: "quiet", onclick: () => { state.ticked.clear(); draw(); } }, "Clear") : null);
  };
  const filter = h("input", { type: "search", placeholder: "Filter by run, task or model", "aria-label": "Filter runs", oninput: (/** @type {any} */ e) => { state.words = e.target.value.toLowerCase(); draw(); } });
  const sort = h("select", { "aria-label": "Sort runs", onchange: (/** @type {any} */ e) => { state.sort = e.target.value; draw(); } },
    h("option", { value: "new" }, "Newest first"), h("option", { value: "name" }, "By name"), h("option", { value: "task" }, "By task"), h("option", { value: "value" }, "Highest value first"));
  draw();
  const newest = [...listed.runs].sort((a, b) => started(listed.runs, b.id) - started(listed.runs, a.id)).slice(0, PREPARED);
  (async () => { for (const run of newest) await prepare(run.id); })();
  const timer = source.kind === "live" && setInterval(async () => {
    if (document.hidden || !listed.runs.some((/** @type {any} */ r) => r.live)) return;
    try { listed = await source.runs(); draw(); } catch { /* the next click says it */ }
  }, EVERY);
  const nothing = listed.runs.length ? null : h("div", { class: "notice" }, h("p", null, "There are no runs in this folder."), h("p", { class: "fix" }, "`assay run quickstart` makes one."));
  return {
    title: "Runs",
    path: [{ name: listed.folder || "Runs" }],
    leave: () => { if (timer) clearInterval(timer); },
    body: h("div", { class: "page" },
      h("div", { class: "head" }, h("h1", null, "Runs"), h("p", { class: "muted" }, plural(listed.runs.length, "run"), " in ", listed.folder),
        listed.runs.length > 1 ? h("div", { class: "actions" }, h("a", { class: "button second", href: "#/leaderboard" }, "Leaderboard")) : null),
      h("div", { class: "tools" }, filter, sort), nothing, listed.runs.length ? heads() : null, list, tray),
  };
}

/** @param {any[]} runs @param {string} id */
function started(runs, id) {
  return Date.parse((runs.find((r) => r.id === id)?.started ?? "").replace(/([+-]\d\d)(\d\d)$/, "$1:$2")) || 0;
}

/** @param {any} run */
function haystack(run) {
  const cells = [...run.results, ...(run.cells ?? [])].map((r) => `${r.task} ${r.protocol} ${r.model} ${r.metric ?? ""}`);
  return `${run.name} ${run.status} ${cells.join(" ")}`.toLowerCase();
}

/** @param {any} listed @param {{words: string, sort: string, ticked: Set<string>}} state @param {() => void} ticked */
function cards({ runs, domains }, state, ticked) {
  const kept = runs.filter((/** @type {any} */ run) => !state.words || haystack(run).includes(state.words));
  const first = (/** @type {any} */ r) => r.results[0] ?? {};
  kept.sort((/** @type {any} */ a, /** @type {any} */ b) => {
    if (state.sort === "name") return a.name.localeCompare(b.name, "en", { numeric: true });
    if (state.sort === "task") return String(first(a).task).localeCompare(String(first(b).task));
    if (state.sort === "value") return (first(b).value ?? -Infinity) - (first(a).value ?? -Infinity);
    return started(runs, b.id) - started(runs, a.id) || a.name.localeCompare(b.name);
  });
  if (!kept.length && runs.length) return [h("p", { class: "lonely" }, "No run passes this filter.")];
  return kept.map((/** @type {any} */ run) => card(run, state, ticked, domains));
}

/** @param {any} run @param {{ticked: Set<string>}} state @param {() => void} ticked @param {Record<string, [number, number]>} domains */
function card(run, state, ticked, domains) {
  const box = h("input", { type: "checkbox", "aria-label": `Tick ${run.name} to compare it`, checked: state.ticked.has(run.id), onchange: (/** @type {any} */ e) => {
    if (e.target.checked) state.ticked.add(run.id); else state.ticked.delete(run.id);
    ticked();
  } });
  const rows = run.results.slice(0, SHOWN_RESULTS).map((/** @type {any} */ r) => resultLine(r, domains[r.metric] ?? [0, 1], `#/run/${run.id}`));
  const more = run.results.length + (run.more ?? 0) - rows.length;
  return h("section", { class: "card", "aria-label": `Run ${run.name}` },
    h("div", { class: "card-head" }, box, h("a", { class: "run-name", href: `#/run/${run.id}` }, run.name), statusBadge(run.live ? "running" : run.status),
      h("span", { class: "facts muted" }, facts(run)),
      run.live ? h("a", { class: "button small", href: `#/run/${run.id}/live` }, "Watch") : h("a", { class: "quiet-link", href: `#/run/${run.id}/samples` }, "Samples")),
    run.error ? h("p", { class: "bad-text" }, run.error) : null,
    rows.length ? h("div", { class: "results", role: "table", "aria-label": `Numbers of ${run.name}` }, rows) : run.error ? null : h("p", { class: "muted" }, run.live ? "No numbers yet: still running." : "No numbers: the run has not ended."),
    more > 0 ? h("a", { class: "quiet-link", href: `#/run/${run.id}` }, `${count(more)} more numbers`) : null);
}

/** The headings of the columns; screen readers get them with each line. */
export function heads() {
  return h("div", { class: "result heads", "aria-hidden": "true" }, ["Task", "Model", "Metric", "Value", "95 % interval", "n", "Outcomes"].map((name, i) => h("div", { class: i === 5 ? "r-n" : "" }, name)));
}

/** @param {any} run */
function facts(run) {
  const { cost, input_tokens: tin, output_tokens: tout } = run.usage ?? {};
  const parts = [when(run.started), took(run)];
  if (tin || tout) parts.push(`${count((tin ?? 0) + (tout ?? 0))} tokens`);
  if (cost !== undefined) parts.push(`cost ${cost.toFixed(2)}`);
  return parts.filter(Boolean).join(" · ");
}

/** @param {string} status */
export function statusBadge(status) {
  const cls = { complete: "good", running: "live", partial: "warn", interrupted: "warn" }[status] ?? "bad";
  return h("span", { class: `badge ${cls}` }, status);
}

/**
 * One result per line: task, metric and model, value with interval, number of samples, and outcomes.
 * @param {any} r @param {[number, number]} domain @param {string} [href]
 */
export function resultLine(r, domain, href) {
  const cell = (/** @type {string} */ cls, /** @type {any[]} */ ...inner) => h("div", { class: cls, role: "cell" }, ...inner);
  const bad = Object.entries(r.outcomes ?? {}).filter(([name, n]) => name !== "scored" && n);
  return h("div", { class: "result", role: "row" },
    cell("r-task", href ? h("a", { href }, breakable(r.task)) : breakable(r.task), r.protocol && r.protocol !== r.task ? h("span", { class: "muted small" }, breakable(r.protocol)) : null),
    cell("r-model", breakable(r.model)),
    cell("r-metric", h("span", { class: "mono" }, breakable(r.metric)), h("span", { class: "muted", title: r.higher_is_better ? "higher is better" : "lower is better" }, r.higher_is_better ? " ↑" : " ↓")),
    cell("r-value", h("b", null, num(r.value)), h("span", { class: "muted small" }, r.ci ? interval(r.ci) : String(r.interval ?? "").replace(/^none: ?/, "no interval: ").replace(/: $/, ""))),
    cell("r-chart", intervalDot(r, domain)),
    cell("r-n", `${count(r.n)}`, h("span", { class: "muted" }, r.n_expected === null || r.n_expected === r.n ? "" : ` / ${count(r.n_expected)}`)),
    cell("r-strip", outcomeStrip(r.outcomes), bad.length ? h("span", { class: "small warn-text" }, bad.map(([name, n]) => `${count(/** @type {number} */ (n))} ${outcomeWords(name)}`).join(", ")) : null));
}
