// @ts-check
/** The data of the page: from a server on this machine, the files of a bundle, or inside the one-file report. */

/** @typedef {{type: string, sha256: string, format?: string, bytes?: number, seconds?: number, width?: number, height?: number}} Medium */
/** @typedef {{rows: number[]}} Found */

/** An error that the server reported, with its fix. */
export class Told extends Error {
  /** @param {string} message @param {string | null} [fix] @param {number} [status] */
  constructor(message, fix, status) {
    super(message);
    this.fix = fix;
    this.status = status;
  }
}

/** @param {string} path @param {RequestInit} [options] */
async function json(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Told("The viewer does not answer.", "Is `assay view` still running in its terminal?");
  }
  if (response.ok) return response.json().catch(() => { throw new Told("The answer is not complete.", "Reload the page."); });
  const text = await response.text();
  let value = null;
  try { value = JSON.parse(text); } catch { /* the body is a sentence, not JSON */ }
  throw new Told(value?.error ?? (text.slice(0, 300) || `error ${response.status}`), value?.fix, response.status);
}

/** A server on this machine. */
class LiveSource {
  kind = "live";
  isReport = false;

  /** Exchanges the token behind `#` for a cookie, and removes the token from the address. */
  async open() {
    const token = new URLSearchParams(location.hash.slice(1)).get("token");
    if (!token) return;
    history.replaceState(null, "", location.pathname);
    await json("api/session", { method: "POST", body: token, headers: { "X-Assay": "1" } }).catch((error) => {
      // A reloaded page already has its cookie; if it has not, the next request fails.
      if (error.status !== 403) throw error;
    });
  }

  runs() { return json("api/runs"); }
  /** @param {string} id */
  run(id) { return json(`api/run?run=${id}`); }
  /** @param {string} id */
  brief(id) { return json(`api/brief?run=${id}`); }
  /** @param {string} id @returns {Promise<string[]>} */
  damage(id) { return json(`api/damage?run=${id}`); }
  /** @param {string} id */
  async columns(id) { return expanded(await json(`api/columns?run=${id}`)); }
  /** @param {string} id @param {number[]} rows */
  rows(id, rows) { return json(`api/rows?run=${id}&rows=${rows.join(",")}`); }
  /** @param {string} id @param {number} row */
  sample(id, row) { return json(`api/sample?run=${id}&row=${row}`); }
  /** @param {string} id @param {string} words */
  search(id, words) { return json(`api/search?run=${id}&words=${encodeURIComponent(words)}`); }
  /** Returns the rows that an expression selects. @param {string} id @param {string} expression */
  where(id, expression) { return json(`api/where?run=${id}&expression=${encodeURIComponent(expression)}`); }
  /** Makes the server read a run's journal before its samples are requested. @param {string} id */
  prepare(id) { return json(`api/prepare?run=${id}`); }
  leaderboard() { return json("api/leaderboard"); }
  /** @param {string} id @param {number} cell @param {number} seed */
  labels(id, cell, seed) { return json(`api/labels?run=${id}&cell=${cell}&seed=${seed}`); }
  /** @param {string} id @param {number} row */
  blind(id, row) { return json(`api/blind?run=${id}&row=${row}`); }
  /** @param {string} id @param {number} row @param {number | null} value @param {string} by */
  label(id, row, value, by) { return json("api/label", { method: "POST", body: JSON.stringify({ run: id, row, value, by }), headers: { "X-Assay": "1" } }); }
  /** @param {string} before @param {string} after */
  compare(before, after) { return json(`api/compare?before=${before}&after=${after}`); }
  /** @param {string} _id @returns {Promise<Set<number> | null>} */
  async only(_id) { return null; }
  /** @param {string} id */
  live(id) { return json(`api/live?run=${id}`); }
  /** @param {string} id @param {number} row */
  raw(id, row) { return `api/raw?run=${id}&row=${row}`; }

  /** @param {string} id @param {number} row @param {Medium} part @param {"full" | "small"} form */
  medium(id, row, part, form) { return `media/${id}/${row}/${encodeURIComponent(part.sha256)}/${form}`; }

  /** @param {string} id @param {number} row @param {Medium} part @returns {Promise<Uint8Array>} */
  async wave(id, row, part) {
    const response = await fetch(`media/${id}/${row}/${encodeURIComponent(part.sha256)}/wave`);
    if (!response.ok) throw new Told((await response.json()).error);
    return new Uint8Array(await response.arrayBuffer());
  }

  /** Returns the reason why a medium could not be shown. @param {string} url */
  async why(url) {
    try {
      const response = await fetch(url);
      return response.ok ? "the browser cannot show it" : (await response.json()).error;
    } catch {
      return "the viewer does not answer";
    }
  }
}

/** Reads data from files: those of a bundle, or those inside the one-file report. */
export class FileSource {
  kind = "file";
  /** @type {Map<string, Promise<any>>} */
  #held = new Map();
  /** @param {(name: string) => Promise<any>} read @param {boolean} isReport */
  constructor(read, isReport) {
    this.read = read;
    this.isReport = isReport;
    /** @type {Record<string, string> | null} */
    this.media = null;
  }

  async open() {
    if (this.isReport) this.media = await this.read("media");
  }

