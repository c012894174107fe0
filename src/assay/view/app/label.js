// @ts-check
/** The label page: one key for each label, samples without model and judge, and a summary of the labels. */

import { count, h, interval, num, replace, trouble } from "./dom.js";
import { domainOf, intervalDot } from "./charts.js";
import { samplePanel } from "./sample.js";

/** @param {import("./source.js").Source} source @param {string} id @param {URLSearchParams} query @returns {Promise<import("./main.js").Page>} */
export async function labelPage(source, id, query) {
  const [listed, columns] = await Promise.all([source.brief(id), source.columns(id)]);
  const desk = new LabelDesk(source, id, Number(query.get("cell")) || 0, Number(query.get("seed") ?? 1) || 1, columns.cells);
  await desk.load();
  return {
    title: `Label ${listed.name}`,
    path: [{ name: "Runs", href: "#/" }, { name: listed.name, href: `#/run/${id}` }, { name: "Label" }],
    body: desk.body,
    onkey: (event) => desk.key(event),
  };
}

class LabelDesk {
  /** @param {import("./source.js").Source} source @param {string} id @param {number} cell @param {number} seed @param {any[]} cells */
  constructor(source, id, cell, seed, cells) {
    this.source = source;
    this.id = id;
    this.cell = cell;
    this.seed = seed;
    this.cells = cells;
    /** @type {any} */
    this.state = null;
    this.at = 0;
    this.by = /** @type {HTMLInputElement} */ (h("input", { type: "text", value: remembered(), "aria-label": "Your name", maxlength: 80, placeholder: "Your name (empty: me)", onchange: () => { remember(this.by.value); this.next(0); } }));
    this.box = h("div", { class: "label-box" });
    this.keys = h("div", { class: "chips verdict-keys", role: "group", "aria-label": "Your verdict" });
    this.progress = h("p", { class: "muted small", role: "status" });
    this.summary = h("aside", { class: "card", "aria-label": "What the labels say" });
    const picks = cells.length < 2 ? null : h("select", { "aria-label": "Task", onchange: (/** @type {any} */ e) => { location.hash = `#/run/${id}/label?cell=${e.target.value}`; } }, cells.map((c, i) => h("option", { value: i, selected: i === cell }, c.task)));
    this.body = h("div", { class: "page" }, h("div", { class: "head" }, h("h1", null, "Label"), h("p", { class: "muted" }, "Samples in random order, without model, scores and judge. Your labels are stored in the run folder; no label is ever overwritten.")),
      h("div", { class: "tools" }, this.by, picks), h("div", { class: "labelling" }, h("div", null, this.progress, this.keys, this.box), this.summary));
  }

  async load() {
    this.state = await this.source.labels(this.id, this.cell, this.seed);
    this.drawSummary();
    await this.next(0);
  }

  /** Returns this person's label of a row, if there is one. @param {number} row */
  mine(row) { return this.state.said[row]?.[this.by.value || "me"]; }

  /** Goes to the first sample, from a position on, that this person has not labelled. @param {number} from */
  async next(from) {
    const { order } = this.state;
    let at = from;
    while (at < order.length && this.mine(order[at]) !== undefined) at++;
    this.at = at;
    await this.show();
  }

  async show() {
    const { order, total, choices } = this.state;
    const done = order.filter((/** @type {number} */ row) => this.mine(row) !== undefined).length;
    this.progress.textContent = `${count(done)} of ${count(total)} labelled by ${this.by.value || "me"} · seed ${this.seed}`;
    if (this.at >= order.length) {
      replace(this.keys);
      replace(this.box, h("p", { class: "lonely" }, "All samples are labelled."));
      return;
    }
    const row = order[this.at], now = this.mine(row);
    const button = (/** @type {string} */ key, /** @type {string} */ words, /** @type {() => void} */ act, pressed = false) => h("button", { type: "button", class: "chip", "aria-pressed": String(pressed), onclick: act }, h("kbd", null, key), words);
    replace(this.keys, choices.map((/** @type {any} */ c) => button(c.key, c.name, () => this.give(c.value), now === c.value)), button("u", "cannot tell", () => this.give(null), now === null), button("s", "skip", () => this.step(1)), button("b", "back", () => this.step(-1)));
    try {
      const sample = await this.source.blind(this.id, row);
      if (row === order[this.at]) replace(this.box, samplePanel({ ...sample, verdicts: [], calls: [] }, { source: this.source, id: this.id, row, blind: true }));
    } catch (error) {
      replace(this.box, trouble(error));
    }
  }

  /** @param {number} by */
  step(by) {
    this.at = Math.max(0, Math.min(this.state.order.length - 1, this.at + by));
    this.show();
  }

  /** @param {number | null} value */
  async give(value) {
    const row = this.state.order[this.at], by = this.by.value || "me";
    try {
      await this.source.label(this.id, row, value, by);
    } catch (error) {
      replace(this.box, trouble(error));
      return;
    }
    this.state.said[row] = { ...(this.state.said[row] ?? {}), [by]: value };
    this.next(this.at + 1);
    const fresh = await this.source.labels(this.id, this.cell, this.seed);
    this.state.summary = fresh.summary;
    this.drawSummary();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const choice = this.state.choices.find((/** @type {any} */ c) => c.key === event.key);
    if (choice) this.give(choice.value);
    else if (event.key === "u") this.give(null);
    else if (event.key === "s" || event.key === "ArrowRight") this.step(1);
    else if (event.key === "b" || event.key === "ArrowLeft") this.step(-1);
    else return;
    event.preventDefault();
  }

  drawSummary() {
    const { summary: now, metric } = this.state;
    const fact = (/** @type {string} */ name, /** @type {any} */ value, /** @type {string} */ note = "") => h("div", { class: "fact" }, h("span", { class: "muted small" }, name), h("b", null, value), note ? h("span", { class: "muted small" }, note) : null);
    const corrected = now.corrected, ends = this.state.choices.map((/** @type {any} */ c) => c.value);
    replace(this.summary, h("h2", null, "What the labels say"),
      fact("labelled samples", `${count(now.labelled)}${now.unsure ? `, ${count(now.unsure)} cannot tell` : ""}`),
      now.agree !== undefined ? fact(`agreement with ${metric}`, `${(now.agree * 100).toFixed(0)} %`, now.kappa_text) : null,
      now.alpha_text ? fact("agreement among people", now.alpha_text) : null,
      now.judge_value !== null ? fact(`${metric}, as scored`, num(now.judge_value)) : null,
      corrected ? [fact(`${metric}, corrected by people`, num(corrected.value), `95 % interval ${interval(corrected.ci)}, ${corrected.method}`), intervalDot(corrected, domainOf([{ ...corrected, scale: [Math.min(...ends), Math.max(...ends)] }]), 240), corrected.unreliable ? h("p", { class: "small warn-text" }, corrected.unreliable) : null] : h("p", { class: "muted small" }, "The corrected value appears with the second label."));
  }
}

/** @returns {string} */
function remembered() { try { return localStorage.getItem("assay-name") ?? ""; } catch { return ""; } }

/** @param {string} name */
function remember(name) { try { localStorage.setItem("assay-name", name); } catch { /* without storage, the name is asked again next time */ } }
