// @ts-check
/** Creates all elements of the page. Text is never interpreted as markup. */

/** @typedef {Node | string | number | null | undefined | false} Child */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Creates an element with attributes and children. Names that start with `on` are listeners; `style` is an object.
 * @param {string} tag
 * @param {Record<string, any> | null} [props]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function h(tag, props, ...children) {
  return /** @type {HTMLElement} */ (fill(document.createElement(tag), props, children));
}

/**
 * Creates an SVG element in the same way.
 * @param {string} tag
 * @param {Record<string, any> | null} [props]
 * @param {...(Child | Child[])} children
 * @returns {SVGElement}
 */
export function s(tag, props, ...children) {
  return /** @type {SVGElement} */ (fill(document.createElementNS(SVG, tag), props, children));
}

/**
 * @param {Element} element
 * @param {Record<string, any> | null | undefined} props
 * @param {(Child | Child[])[]} children
 */
function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(/** @type {HTMLElement} */ (element).style, value);
    else if (name === "value" || name === "checked") /** @type {any} */ (element)[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/**
 * @param {Element} element
 * @param {(Child | Child[])[]} children
 */
export function append(element, children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/**
 * Replaces the children of an element.
 * @param {Element} element
 * @param {...(Child | Child[])} children
 */
export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/**
 * Formats a number with its meaningful digits, as tables on the terminal do.
 * @param {number | null | undefined} value
 */
export function num(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "n/a";
  if (!Number.isFinite(value)) return String(value);
  if (Math.abs(value) >= 1000) return value.toLocaleString("en", { maximumFractionDigits: 1 });
  return value.toFixed(3);
}

/** Formats a count with separated thousands. @param {number} n */
export function count(n) {
  return n.toLocaleString("en");
}

/** @param {number} n @param {string} one @param {string} [many] */
export function plural(n, one, many) {
  return `${count(n)} ${n === 1 ? one : many ?? one + "s"}`;
}

/** @param {number[] | null | undefined} ci */
export function interval(ci) {
  return ci ? `${num(ci[0])} – ${num(ci[1])}` : "no interval";
}

/** Formats a duration. @param {number} seconds */
export function duration(seconds) {
  if (seconds < 0.0001) return seconds > 0 ? "< 0.1 ms" : "0 s";
  if (seconds < 0.095) return `${Math.max(seconds * 1000, 0).toFixed(seconds < 0.01 ? 1 : 0)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Formats a point in time. @param {string | null | undefined} text */
export function when(text) {
  const time = text ? new Date(text.replace(/([+-]\d\d)(\d\d)$/, "$1:$2")) : null;
  if (!time || Number.isNaN(time.getTime())) return "";
  const day = time.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
  return `${day}, ${time.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })}`;
}

/** Returns the duration of a run. @param {{started?: string, finished?: string}} run */
export function took(run) {
  const [from, to] = [run.started, run.finished].map((t) => Date.parse((t ?? "").replace(/([+-]\d\d)(\d\d)$/, "$1:$2")));
  return Number.isFinite(to - from) ? duration((to - from) / 1000) : "";
}

/** Lets a name break after punctuation rather than inside a word. @param {string} name @returns {Child[]} */
export function breakable(name) {
  return String(name).split(/(?<=[/:._+=@-])(?=[^/:._+=@-])/).flatMap((part, i) => (i ? [h("wbr", null), part] : [part]));
}

/** Returns a value as text: a string unchanged, anything else as JSON. @param {any} value */
export function asText(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 1) ?? "";
}

const OUTCOME_WORDS = /** @type {Record<string, string>} */ ({
  "": "not judged",
  scored: "scored",
  unparsed: "unparsed",
  refused: "refused",
  model_error: "model error",
  judge_error: "judge error",
  data_error: "data error",
  waiting: "waiting",
});

/** @param {string} name */
export function outcomeWords(name) {
  return OUTCOME_WORDS[name] ?? name.replaceAll("_", " ");
}

/** Returns the CSS class with the colour of an outcome. @param {string} name */
export function outcomeClass(name) {
  if (name === "scored") return "o-scored";
  if (name === "unparsed" || name === "truncated") return "o-unparsed";
  if (name === "refused") return "o-refused";
  return name === "" || name === "waiting" ? "o-none" : "o-error";
}

/** Capitalizes a message, unless it starts with a name. @param {string} text */
function sentence(text) {
  return /^[a-z]+[ ,;]/.test(text) ? text[0].toUpperCase() + text.slice(1) : text;
}

/**
 * Creates a box with an error message.
 * @param {any} error
 */
export function trouble(error) {
  const fix = error?.fix ? h("p", { class: "fix" }, sentence(error.fix)) : null;
  return h("div", { class: "notice bad", role: "alert" }, h("p", null, sentence(String(error?.message ?? error))), fix);
}

/**
 * Creates a button that copies a text.
 * @param {string} text
 */
export function copyButton(text) {
  const button = h("button", { class: "quiet", type: "button", onclick: () => {
    navigator.clipboard?.writeText(text).then(() => { button.textContent = "Copied"; }, () => { button.textContent = "Select it, then Ctrl-C"; });
  } }, "Copy");
  return button;
}

/**
 * Returns the colour of a score: best value, worst value, or in between.
 * @param {number | null | undefined} value @param {{higher_is_better: boolean, scale?: number[] | null}} cell
 */
export function scoreTone(value, cell) {
  if (value === null || value === undefined) return "o-none";
  const [low, high] = cell.scale ?? [0, 1];
  const good = cell.higher_is_better ? value >= high : value <= low;
  const bad = cell.higher_is_better ? value <= low : value >= high;
  return good ? "t-good" : bad ? "t-bad" : "t-mid";
}

/** Shortens a text, and names media by their kind instead of their digest. @param {string | undefined} words */
export function mediaWords(words) {
  return (words ?? "").replace(/\[(image|audio|video) [0-9a-f]{12}\]/g, "($1) ").trim();
}
