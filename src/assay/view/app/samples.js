// @ts-check
/** The samples of a run: a list of any length, filters, arrow keys, and the open sample next to the list. */

import { count, h, mediaWords, num, outcomeClass, outcomeWords, replace, scoreTone, trouble } from "./dom.js";
import { samplePanel } from "./sample.js";

const ROW = 62;
const TALLEST = 8_000_000;
/** The maximum height of the list in pixels; browsers draw nothing beyond some tens of millions. */
const MOST_VALUES = 60;
const PAUSE = 180;

/**
 * @typedef {object} Filter
 * @property {string} task @property {string} model @property {string} outcome @property {string} score
 * @property {string} words @property {string} where an expression, as of `assay show --where` @property {string} sort @property {Record<string, string>} tags @property {string} id @property {number} epoch
 * @property {string} of @property {string} by task and model of the sample that is open, where the run has several
 */

/** @param {URLSearchParams} query @returns {Filter} */
function filterOf(query) {
  /** @type {Record<string, string>} */
  const tags = {};
  for (const [name, value] of query) if (name.startsWith("tag.")) tags[name.slice(4)] = value;
  const get = (/** @type {string} */ name) => query.get(name) ?? "";
  return { task: get("task"), model: get("model"), outcome: get("outcome"), score: get("score"), words: get("q"), where: get("where"), sort: get("sort"), tags, id: get("id"), epoch: Number(get("epoch")) || 0, of: get("of"), by: get("by") };
}

/** @param {Filter} f */
function queryOf(f) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ task: f.task, model: f.model, outcome: f.outcome, score: f.score, q: f.words, where: f.where, sort: f.sort, id: f.id, epoch: f.epoch || "", of: f.id && f.of, by: f.id && f.by })) if (value) query.set(name, String(value));
  for (const [name, value] of Object.entries(f.tags)) if (value) query.set(`tag.${name}`, value);
  return query;
}

/**
 * Returns the positions of the samples that pass a filter, sorted. One pass over columns of numbers takes a few milliseconds for 100,000 samples.
 * @param {any} columns @param {Filter} f @param {Set<number> | null} hits rows that hold the words
 * @returns {Int32Array}
 */
export function filtered(columns, f, hits) {
  const kept = new Int32Array(columns.n);
  let n = 0;
  const outcomes = f.outcome ? new Set(f.outcome.split(",").map((name) => columns.outcomes.indexOf(name === "none" ? "" : name))) : null;
  const cells = new Set(columns.cells.map((/** @type {any} */ c, /** @type {number} */ i) => i).filter((/** @type {number} */ i) => (!f.task || columns.cells[i].task === f.task) && (!f.model || columns.cells[i].model === f.model)));
  const [low, high] = scoreRange(f.score);
  const best = f.score === "right" ? true : f.score === "wrong" ? false : null;
  const values = columns.cells.map((/** @type {any} */ c) => columns.metrics[c.metric] ?? null);
  const tags = Object.entries(f.tags).filter(([name]) => columns.tags[name]).map(([name, value]) => [columns.tags[name].codes, columns.tags[name].values.indexOf(value)]);
  for (let i = 0; i < columns.n; i++) {
    const cell = columns.cell[i];
    if (!cells.has(cell) || (outcomes && !outcomes.has(columns.outcome[i]))) continue;
    if (f.score) {
      const v = values[cell]?.[i];
      if (v === null || v === undefined || (best === null ? v < low || v > high : (scoreTone(v, columns.cells[cell]) === "t-good") !== best)) continue;
    }
    if (tags.some(([codes, code]) => codes[i] !== code)) continue;
    if (hits && !hits.has(columns.row[i])) continue;
    kept[n++] = i;
  }
  const found = kept.subarray(0, n);
  const sorting = sorter(columns, f.sort, values);
  return sorting ? found.slice().sort(sorting) : found;
}

/** @param {Set<number>} first @param {Set<number>} second */
function intersection(first, second) {
  return new Set([...first].filter((row) => second.has(row)));
}

/** Parses a range such as `0.2..0.8`; one end may be missing. @param {string} text @returns {[number, number]} */
function scoreRange(text) {
  const [low, high] = text.split("..");
  return [low ? Number(low) : -Infinity, high ? Number(high) : Infinity];
}