  /** @param {string} name @returns {Promise<any>} */
  get(name) {
    const held = this.#held.get(name) ?? this.read(name);
    this.#held.delete(name);
    this.#held.set(name, held);
    if (this.#held.size > 40) this.#held.delete(/** @type {string} */ (this.#held.keys().next().value));
    return held;
  }

  runs() { return this.get("runs"); }
  /** @param {string} id */
  run(id) { return this.get(`run-${id}`); }
  /** @param {string} id */
  brief(id) { return this.run(id); }
  /** @param {string} id @returns {Promise<string[]>} */
  async damage(id) { return (await this.run(id)).damage ?? []; }
  /** @param {string} id */
  async columns(id) { return expanded(await this.get(`columns-${id}`)); }

  /** @param {string} id @param {number[]} rows */
  async rows(id, rows) {
    const places = await this.get(`places-${id}`);
    const wanted = new Set(rows.map((row) => places.snippets[row]));
    const chunks = await Promise.all([...wanted].filter((c) => c >= 0).map((c) => this.get(`rows-${id}-${c}`)));
    const known = new Set(rows);
    return chunks.flat().filter((one) => known.has(one.row));
  }

  /** @param {string} id @param {number} row */
  async sample(id, row) {
    const places = await this.get(`places-${id}`);
    const chunk = places.samples[row] >= 0 ? await this.get(`samples-${id}-${places.samples[row]}`) : {};
    if (!chunk[row]) throw new Told("This sample is not part of what was saved.");
    return chunk[row];
  }

  /**
   * Searches the samples chunk by chunk, because there is no server to do so.
   * @param {string} id @param {string} words
   */
  async search(id, words) {
    const places = await this.get(`places-${id}`);
    const wanted = words.toLowerCase();
    const rows = [];
    for (let chunk = 0; chunk < places.chunks; chunk++) {
      for (const [row, sample] of Object.entries(await this.read(`samples-${id}-${chunk}`))) {
        if (said(sample).toLowerCase().includes(wanted)) rows.push(Number(row));
      }
    }
    return { rows };
  }

  /** @param {string} _id @param {string} _expression @returns {Promise<{rows: number[], names: string[]}>} */
  where(_id, _expression) { return Promise.reject(new Told("Expressions need `assay view`: a saved page has no server.")); }
  /** @param {string} _id */
  async prepare(_id) { return {}; }
  leaderboard() { return this.get("leaderboard").catch(() => { throw new Told("No leaderboard was saved with this page."); }); }

  /** Returns the rows whose samples were saved, in display order; null if all samples were saved. @param {string} id @returns {Promise<Set<number> | null>} */
  async only(id) {
    const places = await this.get(`places-${id}`);
    if (places.whole) return null;
    if (places.order) return new Set(places.order);
    return new Set(places.samples.flatMap((/** @type {number} */ chunk, /** @type {number} */ row) => (chunk >= 0 ? [row] : [])));
  }

  /** @param {string} before @param {string} after */
  compare(before, after) { return this.get(`compare-${before}-${after}`).catch(() => { throw new Told("These two runs were not compared when this page was saved."); }); }
  /** @param {string} _id @param {number} _cell @param {number} _seed */
  labels(_id, _cell, _seed) { return Promise.reject(new Told("Labels need `assay view`: a saved page cannot be written to.")); }
  /** @param {string} _id @param {number} _row */
  blind(_id, _row) { return this.labels(_id, 0, 0); }
  /** @param {string} _id @param {number} _row @param {number | null} _value @param {string} _by */
  label(_id, _row, _value, _by) { return this.labels(_id, 0, 0); }
  /** @param {string} _id */
  live(_id) { return Promise.reject(new Told("A saved page does not go on.")); }
  /** @param {string} _id @param {number} _row */
  raw(_id, _row) { return null; }

  /** @param {string} _id @param {number} _row @param {any} part @param {"full" | "small"} form */
  medium(_id, _row, part, form) {
    const name = (form === "small" && part.small_url) || part.url || "";
    return name.startsWith("held:") ? this.media?.[name.slice(5)] ?? "" : name;
  }

  /** @param {string} _id @param {number} _row @param {any} part */
  async wave(_id, _row, part) { return Uint8Array.from(part.wave ?? []); }
  /** @param {string} url */
  async why(url) { return url ? "the browser cannot show it" : "it was not saved with this page"; }
}

/** Adds the columns that were left out because their values are trivial. @param {any} columns */
export function expanded(columns) {
  const { n } = columns;
  const row = columns.row ?? new Int32Array(n);
  if (!columns.row) for (let i = 0; i < n; i++) row[i] = i;
  return { ...columns, row, cell: columns.cell ?? new Int32Array(n) };
}

/** Returns all texts of a sample, joined by line breaks. @param {any} value @returns {string} */
function said(value) {
  if (typeof value === "string") return value + "\n";
  if (value && typeof value === "object") return Object.values(value).map(said).join("");
  return "";
}

/** Returns the source of this page: the embedded data, else the files of a bundle, else the server. */
export function chooseSource() {
  const inline = document.getElementById("assay-data");
  if (inline) {
    const held = JSON.parse(inline.textContent ?? "{}");
    return new FileSource(async (name) => {
      if (!(name in held)) throw new Told("This part is not in the report.");
      return held[name];
    }, true);
  }
  const bundle = document.querySelector("meta[name=assay-bundle]");
  if (bundle) return new FileSource((name) => json(`data/${name}.json`), false);
  return new LiveSource();
}

/** @typedef {LiveSource | FileSource} Source */
