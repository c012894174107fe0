// @ts-check
/** The leaderboard page: models and their results in all tasks, with intervals, and ranks with ties. */

import { h, interval, num, plural } from "./dom.js";
import { intervalDot } from "./charts.js";

/** @param {import("./source.js").Source} source @returns {Promise<import("./main.js").Page>} */
export async function leaderboardPage(source) {
  const board = await source.leaderboard();
  const notes = board.notes.map((/** @type {string} */ note) => h("div", { class: "notice" }, h("p", null, note)));
  return {
    title: "Leaderboard",
    path: [{ name: "Runs", href: "#/" }, { name: "Leaderboard" }],
    body: h("div", { class: "page" },
      h("div", { class: "head" }, h("h1", null, "Leaderboard"), h("p", { class: "muted" }, `${plural(board.models.length, "model")}, ${plural(board.columns.length, "column")}`)),
      h("p", { class: "muted explain" }, "Models are compared on the samples they share. Models that cannot be distinguished share ranks: “1–2” is first or second. The last run of each model counts."),
      h("div", { class: "card scroll", tabindex: "0", role: "region", "aria-label": "Ranks" }, boardTable(board)), notes),
  };
}

/** @param {any} board */
function boardTable(board) {
  const hasMean = board.columns.length > 1 && board.models.some((/** @type {any} */ m) => m.mean !== null);
  const heads = board.columns.map((/** @type {any} */ c) => h("th", { scope: "col" }, c.protocol, h("div", { class: "mono small" }, `${c.metric} ${c.higher_is_better ? "↑" : "↓"}`)));
  const head = h("tr", null, h("th", { scope: "col", class: "rank" }, "Rank"), h("th", { scope: "col" }, "Model"), hasMean ? h("th", { scope: "col" }, "Mean") : null, heads);
  const rows = board.models.map((/** @type {any} */ model) => modelRow(model, board, hasMean));
  return h("table", { class: "plain board" }, h("thead", null, head), h("tbody", null, rows));
}

/** @param {any} model @param {any} board @param {boolean} hasMean */
function modelRow(model, board, hasMean) {
  const rank = model.rank ?? (board.columns.length === 1 ? model.cells[0]?.rank : null);
  const mean = hasMean ? h("td", null, model.mean === null ? h("span", { class: "muted" }, "n/a") : numberBox({ value: model.mean, ci: model.mean_ci })) : null;
  const cells = model.cells.map((/** @type {any} */ cell, /** @type {number} */ i) => h("td", null, cell ? valueBox(cell, board, i) : h("span", { class: "muted" }, "no run")));
  return h("tr", null, h("td", { class: "rank" }, rankWords(rank)), h("th", { scope: "row", dir: "auto" }, model.name), mean, cells);
}

/** @param {any} cell @param {any} board @param {number} i */
function valueBox(cell, board, i) {
  const domain = board.domains[board.columns[i].metric] ?? [0, 1];
  const several = board.columns.length > 1;
  return [
    numberBox(cell, cell.run ? `#/run/${cell.run}` : undefined),
    intervalDot(cell, domain, 150),
    several && cell.rank ? h("div", { class: "muted small" }, `rank ${rankWords(cell.rank)}`) : null,
  ];
}

/** @param {{value: number, ci: number[] | null}} number @param {string} [href] */
function numberBox({ value, ci }, href) {
  const text = num(value);
  return h("div", { class: "board-number" }, href ? h("a", { href }, text) : h("b", null, text), h("span", { class: "muted small" }, ` ${interval(ci)}`));
}

/** @param {{best: number, worst: number} | null | undefined} rank */
function rankWords(rank) {
  if (!rank) return "–";
  return rank.best === rank.worst ? String(rank.best) : `${rank.best}–${rank.worst}`;
}