/** @param {any} columns @param {string} sort @param {any[]} values @returns {((a: number, b: number) => number) | null} */
function sorter(columns, sort, values) {
  const by = (/** @type {(i: number) => number | null | undefined} */ key, /** @type {number} */ way) => (/** @type {number} */ a, /** @type {number} */ b) => {
    const x = key(a), y = key(b);
    if (x === y) return a - b;
    if (x === null || x === undefined) return 1;
    if (y === null || y === undefined) return -1;
    return way * (x - y);
  };
  const column = (/** @type {string} */ name) => (/** @type {number} */ i) => columns[name]?.[i];
  const score = (/** @type {number} */ i) => values[columns.cell[i]]?.[i];
  if (sort === "low") return by(score, 1);
  if (sort === "high") return by(score, -1);
  if (sort === "slow") return by(column("seconds"), -1);
  if (sort === "long") return by(column("chars"), -1);
  if (sort === "id") return (a, b) => columns.id[a].localeCompare(columns.id[b], "en", { numeric: true });
  return null;
}

/** @param {import("./source.js").Source} source @param {string} id @param {URLSearchParams} query @returns {Promise<import("./main.js").Page>} */
export async function samplesPage(source, id, query) {
  const [columns, listed] = await Promise.all([source.columns(id), source.brief(id)]);
  const view = new SampleList(source, id, columns, filterOf(query), await source.only(id));
  await view.start();
  return {
    title: `Samples of ${listed.name}`,
    path: [{ name: "Runs", href: "#/" }, { name: listed.name, href: `#/run/${id}` }, { name: "Samples" }],
    wide: true,
    body: view.body,
    onkey: (event) => view.key(event),
    leave: () => view.leave(),
    turn: (next) => { view.turn(filterOf(next)); return true; },
  };
}

/** Returns filters for the lower and the upper half of the scale; the scale is 0 to 1 if tasks differ or have no ends. @param {any[]} cells @returns {[string, string][]} */
function halves(cells) {
  const scales = cells.map((cell) => cell.scale ?? [0, 1]);
  const [low, high] = scales[0];
  const isShared = scales.every((scale) => scale[0] === low && scale[1] === high) && Number.isFinite(low) && Number.isFinite(high);
  const middle = isShared ? (low + high) / 2 : 0.5;
  return [[`..${middle}`, `Up to ${middle}`], [`${middle}..`, `${middle} and up`]];
}

class SampleList {
  /** @param {import("./source.js").Source} source @param {string} id @param {any} columns @param {Filter} filter @param {Set<number> | null} only */
  constructor(source, id, columns, filter, only) {
    this.only = only;
    this.source = source;
    this.id = id;
    this.columns = columns;
    this.filter = filter;
    /** @type {Int32Array} */
    this.kept = new Int32Array(0);
    /** @type {Set<number> | null} */
    this.hits = null;
    this.searched = "";
    /** The rows that the expression selects. @type {Set<number> | null} */
    this.chosen = null;
    this.expression = "";
    this.at = -1;
    /** @type {Map<number, any>} */
    this.snippets = new Map();
    this.space = h("div", { class: "space", role: "presentation" });
    this.rows = h("div", { class: "rows", role: "presentation" });
    this.list = h("div", { class: "list", role: "listbox", tabindex: "0", "aria-label": "Samples", onscroll: () => this.draw() }, this.space, this.rows);
    this.status = h("p", { class: "muted small", role: "status" });
    let timer = 0;
    this.search = /** @type {HTMLInputElement} */ (h("input", { type: "search", placeholder: "Search in questions and answers", "aria-label": "Search in the text of samples", value: filter.words, oninput: (/** @type {any} */ e) => {
      clearTimeout(timer);
      timer = setTimeout(() => this.go({ words: e.target.value, id: "" }, true), PAUSE);
    } }));
    this.where = /** @type {HTMLInputElement} */ (h("input", { type: "search", class: "mono where", placeholder: "Expression: score < 0.5 and outcome == scored", "aria-label": "Filter by an expression", "aria-describedby": "where-fault", value: filter.where, spellcheck: "false", onchange: () => this.go({ where: this.where.value.trim(), id: "" }, true) }));
    this.fault = h("p", { class: "small bad-text", id: "where-fault", role: "status" });
    this.choices = h("div", { class: "choosing" });
    const where = source.kind === "live" ? [this.where, this.fault] : [];
    this.tools = h("div", { class: "filters" }, this.search, where, this.choices);
    this.panel = h("article", { class: "panel", "aria-label": "Sample", tabindex: "-1" });
    this.body = h("div", { class: "split" }, h("div", { class: "side" }, this.tools, this.status, this.list), this.panel);
    this.resized = () => this.draw();
    addEventListener("resize", this.resized);
    this.pending = 0;
    this.opened = -1;
    this.turns = 0;
  }

