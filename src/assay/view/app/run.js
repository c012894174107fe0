// @ts-check
/** The page of a run: its numbers with their groups, charts of its samples, and its settings. */

import { append, asText, copyButton, count, h, interval, num, outcomeClass, outcomeWords, plural, replace, took, trouble, when } from "./dom.js";
import { bars, calibration, domainOf, figure, hasShape, histogram, intervalDot } from "./charts.js";
import { heads, resultLine, statusBadge } from "./runs.js";

/** @param {import("./source.js").Source} source @param {string} id @returns {Promise<import("./main.js").Page>} */
export async function runPage(source, id) {
  const run = await source.run(id);
  const shapes = h("div");
  if (!run.error) {
    source.columns(id).then((/** @type {any} */ columns) => replace(shapes, ...distributions(columns)), (/** @type {any} */ error) => replace(shapes, trouble(error)));
  }
  return { title: run.name, path: [{ name: "Runs", href: "#/" }, { name: run.name }], body: h("div", { class: "page" }, ...runBody(run, id, shapes, source.damage(id))) };
}

/** @param {any} run @param {string} id @param {HTMLElement} shapes @param {Promise<string[]>} broken what is not as the run left it @param {boolean} [saved] whether it stands in a report */
export function runBody(run, id, shapes, broken, saved = false) {
  const results = run.results ?? [];
  const damage = h("div", null, run.error ? damageBox(run.error) : null);
  broken.then((lines) => append(damage, lines.map(damageBox)), () => {});
  return [
    h("div", { class: "head" }, h("h1", null, run.name), statusBadge(run.live ? "running" : run.status),
      h("p", { class: "muted" }, [when(run.started), took(run), run.platform].filter(Boolean).join(" · ")),
      saved ? null : h("div", { class: "actions" }, h("a", { class: "button", href: `#/run/${id}/samples` }, "Read the samples"), h("a", { class: "button second", href: `#/run/${id}/label` }, "Label"), run.live ? h("a", { class: "button second", href: `#/run/${id}/live` }, "Watch") : null)),
    damage,
    ...(Array.isArray(run.notes) ? run.notes : []).map((/** @type {string} */ note) => h("div", { class: "notice" }, h("p", null, note))),
    results.length ? h("section", null, h("h2", null, "Numbers"), h("div", { class: "card" }, heads(), h("div", { class: "results large", role: "table", "aria-label": `Numbers of ${run.name}` },
      results.map((/** @type {any} */ r) => resultLine(r, run.domains?.[r.metric] ?? domainOf([r]), saved ? undefined : `#/run/${id}/samples?task=${encodeURIComponent(r.task)}`))),
    ...flags(results))) : null,
    ...groupSections(results, run),
    shapes,
    ...methods(run),
  ];
}

/** @param {string} line */
function damageBox(line) { return h("div", { class: "notice bad", role: "alert" }, h("p", null, `Damaged: ${line}`)); }

/** Returns the task and model of a result; the model only if the run has several. @param {any} r @param {any[]} results */
function subject(r, results) {
  const models = new Set(results.map((other) => other.model));
  return models.size > 1 ? `${r.task} · ${r.model}` : r.task;
}

/** @param {any[]} results */
function flags(results) {
  return results.filter((r) => r.flags?.length || r.bounds).map((r) => h("p", { class: "small warn-text" }, `${subject(r, results)} ${r.metric}: `,
    [...(r.flags ?? []), r.bounds ? `between ${num(r.bounds[0])} and ${num(r.bounds[1])} if samples without a verdict were all wrong or all right` : ""].filter(Boolean).join("; ")));
}

/** @param {any[]} results @param {any} run */
function groupSections(results, run) {
  const found = results.flatMap((r) => Object.entries(r.groups ?? {}).map(([tag, rows]) => ({ r, tag, rows: /** @type {any[]} */ (rows) }))).filter((g) => g.rows.length > 1);
  if (!found.length) return [];
  return [h("section", null, h("h2", null, "Groups"), h("div", { class: "grid two" }, found.map(({ r, tag, rows }) => {
    const domain = run.domains?.[r.metric] ?? domainOf(rows);
    const title = `${subject(r, results)} · ${r.metric} by ${tag}`;
    const body = rows.map((g) => h("tr", null, h("th", { scope: "row" }, g.name || "(empty)"), h("td", { class: "number" }, num(g.value)), h("td", null, intervalDot(g, domain, 160)), h("td", { class: "muted small" }, interval(g.ci)), h("td", { class: "number muted" }, count(g.n))));
    return h("div", { class: "card scroll", tabindex: "0", role: "region", "aria-label": `${run.name}: ${title}` }, h("table", { class: "groups" }, h("caption", null, title), h("thead", null, h("tr", null, ["Group", "Value", "", "95 % interval", "n"].map((c) => h(c ? "th" : "td", c ? { scope: "col", class: c === "Value" || c === "n" ? "number" : "" } : null, c)))), h("tbody", null, body)));
  })))];
}

