// @ts-check
/**
 * Converts Markdown to elements: headings, lists, quotes, tables, code, emphasis and formulas. Text is never interpreted as HTML, and nothing is loaded: links and images are shown as text.
 */

import { h } from "./dom.js";
import { formula } from "./math.js";

/** Longer texts are not formatted. */
export const LONGEST_FORMATTED = 60000;
const DEEPEST = 6;
/** Private-use characters mark the extracted answer, so that the marks survive the formatting. */
const MARK_START = "\ue000", MARK_END = "\ue001";
const MARKS = /[\ue000\ue001]/;
const SIGNS = /(^|\n)\s{0,3}(#{1,6} |[-*+] |\d+[.)] |>|```|~~~|\|.*\|)|\*\*|`[^`\n]{1,500}`|\$[^$\n]{1,500}\$|\$\$|\\\(|\\\[|\\boxed\{|\[[^\]\n]{1,300}\]\([^)\n]{1,600}\)|(^|\W)[*_]\w[^*_\n]*[*_](\W|$)/;
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`\s]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(\S.*)$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])(\s+)(?=\S)/;
/** The maximum number of lines of a formula. */
const LONGEST_FORMULA = 40;
/** Longer lines are not matched as fences, rules or tables, because some regular expressions would take long. */
const LONGEST_SIGN = 400;

/** @param {string} line */
function fenceOf(line) {
  return line.length < LONGEST_SIGN ? FENCE.exec(line) : null;
}

/** @param {string} line */
function isRule(line) {
  return line.length < LONGEST_SIGN && RULE.test(line);
}

/** Returns the cells in a line of a table. @param {string} line */
function cellsOf(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** Returns true if a text contains Markdown or a formula. @param {string} text */
export function isFormatted(text) {
  return text.length <= LONGEST_FORMATTED && !MARKS.test(text) && SIGNS.test(text);
}

/** Converts a text to elements; the part from `start` to `end` is marked. @param {string} text @param {number} [start] @param {number} [end] @returns {Node[]} */
export function formatted(text, start = -1, end = -1) {
  const from = start + blockMarker(text, start, end);
  const source = start < 0 ? text : text.slice(0, from) + MARK_START + text.slice(from, end) + MARK_END + text.slice(end);
  return new Formatter().blocks(source.replace(/\r\n?/g, "\n").split("\n"), 0);
}

/** Returns the length of the heading, list or quote sign at the start of a mark. The sign must stay first in its line. @param {string} text @param {number} start @param {number} end */
function blockMarker(text, start, end) {
  if (start < 0 || (start > 0 && text[start - 1] !== "\n")) return 0;
  return /^ {0,3}(?:#{1,6}|[-*+]|\d{1,9}[.)]|>)[ \t]+(?=\S)/.exec(text.slice(start, end))?.[0].length ?? 0;
}

const LONGEST_BOX = 400;

/** Returns the position of the brace that closes the one at a position; -1 if there is none nearby. @param {string} text @param {number} open */
function closingBrace(text, open) {
  let depth = 0;
  for (let at = open; at < Math.min(text.length, open + LONGEST_BOX); at++) {
    if (text[at] === "{") depth++;
    if (text[at] === "}" && --depth === 0) return at;
  }
  return -1;
}

class Formatter {
  /** True while the text is inside the mark. */
  isMarked = false;

  /** @param {string[]} lines @param {number} depth @returns {Node[]} */
  blocks(lines, depth) {
    /** @type {Node[]} */
    const nodes = [];
    let at = 0;
    while (at < lines.length) {
      const line = lines[at];
      const fence = fenceOf(line);
      if (!line.trim()) at++;
      else if (fence) at = this.code(lines, at, fence, nodes);
      else if (/^\s*(\$\$|\\\[)/.test(line)) at = this.displayMath(lines, at, nodes);
      else if (HEADING.test(line)) { nodes.push(this.heading(line)); at++; }
      else if (isRule(line)) { nodes.push(h("hr")); at++; }
      else if (/^ {0,3}>/.test(line) && depth < DEEPEST) at = this.quote(lines, at, depth, nodes);
      else if (ITEM.test(line) && depth < DEEPEST) at = this.list(lines, at, depth, nodes);
      else if (this.startsTable(lines, at)) at = this.table(lines, at, nodes);
      else at = this.paragraph(lines, at, depth, nodes);
    }
    return nodes;
  }

  /** @param {string[]} lines @param {number} at @param {RegExpExecArray} fence @param {Node[]} nodes */
  code(lines, at, fence, nodes) {
    const [, marks, language] = fence;
    let end = at + 1;
    const isEnd = (/** @type {string} */ line) => line.trim().startsWith(marks) && !line.trim().slice(marks.length).replaceAll(marks[0], "").trim();
    while (end < lines.length && !isEnd(lines[end])) end++;
    const body = this.leaf(lines.slice(at + 1, end).join("\n"));
    const name = language.replace(MARKS, "");
    nodes.push(h("div", { class: "code" }, name ? h("span", { class: "muted small" }, name) : null, h("pre", { dir: "ltr", tabindex: "0" }, h("code", null, body))));
    return end + 1;
  }

  /** @param {string[]} lines @param {number} at @param {Node[]} nodes */
  displayMath(lines, at, nodes) {
    const opening = lines[at].trim().startsWith("$$") ? "$$" : "\\[";
    const closing = opening === "$$" ? "$$" : "\\]";
    let text = lines[at].trim().slice(2);
    let end = at + 1;
    while (!text.includes(closing) && end < Math.min(lines.length, at + LONGEST_FORMULA) && lines[end].trim()) text += `\n${lines[end++]}`;
    const stop = text.indexOf(closing);
    if (stop < 0) {
      nodes.push(h("p", { dir: "auto" }, this.leaf(lines.slice(at, end).join("\n"))));
      return end;
    }
    nodes.push(h("div", { class: "display-math", tabindex: "0", role: "group", "aria-label": "Formula" }, this.math(text.slice(0, stop), true)));
    const rest = text.slice(stop + 2);
    if (rest.trim()) nodes.push(h("p", { dir: "auto" }, this.inline(rest.trim(), 0)));
    return end;
  }

  /** Creates a heading of the answer, which must not count as a heading of the page. @param {string} line */
  heading(line) {
    const [, marks, words] = /** @type {RegExpExecArray} */ (HEADING.exec(line));
    return h("p", { class: `heading level-${marks.length}`, dir: "auto" }, this.inline(words.replace(/ #+$/, ""), 0));
  }

  /** @param {string[]} lines @param {number} at @param {number} depth @param {Node[]} nodes */
  quote(lines, at, depth, nodes) {
    let end = at;
    while (end < lines.length && /^ {0,3}>/.test(lines[end])) end++;
    const inner = lines.slice(at, end).map((line) => line.replace(/^ {0,3}> ?/, ""));
    nodes.push(h("blockquote", null, this.blocks(inner, depth + 1)));
    return end;
  }

  /** @param {string[]} lines @param {number} at @param {number} depth @param {Node[]} nodes */
  list(lines, at, depth, nodes) {
    const [, indent, sign] = /** @type {RegExpExecArray} */ (ITEM.exec(lines[at]));
    const isOrdered = /\d/.test(sign);
    /** @type {Node[]} */
    const items = [];
    let end = at;
    while (end < lines.length) {
      const item = ITEM.exec(lines[end]);
      if (!item || item[1].length > indent.length + 1 || item[1].length < indent.length || /\d/.test(item[2]) !== isOrdered || isRule(lines[end])) break;
      const width = item[0].length;
      const inner = [lines[end].slice(width)];
      end++;
      while (end < lines.length && this.continuesItem(lines, end, indent.length)) inner.push(lines[end++].replace(new RegExp(`^\\s{0,${width}}`), ""));
      items.push(h("li", { dir: "auto" }, this.itemContent(inner, depth)));
    }
    const first = Number.parseInt(sign, 10);
    nodes.push(isOrdered ? h("ol", { start: first === 1 ? null : first }, items) : h("ul", null, items));
    return end;
  }

  /** Returns true if a line belongs to the list item above. @param {string[]} lines @param {number} at @param {number} indent */
  continuesItem(lines, at, indent) {
    const line = lines[at];
    const isIndented = /^\s/.test(line) && line.search(/\S/) > indent;
    if (line.trim()) return isIndented;
    const next = lines[at + 1] ?? "";
    return next.trim() !== "" && next.search(/\S/) > indent;
  }

  /** Returns the content of a list item. A single line is not wrapped in a paragraph. @param {string[]} lines @param {number} depth */
  itemContent(lines, depth) {
    const [first, ...rest] = lines;
    if (fenceOf(first) || ITEM.test(first)) return this.blocks(lines, depth + 1);
    return [...this.inline(first, 0), ...this.blocks(rest, depth + 1)];
  }

  /** @param {string[]} lines @param {number} at */
  startsTable(lines, at) {
    const next = lines[at + 1];
    if (!lines[at].includes("|") || !next?.includes("|") || next.length > LONGEST_SIGN) return false;
    return cellsOf(next).every((cell) => /^:?-+:?$/.test(cell));
  }

  /** @param {string[]} lines @param {number} at @param {Node[]} nodes */
  table(lines, at, nodes) {
    const row = (/** @type {string} */ line, /** @type {string} */ tag) => h("tr", null, cellsOf(line).map((cell) => h(tag, { dir: "auto", scope: tag === "th" ? "col" : null }, this.inline(cell, 0))));
    let end = at + 2;
    const head = row(lines[at], "th");
    const body = [];
    while (end < lines.length && lines[end].includes("|") && lines[end].trim()) body.push(row(lines[end++], "td"));
    nodes.push(h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table" }, h("table", { class: "given" }, h("thead", null, head), h("tbody", null, body))));
    return end;
  }

  /** @param {string[]} lines @param {number} at @param {number} depth @param {Node[]} nodes */
  paragraph(lines, at, depth, nodes) {
    let end = at + 1;
    const starts = (/** @type {number} */ i) => fenceOf(lines[i]) !== null || HEADING.test(lines[i]) || isRule(lines[i]) || /^ {0,3}>/.test(lines[i]) || /^\s*(\$\$|\\\[)/.test(lines[i]) || ITEM.test(lines[i]) || this.startsTable(lines, i);
    while (end < lines.length && lines[end].trim() && (depth >= DEEPEST || !starts(end))) end++;
    const text = lines.slice(at, end).join("\n");
    nodes.push(h("p", { dir: "auto", class: "paragraph" }, this.inline(text, 0)));
    return end;
  }

  /** Converts text with emphasis, code, formulas and links. @param {string} text @param {number} depth @returns {Node[]} */
  inline(text, depth) {
    /** @type {Node[]} */
    const nodes = [];
    let plain = "";
    /** Signs without a matching closing sign in the rest of the text. @type {Set<string>} */
    const dead = new Set();
    const flush = () => { nodes.push(...this.leaf(plain)); plain = ""; };
    let at = 0;
    while (at < text.length) {
      const span = depth < DEEPEST ? this.span(text, at, dead) : null;
      if (span) {
        flush();
        nodes.push(...span.make(depth));
        at = span.end;
      } else if (text[at] === "\\" && /[!-/:-@[-`{-~]/.test(text[at + 1] ?? "")) {
        plain += text[at + 1];
        at += 2;
      } else plain += text[at++];
    }
    flush();
    return nodes;
  }

  /**
   * Returns the element that starts at a position, and its end; null for plain text.
   * @param {string} text @param {number} at @param {Set<string>} dead @returns {{end: number, make: (depth: number) => Node[]} | null}
   */
  span(text, at, dead) {
    const two = text.slice(at, at + 2);
    const close = (/** @type {string} */ sign, /** @type {number} */ from) => {
      if (dead.has(sign)) return -1;
      const end = text.indexOf(sign, from);
      if (end < 0) dead.add(sign);
      return end;
    };
    const wrap = (/** @type {string} */ sign, /** @type {string} */ tag) => {
      const start = at + sign.length, end = close(sign, start + 1);
      if (end < 0 || /\s/.test(text[start]) || /\s/.test(text[end - 1])) return null;
      if (sign.startsWith("_") && (/\w/.test(text[at - 1] ?? "") || /\w/.test(text[end + sign.length] ?? ""))) return null;
      return { end: end + sign.length, make: (/** @type {number} */ depth) => [h(tag, null, this.inline(text.slice(start, end), depth + 1))] };
    };
    const math = (/** @type {number} */ start, /** @type {number} */ end, /** @type {number} */ wide, keeps = false) => ({ end: end + wide, make: () => this.math(text.slice(start, keeps ? end + wide : end), false) });
    if (text[at] === "`") return this.codeSpan(text, at, close);
    if (two === "\\(" || two === "\\[") {
      const end = close(two === "\\(" ? "\\)" : "\\]", at + 2);
      return end < 0 ? null : math(at + 2, end, 2);
    }
    if (text.startsWith("\\boxed{", at)) {
      const end = closingBrace(text, at + 6);
      return end < 0 ? null : math(at, end, 1, true);
    }
    if (two === "$$") {
      const end = close("$$", at + 2);
      return end < at + 3 ? null : math(at + 2, end, 2);
    }
    if (text[at] === "$") {
      const end = close("$", at + 1);
      const isMath = end > at + 1 && !/\s/.test(text[at + 1]) && !/\s/.test(text[end - 1]) && !/\d/.test(text[end + 1] ?? "") && !text.slice(at, end).includes("\n\n");
      return isMath ? math(at + 1, end, 1) : null;
    }
    if (two === "**" || two === "__") return wrap(two, "strong");
    if (two === "~~") return wrap(two, "s");
    if (text[at] === "*" || text[at] === "_") return wrap(text[at], "em");
    if (text[at] === "[" || two === "![") return this.link(text, at);
    return null;
  }

  /** @param {string} text @param {number} at @param {(sign: string, from: number) => number} close */
  codeSpan(text, at, close) {
    const signs = /** @type {RegExpExecArray} */ (/^`+/.exec(text.slice(at, at + 20)))[0];
    const end = close(signs, at + signs.length);
    if (end < 0) return null;
    const inner = text.slice(at + signs.length, end).replace(/^ (.*) $/s, "$1");
    return { end: end + signs.length, make: () => [h("code", { dir: "ltr" }, this.leaf(inner))] };
  }

  /** Shows a link or an image as its words and its address. @param {string} text @param {number} at */
  link(text, at) {
    const match = /^(!?)\[([^\]\n]{0,300})\]\(([^()\s]{0,600})(?:\s+"[^"\n]{0,200}")?\)/.exec(text.slice(at, at + 1200));
    if (!match) return null;
    const [whole, picture, words, address] = match;
    const make = (/** @type {number} */ depth) => [
      ...(picture ? this.leaf("image ") : []),
      ...this.inline(words, depth + 1),
      h("span", { class: "muted address", dir: "ltr" }, " (", ...this.leaf(address), ")"),
    ];
    return { end: at + whole.length, make };
  }

  /** @param {string} source @param {boolean} display @returns {Node[]} */
  math(source, display) {
    const clean = source.replace(/[\ue000\ue001]/g, "");
    const wasMarked = this.isMarked;
    this.leaf(source);
    const drawn = formula(clean.trim(), display);
    const node = h("span", { class: "math", dir: "ltr", title: clean.trim() }, drawn ?? clean.trim());
    return [wasMarked || clean !== source ? h("mark", { title: "read as the answer" }, node) : node];
  }

  /** Converts plain text to nodes, with the mark. @param {string} text @returns {Node[]} */
  leaf(text) {
    /** @type {Node[]} */
    const nodes = [];
    for (const piece of text.split(/([\ue000\ue001])/)) {
      if (piece === MARK_START) this.isMarked = true;
      else if (piece === MARK_END) this.isMarked = false;
      else if (piece) nodes.push(this.isMarked ? h("mark", { title: "read as the answer" }, piece) : new Text(piece));
    }
    return nodes;
  }
}