  async start() {
    this.drawTools();
    await this.apply();
    // The number of visible rows is only known after the list is on the page.
    requestAnimationFrame(() => { if (this.at >= 0) this.reveal(); this.draw(); });
  }

  leave() { removeEventListener("resize", this.resized); }

  /** @param {Filter} next */
  turn(next) {
    const open = { id: "", epoch: 0, of: "", by: "" };
    const same = JSON.stringify({ ...next, ...open }) === JSON.stringify({ ...this.filter, ...open });
    this.filter = next;
    if (same) this.find();
    else { this.drawTools(); this.apply(); }
  }

  /** Writes the filter into the address, so that a link shows the same list. @param {Partial<Filter>} change @param {boolean} [step] */
  go(change, step = false) {
    const query = queryOf({ ...this.filter, ...change }).toString();
    const hash = `#/run/${this.id}/samples${query ? "?" + query : ""}`;
    if (step) history.replaceState(null, "", hash); else history.pushState(null, "", hash);
    this.turn({ ...this.filter, ...change });
  }

  async apply() {
    const words = this.filter.words.trim(), where = this.filter.where;
    await Promise.all([this.applyWords(words), this.applyExpression(where)]);
    if (words !== this.filter.words.trim() || where !== this.filter.where) return;
    this.kept = filtered(this.columns, this.filter, this.common());
    const height = Math.min(this.kept.length * ROW, TALLEST);
    this.space.style.height = `${height}px`;
    this.list.scrollTop = 0;
    this.draw();
    this.find();
  }

  /** Finds the rows that contain the words. @param {string} words */
  async applyWords(words) {
    if (!words) {
      this.hits = null;
      this.searched = "";
    }
    if (words === this.searched) return;
    this.status.textContent = "Searching …";
    try {
      this.hits = new Set((await this.source.search(this.id, words)).rows);
      this.searched = words;
    } catch (error) {
      replace(this.panel, trouble(error));
    }
  }

  /** Finds the rows that the expression selects. An error in it is shown below its box, and nothing is filtered. @param {string} where */
  async applyExpression(where) {
    if (where === this.expression) return;
    this.expression = where;
    this.chosen = null;
    replace(this.fault);
    if (!where) return;
    try {
      this.chosen = new Set((await this.source.where(this.id, where)).rows);
    } catch (error) {
      const { message, fix } = /** @type {any} */ (error);
      replace(this.fault, `${String(message).replace(/^--where:? ?/, "")}${fix ? `; ${fix.replace("--where ", "")}` : ""}`);
    }
  }

  /** Returns the rows that match the words and the expression and were saved; null if all rows do. @returns {Set<number> | null} */
  common() {
    /** @type {Set<number> | null} */
    let common = null;
    for (const rows of [this.hits, this.chosen, this.only]) {
      if (!rows) continue;
      common = common ? intersection(common, rows) : rows;
    }
    return common;
  }

  note() {
    const total = this.columns.n, kept = this.kept.length;
    const of = kept === total ? "" : ` of ${count(total)}`;
    this.status.textContent = `${this.at >= 0 ? `${count(this.at + 1)} / ` : ""}${count(kept)}${of} ${total === 1 ? "sample" : "samples"}`;
  }

  /** Shows a message if no sample passes the filters. */
  showNone() {
    this.opened = -1;
    this.turns++;
    this.panel.removeAttribute("aria-busy");
    const clear = h("button", { type: "button", class: "button second", onclick: () => this.clear() }, "Clear the filters");
    replace(this.panel, h("div", { class: "lonely" }, h("h1", null, "No sample passes these filters."), this.columns.n ? clear : null));
  }

  clear() {
    this.search.value = this.where.value = "";
    this.go({ task: "", model: "", outcome: "", score: "", words: "", where: "", tags: {}, id: "" });
  }

