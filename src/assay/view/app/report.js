// @ts-check
/** The one-file report: every run with its drawings and a choice of its samples, and how the runs compare. */

import { h, plural, replace, trouble } from "./dom.js";
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
  const shapes = h("section", { "aria-label": "Distributions" });
  const columns = await source.columns(id);
  replace(shapes, ...distributions(columns));
  const saved = [...(await source.only(id) ?? [])];
  const place = new Map(columns.row.map((/** @type {number} */ row, /** @type {number} */ i) => [row, i]));
  const gallery = await Promise.all(saved.map(async (row) => {
    try {
      const sample = await source.sample(id, row);
      const cell = columns.cells[columns.cell[/** @type {number} */ (place.get(row))]];
      return h("div", { class: "card" }, samplePanel(sample, { source, id, row, cell }));
    } catch (error) {
      return trouble(error);
    }
  }));
  return h("section", { class: several ? "one-run" : "", "aria-label": run.name }, ...runBody(run, id, shapes, true),
    gallery.length ? h("h2", null, "Samples", h("span", { class: "muted" }, ` ${gallery.length} of ${columns.n}`)) : null, h("div", { class: "gallery-list" }, gallery));
}
