// @ts-check
/** The one-file report: every run with its charts and selected samples, and the comparisons of runs. */

import { count, h, mediaWords, num, outcomeClass, outcomeWords, plural, replace, scoreTone, trouble } from "./dom.js";
import { comparison } from "./compare.js";
import { distributions, runBody } from "./run.js";
import { samplePanel } from "./sample.js";

/** @param {import("./source.js").FileSource} source @returns {Promise<import("./main.js").Page>} */
export async function reportPage(source) {
  const { runs: ids, media_left_out: missing } = await source.get("report");
  const runs = await Promise.all(ids.map((/** @type {string} */ id) => source.run(id)));
  const pairs = [];
  for (let i = 1; i < ids.length; i++) {
    const found = await source.compare(ids[0], ids[i]).catch(() => null);
    if (found) pairs.push(comparison(found, source));
  }
  const sections = await Promise.all(ids.map((/** @type {string} */ id, /** @type {number} */ i) => oneRun(source, id, runs[i], ids.length > 1)));
  return {
    title: runs.length === 1 ? runs[0].name : "Report",
    path: [{ name: "Report" }],
    body: h("div", { class: "page report" }, runs.length > 1 ? h("div", { class: "head" }, h("h1", null, "Report"), h("p", { class: "muted" }, runs.map((r) => r.name).join(", "))) : null,
      pairs, sections, missing ? h("p", { class: "muted small" }, `${plural(missing, "medium", "media")} left out: the report would be too large.`) : null),
  };
}

/** @param {import("./source.js").FileSource} source @param {string} id @param {any} run @param {boolean} several */
async function oneRun(source, id, run, several) {
  const shapes = h("div");
  const columns = await source.columns(id);
  replace(shapes, ...distributions(columns));
  const saved = [...(await source.only(id) ?? [])];
  const place = new Map(Array.from(columns.row, (/** @type {number} */ row, /** @type {number} */ i) => [row, i]));
  const snippets = new Map((await source.rows(id, saved)).map((/** @type {any} */ one) => [one.row, one]));
  const gallery = saved.map((row) => tile(source, id, row, snippets.get(row) ?? {}, columns, /** @type {number} */ (place.get(row))));
  return h("section", { class: several ? "one-run" : "", "aria-label": run.name }, ...runBody(run, id, shapes, source.damage(id), true),
    gallery.length ? h("h2", null, "Samples", h("span", { class: "muted" }, ` ${count(gallery.length)} of ${count(columns.n)}, failures first`)) : null, h("div", { class: "gallery-list" }, gallery));
}

/** A folded sample with the beginnings of question and answer. The sample is drawn when it is opened. @param {import("./source.js").FileSource} source @param {string} id @param {number} row @param {any} snippet @param {any} columns @param {number} i */
function tile(source, id, row, snippet, columns, i) {
  const cell = columns.cells[columns.cell[i]], outcome = columns.outcomes[columns.outcome[i]], value = columns.metrics[cell.metric]?.[i] ?? null;
  const tone = outcome === "scored" ? scoreTone(value, cell) : outcomeClass(outcome);
  const image = [...(snippet.made ?? []), ...(snippet.media ?? [])].find((m) => m.kind === "image");
  const inner = h("div");
  const open = async () => {
    if (inner.childElementCount) return;
    try { replace(inner, samplePanel(await source.sample(id, row), { source, id, row, cell })); } catch (error) { replace(inner, trouble(error)); }
  };
  return h("details", { class: "card tile", ontoggle: (/** @type {any} */ e) => { if (e.target.open) open(); } },
    h("summary", null, h("span", { class: `pip ${tone}`, "aria-hidden": "true" }), image ? h("img", { class: "tiny", alt: "", src: source.medium(id, row, image, "small") }) : null,
      h("span", { class: "words" }, h("span", { class: "question", dir: "auto" }, mediaWords(snippet.question) || columns.id[i]), h("span", { class: "answer muted", dir: "auto" }, mediaWords(snippet.answer) || snippet.error || "")),
      h("span", { class: "right" }, h("span", { class: "mono small" }, columns.id[i]), h("span", { class: `score small ${tone}` }, outcome === "scored" ? (value === null ? "–" : num(value).replace(/\.?0+$/, "")) : outcomeWords(outcome)))), inner);
}