  /** Opens the sample in the address. */
  find() {
    const { id, epoch, of, by } = this.filter;
    if (!id) {
      // On a wide screen the first sample is opened next to the list; on a phone it would hide the list.
      const opensFirst = this.kept.length > 0 && matchMedia("(min-width: 761px)").matches;
      this.at = opensFirst ? 0 : -1;
      if (opensFirst) this.open(this.kept[0]);
      else if (!this.kept.length) this.showNone();
      this.draw();
      this.note();
      return;
    }
    const c = this.columns;
    const fits = (/** @type {number} */ i) => c.id[i] === id && (c.epoch?.[i] ?? 0) === epoch && (!of || c.cells[c.cell[i]].task === of) && (!by || c.cells[c.cell[i]].model === by);
    this.at = this.kept.findIndex(fits);
    const position = this.at >= 0 ? this.kept[this.at] : c.id.findIndex((/** @type {string} */ _, /** @type {number} */ i) => fits(i));
    if (position < 0) replace(this.panel, trouble({ message: `This run has no sample ${id}.`, fix: "It may belong to another run, or have been left out of the last table." }));
    else this.open(position);
    if (this.at >= 0) this.reveal();
    this.draw();
    this.note();
  }

  /** @param {number} position */
  async open(position) {
    const row = this.columns.row[position];
    if (this.opened === row) return;
    this.opened = row;
    const turn = ++this.turns;
    this.panel.setAttribute("aria-busy", "true");
    let inner;
    try {
      const sample = await this.source.sample(this.id, row);
      inner = samplePanel(sample, { source: this.source, id: this.id, row, cell: this.columns.cells[this.columns.cell[position]], value: this.value(position) });
      inner.prepend(...this.siblings(position));
    } catch (error) {
      inner = trouble(error);
    }
    if (turn !== this.turns) return;
    this.panel.removeAttribute("aria-busy");
    const back = h("button", { class: "quiet back", type: "button", onclick: () => { this.opened = -1; this.body.classList.remove("reading"); this.go({ id: "", epoch: 0 }); } }, "← All samples");
    replace(this.panel, back, inner);
    this.panel.scrollTop = 0;
    this.body.classList.add("reading");
  }

  /** Shows the other answers to the same sample, if it was asked several times. @param {number} position */
  siblings(position) {
    const c = this.columns;
    if (!c.epoch) return [];
    /** @type {number[]} */
    const same = [];
    for (let i = Math.max(0, position - 200); i < Math.min(c.n, position + 200); i++) if (c.id[i] === c.id[position] && c.cell[i] === c.cell[position]) same.push(i);
    if (same.length < 2) return [];
    const chips = same.map((i) => {
      const outcome = c.outcomes[c.outcome[i]], tone = outcome === "scored" ? scoreTone(this.value(i), c.cells[c.cell[i]]) : outcomeClass(outcome);
      return h("button", { type: "button", class: "chip", "aria-pressed": String(i === position), onclick: () => this.go({ id: c.id[i], epoch: c.epoch[i] }) }, h("span", { class: `pip ${tone}`, "aria-hidden": "true" }), `answer ${c.epoch[i] + 1}`);
    });
    this.source.rows(this.id, same.map((i) => c.row[i])).then((/** @type {any[]} */ snippets) => {
      const made = new Map(snippets.map((one) => [one.row, (one.made ?? []).find((/** @type {any} */ m) => m.kind === "image")]));
      for (const [k, i] of same.entries()) {
        const image = made.get(c.row[i]);
        if (image) chips[k].prepend(h("img", { class: "tiny", alt: "", src: this.source.medium(this.id, c.row[i], { type: "image", ...image }, "small") }));
      }
    }, () => {});
    return [h("div", { class: "chips siblings", role: "group", "aria-label": "Answers to this sample" }, chips)];
  }

  /** @param {number} position @returns {number | null} */
  value(position) {
    const metric = this.columns.cells[this.columns.cell[position]].metric;
    return this.columns.metrics[metric]?.[position] ?? null;
  }