/** Shows charts about the samples of one task and model; a click selects another. @param {any} columns */
export function distributions(columns) {
  const codes = columns.cells.map((/** @type {any} */ _, /** @type {number} */ code) => code).filter((/** @type {number} */ code) => columns.cell.includes(code));
  if (!codes.length) return [];
  const shown = h("div", { class: "grid figures" });
  const models = new Set(columns.cells.map((/** @type {any} */ c) => c.model)).size > 1;
  const picks = codes.length < 2 ? null : h("div", { class: "chips picks", role: "group", "aria-label": "Task" }, codes.map((/** @type {number} */ code) => h("button", { type: "button", class: "chip", "aria-pressed": String(code === codes[0]), onclick: (/** @type {any} */ e) => {
    for (const chip of e.currentTarget.parentElement.children) chip.setAttribute("aria-pressed", String(chip === e.currentTarget));
    replace(shown, ...cellFigures(columns, code));
  } }, columns.cells[code].task, models ? ` · ${columns.cells[code].model}` : "")));
  replace(shown, ...cellFigures(columns, codes[0]));
  const left = columns.left_out ? h("p", { class: "muted small" }, `The journal also contains ${plural(columns.left_out, "sample")} from other settings; this table leaves ${columns.left_out === 1 ? "it" : "them"} out.`) : null;
  return [h("h2", null, "Overview"), picks, shown, left];
}

/** Draws the charts of one task and model. A value that all samples share becomes a sentence. @param {any} columns @param {number} code */
function cellFigures(columns, code) {
  const cell = columns.cells[code], own = positions(columns, code);
  const pick = (/** @type {any[] | null} */ column) => (column ? own.map((i) => column[i]) : []);
  const metric = cell.metric && columns.metrics[cell.metric];
  const scores = pick(metric), lengths = pick(columns.chars);
  const tally = columns.outcomes.map((/** @type {string} */ o, /** @type {number} */ k) => ({ name: outcomeWords(o), n: own.filter((i) => columns.outcome[i] === k).length, cls: outcomeClass(o) })).filter((/** @type {any} */ t) => t.n);
  const figures = [
    metric && hasShape(scores) ? figure(cell.metric, histogram(scores, { label: `${cell.metric} of each sample`, axis: `${cell.metric} of each sample` })) : null,
    tally.length > 1 ? figure("Outcomes", bars(tally, { label: "Outcomes", axis: "samples by outcome" })) : null,
    hasShape(lengths) ? figure("Length of answers", histogram(lengths, { label: "Characters of the answer", log: true, axis: "characters of the answer" })) : null,
    timeFigure(pick(columns.seconds)),
    columns.confidence && metric ? figure("Calibration", calibration(pick(columns.confidence), scores), "how sure the model was, against how often it was right") : null,
  ].filter(Boolean);
  const facts = [
    metric && !hasShape(scores) && scores.some((v) => v !== null) ? `Every sample has ${cell.metric} ${num(scores.find((v) => v !== null))}.` : "",
    tally.length === 1 ? `All ${plural(own.length, "sample")}: ${tally[0].name}.` : "",
  ].filter(Boolean).join(" ");
  const sentence = facts ? h("p", { class: "muted small whole-row" }, facts) : null;
  return [...figures, sentence];
}

const SHORTEST_TIME = 0.001;
/** If the longest answer took fewer seconds, the times are too short to be meaningful. */

/** @param {(number | null)[]} seconds */
function timeFigure(seconds) {
  const longest = seconds.reduce((/** @type {number} */ most, v) => Math.max(most, v ?? 0), 0);
  if (!hasShape(seconds) || longest < SHORTEST_TIME) return null;
  const isShort = seconds.every((v) => v === null || v < 1);
  const values = isShort ? seconds.map((v) => (v === null ? null : v * 1000)) : seconds;
  const axis = isShort ? "milliseconds to answer" : "seconds to answer";
  return figure("Time of an answer", histogram(values, { label: axis, log: true, axis }));
}

/** Returns the positions of a task's and model's samples in the columns. @param {any} columns @param {number} code @returns {number[]} */
export function positions(columns, code) {
  const found = [];
  for (let i = 0; i < columns.n; i++) if (columns.cell[i] === code) found.push(i);
  return found;
}

/** @param {any} run */
function methods(run) {
  if (!run.methods) return [];
  const config = Object.entries(run.config ?? {}).map(([name, value]) => h("tr", null, h("th", { scope: "row" }, name), h("td", { class: "mono" }, asText(value))));
  const versions = Object.entries(run.versions ?? {}).map(([name, value]) => `${name} ${value}`).join(", ");
  return [
    h("section", null, h("h2", null, "Methods"), h("div", { class: "card prose" }, run.methods.map((/** @type {string} */ text) => h("p", null, text)), copyButton(run.methods.join("\n\n")))),
    h("section", null, h("h2", null, "Repeat it"), h("div", { class: "card command" }, h("code", { tabindex: "0" }, run.again), copyButton(run.again)),
      h("details", { class: "card" }, h("summary", null, "Settings and versions"), h("table", { class: "plain" }, h("tbody", null, config)), h("p", { class: "muted small" }, versions, run.git ? ` · commit ${run.git.commit?.slice(0, 12)}${run.git.dirty ? " with changes" : ""}` : ""))),
  ];
}
