// @ts-check
/** The frame of all pages: the bar at the top, and the page that the address selects. */

import { h, replace, trouble } from "./dom.js";
import { FileSource, chooseSource } from "./source.js";
import { runsPage } from "./runs.js";
import { runPage } from "./run.js";
import { samplesPage } from "./samples.js";
import { comparePage } from "./compare.js";
import { labelPage } from "./label.js";
import { livePage } from "./live.js";
import { leaderboardPage } from "./leaderboard.js";
import { reportPage } from "./report.js";

/**
 * @typedef {object} Page
 * @property {string} title
 * @property {{name: string, href?: string}[]} path what the bar shows, from the list of runs on
 * @property {HTMLElement} body
 * @property {boolean} [wide] whether it takes the whole window
 * @property {(event: KeyboardEvent) => void} [onkey]
 * @property {() => void} [leave]
 * @property {(query: URLSearchParams) => boolean} [turn] takes a new address of the same page, if it can
 */

const source = chooseSource();
const bar = h("header", { class: "bar" });
const main = h("main", { id: "main", tabindex: "-1" });
/** @type {Page | null} */
let page = null;
let shown = "";
let asked = 0;
const LOADING_AFTER = 250;
/** Milliseconds after which a loading message replaces the old page. */

/** Splits an address into page and query. */
function address() {
  const [path, query] = location.hash.replace(/^#/, "").split("?");
  return { parts: path.split("/").filter(Boolean).map(decodeURIComponent), path, query: new URLSearchParams(query ?? "") };
}

/** @param {string[]} parts @param {URLSearchParams} query @returns {Promise<Page>} */
function pageOf(parts, query) {
  const [kind, ...rest] = parts;
  if (kind === "run" && rest.length === 1) return runPage(source, rest[0]);
  if (kind === "run" && rest[1] === "samples") return samplesPage(source, rest[0], query);
  if (kind === "run" && rest[1] === "label") return labelPage(source, rest[0], query);
  if (kind === "run" && rest[1] === "live") return livePage(source, rest[0]);
  if (kind === "compare" && rest.length >= 2) return comparePage(source, rest);
  if (kind === "leaderboard" && !rest.length) return leaderboardPage(source);
  if (kind) return Promise.resolve(missingPage(location.hash));
  if (source instanceof FileSource && source.isReport) return reportPage(source);
  return runsPage(source);
}

/** @param {string} hash @returns {Page} */
function missingPage(hash) {
  const words = h("p", null, "No page has the address ", h("code", null, hash.slice(0, 200)), ".");
  const body = h("div", { class: "page" }, h("h1", null, "There is no such page"), h("div", { class: "notice" }, words, h("p", null, h("a", { href: "#/" }, "Go to the runs"))));
  return { title: "No such page", path: [{ name: "Runs", href: "#/" }], body };
}

/** Shows a loading message if a page takes longer than a moment. @returns {() => void} what ends it */
function showLoading() {
  const timer = setTimeout(() => {
    main.className = "";
    replace(main, h("div", { class: "lonely loading", role: "status" }, h("span", { class: "spinner", "aria-hidden": "true" }), "Loading …"));
    page?.leave?.();
    page = null;
    shown = "";
  }, LOADING_AFTER);
  return () => clearTimeout(timer);
}

async function show() {
  const { parts, path, query } = address();
  if (page && path === shown && page.turn?.(query)) return;
  const turn = ++asked;
  main.setAttribute("aria-busy", "true");
  const stopLoading = showLoading();
  let next;
  try {
    next = await pageOf(parts, query);
  } catch (error) {
    next = { title: "assay", path: [], body: h("div", { class: "page" }, h("h1", null, "This cannot be shown"), trouble(error), h("p", null, h("a", { href: "#/" }, "Go to the runs"))) };
  }
  stopLoading();
  if (turn !== asked) {
    next.leave?.();
    return;
  }
  page?.leave?.();
  page = next;
  shown = path;
  document.title = next.title === "assay" ? next.title : `${next.title} · assay`;
  drawBar(next);
  main.className = next.wide ? "wide" : "";
  main.removeAttribute("aria-busy");
  replace(main, next.body);
  if (!next.wide) scrollTo(0, 0);
}

/** @param {Page} current */
function drawBar(current) {
  const crumbs = current.path.map((step, i) => h("li", null, step.href
    ? h("a", { href: step.href }, step.name) : h("span", { "aria-current": i === current.path.length - 1 ? "page" : null }, step.name)));
  replace(bar,
    h("a", { href: "#main", class: "skip", onclick: (/** @type {Event} */ e) => { e.preventDefault(); main.focus(); } }, "Skip to content"),
    h("a", { href: "#/", class: "brand" }, h("span", { class: "mark", "aria-hidden": "true" }), "assay"),
    h("nav", { "aria-label": "Where you are" }, h("ol", { class: "crumbs" }, crumbs)),
    h("button", { type: "button", class: "quiet theme", onclick: turnTheme, "aria-label": "Light or dark" }, "◐"));
}

function turnTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("assay-theme", root.dataset.theme); } catch { /* a page from a file may have no storage */ }
}

async function start() {
  try {
    const theme = localStorage.getItem("assay-theme");
    if (theme) document.documentElement.dataset.theme = theme;
  } catch { /* no storage */ }
  document.getElementById("root")?.replaceChildren(bar, main);
  drawBar({ title: "", path: [], body: main });
  addEventListener("hashchange", show);
  addEventListener("keydown", (event) => {
    const at = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || at.matches?.("input, select, textarea, [role=slider], audio, video")) return;
    page?.onkey?.(event);
  });
  try {
    await source.open();
  } catch (error) {
    replace(main, h("div", { class: "page" }, trouble(error)));
    return;
  }
  await show();
}

start();