  /** Selects the sample at a position in the list. @param {number} at @param {boolean} [step] */
  choose(at, step = false) {
    if (!this.kept.length) return;
    const place = Math.max(0, Math.min(this.kept.length - 1, at));
    const i = this.kept[place], c = this.columns, cell = c.cells[c.cell[i]];
    const several = c.cells.length > 1;
    this.go({ id: c.id[i], epoch: c.epoch?.[i] ?? 0, of: several ? cell.task : "", by: several ? cell.model : "" }, step);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const page = Math.max(1, Math.floor(this.list.clientHeight / ROW) - 1);
    const steps = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowRight: 1, j: 1, ArrowUp: -1, ArrowLeft: -1, k: -1, PageDown: page, PageUp: -page });
    if (event.target instanceof Element && event.target.closest(".panel") && event.key.startsWith("Page")) return;
    if (event.key in steps) this.choose(this.at + steps[event.key], true);
    else if (event.key === "Home") this.choose(0, true);
    else if (event.key === "End") this.choose(this.kept.length - 1, true);
    else if (event.key === "/") this.search.focus();
    else return;
    event.preventDefault();
  }

  /** Returns how many rows are above the visible part, and by how many pixels the rows are shifted. */
  first() {
    const natural = this.kept.length * ROW, room = this.list.clientHeight || 600;
    if (natural <= TALLEST) return { from: Math.floor(this.list.scrollTop / ROW), shift: 0 };
    const share = this.list.scrollTop / Math.max(1, TALLEST - room);
    const from = Math.floor(share * (this.kept.length - room / ROW));
    return { from, shift: this.list.scrollTop - from * ROW };
  }

  reveal() {
    const room = this.list.clientHeight || 600, natural = this.kept.length * ROW;
    if (natural > TALLEST) {
      const { from } = this.first();
      if (this.at < from + 1 || this.at > from + room / ROW - 2) this.list.scrollTop = (this.at / Math.max(1, this.kept.length - room / ROW)) * (TALLEST - room);
    } else if (this.at * ROW < this.list.scrollTop) this.list.scrollTop = this.at * ROW;
    else if ((this.at + 1) * ROW > this.list.scrollTop + room) this.list.scrollTop = (this.at + 1) * ROW - room;
  }

  draw() {
    const room = this.list.clientHeight || 600;
    const { from, shift } = this.first();
    const start = Math.max(0, from - 4), end = Math.min(this.kept.length, from + Math.ceil(room / ROW) + 5);
    const missing = [];
    const rows = [];
    for (let place = start; place < end; place++) {
      const i = this.kept[place];
      if (!this.snippets.has(this.columns.row[i])) missing.push(this.columns.row[i]);
      rows.push(this.row(place, i, shift));
    }
    replace(this.rows, ...rows);
    if (this.at >= start && this.at < end) this.list.setAttribute("aria-activedescendant", `sample-${this.at}`);
    else this.list.removeAttribute("aria-activedescendant");
    if (missing.length) this.fetchSnippets(missing);
  }

  /** @param {number[]} rows */
  fetchSnippets(rows) {
    clearTimeout(this.pending);
    this.pending = setTimeout(async () => {
      try {
        for (const one of await this.source.rows(this.id, rows)) this.snippets.set(one.row, one);
      } catch { return; }
      for (const row of rows) if (!this.snippets.has(row)) this.snippets.set(row, {});
      while (this.snippets.size > 4000) this.snippets.delete(/** @type {number} */ (this.snippets.keys().next().value));
      this.draw();
    }, this.snippets.size ? 40 : 0);
  }

  /** @param {number} place @param {number} i @param {number} shift */
  row(place, i, shift) {
    const c = this.columns, outcome = c.outcomes[c.outcome[i]], value = this.value(i), row = c.row[i];
    const snippet = this.snippets.get(row) ?? {};
    const media = [...(snippet.made ?? []), ...(snippet.media ?? [])];
    const image = media.find((m) => m.kind === "image");
    const score = outcome === "scored" ? (value === null ? "–" : num(value).replace(/\.?0+$/, "")) : outcomeWords(outcome);
    const tone = outcome !== "scored" ? outcomeClass(outcome) : scoreTone(value, c.cells[c.cell[i]]);
    return h("div", {
      class: "row", role: "option", id: `sample-${place}`, "aria-selected": place === this.at ? "true" : "false",
      "aria-posinset": place + 1, "aria-setsize": this.kept.length, style: { top: `${place * ROW + shift}px` }, onclick: () => this.choose(place),
    },
    h("span", { class: `pip ${tone}`, "aria-hidden": "true" }),
    image ? h("img", { class: "tiny", alt: "", loading: "lazy", src: this.source.medium(this.id, row, { type: "image", ...image }, "small"), onerror: (/** @type {any} */ e) => e.target.remove() }) : media.length ? h("span", { class: "kind" }, media[0].kind) : null,
    h("span", { class: "words" }, h("span", { class: "question", dir: "auto" }, (image ? mediaWords(snippet.question).replaceAll("(image) ", "") : mediaWords(snippet.question)) || snippet.error || " "), h("span", { class: "answer muted", dir: "auto" }, mediaWords(snippet.answer) || snippet.error || "")),
    h("span", { class: "right" }, h("span", { class: "mono small" }, c.id[i].slice(0, 24), c.epoch ? ` #${c.epoch[i] + 1}` : ""), h("span", { class: `score small ${tone}` }, score)));
  }

  drawTools() {
    const c = this.columns, f = this.filter;
    const tally = new Map();
    for (let i = 0; i < c.n; i++) tally.set(c.outcome[i], (tally.get(c.outcome[i]) ?? 0) + 1);
    const chosen = new Set(f.outcome ? f.outcome.split(",") : []);
    const chips = [...tally].sort((a, b) => b[1] - a[1]).map(([code, n]) => {
      const name = c.outcomes[code] || "none";
      return h("button", { type: "button", class: `chip ${outcomeClass(c.outcomes[code])}`, "aria-pressed": chosen.has(name) ? "true" : "false", onclick: () => {
        if (chosen.has(name)) chosen.delete(name); else chosen.add(name);
        this.go({ outcome: [...chosen].join(","), id: "" });
      } }, outcomeWords(c.outcomes[code]), h("span", null, count(n)));
    });
    if (document.activeElement !== this.search) this.search.value = f.words;
    if (document.activeElement !== this.where) this.where.value = f.where;
    const choice = (/** @type {string} */ label, /** @type {string} */ now, /** @type {[string, string][]} */ options, /** @type {(v: string) => void} */ set) => h("select", { "aria-label": label, onchange: (/** @type {any} */ e) => set(e.target.value) }, options.map(([value, text]) => h("option", { value, selected: value === now }, text)));
    const names = [...new Set(c.cells.map((/** @type {any} */ x) => x.task))], models = [...new Set(c.cells.map((/** @type {any} */ x) => x.model))];
    const graded = Object.values(c.metrics).some((/** @type {any} */ column) => column.some((/** @type {any} */ v) => v !== null && v !== 0 && v !== 1));
    const scores = /** @type {[string, string][]} */ ([["", "Any score"], ["wrong", "Not right"], ["right", "Right"], ...(graded ? halves(c.cells) : [])]);
    if (f.score && !scores.some(([v]) => v === f.score)) scores.push([f.score, f.score]);
    const sorts = /** @type {[string, string][]} */ ([["", "In the order of the data"], ["low", "Lowest score first"], ["high", "Highest score first"], ["id", "By id"], ...(c.seconds ? [["slow", "Slowest first"]] : []), ...(c.chars ? [["long", "Longest answer first"]] : [])]);
    const tags = Object.entries(c.tags).filter(([, t]) => /** @type {any} */ (t).values.length <= MOST_VALUES).slice(0, 6).map(([name, t]) => choice(`Tag ${name}`, f.tags[name] ?? "", [["", `Any ${name}`], .../** @type {any} */ (t).values.map((/** @type {string} */ v) => [v, v || "(empty)"])], (v) => this.go({ tags: { ...f.tags, [name]: v }, id: "" })));
    replace(this.choices, h("div", { class: "chips", role: "group", "aria-label": "Outcomes" }, chips),
      h("div", { class: "choices" },
        names.length > 1 ? choice("Task", f.task, [["", "All tasks"], ...names.map((n) => /** @type {[string, string]} */ ([n, n]))], (v) => this.go({ task: v, id: "" })) : null,
        models.length > 1 ? choice("Model", f.model, [["", "All models"], ...models.map((n) => /** @type {[string, string]} */ ([n, n]))], (v) => this.go({ model: v, id: "" })) : null,
        choice("Score", f.score, scores, (v) => this.go({ score: v, id: "" })), tags, choice("Order", f.sort, sorts, (v) => this.go({ sort: v, id: "" }))));
  }
}
