// @ts-check
/** Converts LaTeX formulas to MathML. Only a common subset is supported; other formulas are shown as their source. */

const MATHML = "http://www.w3.org/1998/Math/MathML";
const LONGEST = 2000;
const DEEPEST = 20;

const LETTERS = /** @type {Record<string, string>} */ ({
  alpha: "α", beta: "β", gamma: "γ", delta: "δ", epsilon: "ϵ", varepsilon: "ε", zeta: "ζ", eta: "η", theta: "θ", vartheta: "ϑ", iota: "ι", kappa: "κ",
  lambda: "λ", mu: "μ", nu: "ν", xi: "ξ", pi: "π", rho: "ρ", sigma: "σ", tau: "τ", upsilon: "υ", phi: "ϕ", varphi: "φ", chi: "χ", psi: "ψ", omega: "ω",
  Gamma: "Γ", Delta: "Δ", Theta: "Θ", Lambda: "Λ", Xi: "Ξ", Pi: "Π", Sigma: "Σ", Phi: "Φ", Psi: "Ψ", Omega: "Ω",
  infty: "∞", partial: "∂", nabla: "∇", ell: "ℓ", hbar: "ℏ", emptyset: "∅", angle: "∠", circ: "∘", degree: "°",
});
const OPERATORS = /** @type {Record<string, string>} */ ({
  cdot: "⋅", times: "×", div: "÷", pm: "±", mp: "∓", le: "≤", leq: "≤", ge: "≥", geq: "≥", ne: "≠", neq: "≠", approx: "≈", equiv: "≡", sim: "∼", propto: "∝",
  to: "→", rightarrow: "→", leftarrow: "←", Rightarrow: "⇒", implies: "⟹", iff: "⟺", Leftrightarrow: "⇔", mapsto: "↦", in: "∈", notin: "∉", subset: "⊂",
  subseteq: "⊆", cup: "∪", cap: "∩", setminus: "∖", forall: "∀", exists: "∃", land: "∧", lor: "∨", neg: "¬", sum: "∑", prod: "∏", int: "∫", ldots: "…",
  cdots: "⋯", dots: "…", mid: "∣", parallel: "∥", perp: "⟂", langle: "⟨", rangle: "⟩", lfloor: "⌊", rfloor: "⌋", lceil: "⌈", rceil: "⌉", therefore: "∴",
  quad: "\u2003", qquad: "\u2003\u2003", ",": "\u2009", ";": "\u2005", ":": "\u2005", " ": " ", "!": "", "{": "{", "}": "}", "%": "%", "$": "$", "&": "&", "#": "#", "_": "_", "|": "‖",
});
const FUNCTIONS = new Set(["sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "log", "ln", "exp", "lim", "max", "min", "gcd", "lcm", "det", "deg", "mod", "arg", "dim", "ker", "sup", "inf"]);
const TEXTS = new Set(["text", "mathrm", "mathbf", "textbf", "mathit", "textit", "operatorname", "mathsf", "mathbb", "mathcal"]);
const IGNORED = new Set(["left", "right", "big", "Big", "bigl", "bigr", "Bigl", "Bigr", "displaystyle", "limits", "nolimits"]);

/** @param {string} tag @param {...(Node | string)} children */
function m(tag, ...children) {
  const element = document.createElementNS(MATHML, tag);
  element.append(...children);
  return element;
}

/** Returns a formula as MathML; null if a part is not supported. @param {string} source @param {boolean} display */
export function formula(source, display) {
  if (source.length > LONGEST) return null;
  try {
    const reader = new Reader(tokens(source));
    const math = m("math", ...reader.all());
    if (display) math.setAttribute("display", "block");
    return math;
  } catch (error) {
    if (error instanceof Unknown) return null;
    throw error;
  }
}

/** Thrown for a part of a formula that is not supported. */
class Unknown extends Error {}

/** @param {string} source @returns {string[]} */
function tokens(source) {
  return source.match(/\\[A-Za-z]+|\\.|\d+(?:[.,]\d+)*|\s+|[^]/gu) ?? [];
}

class Reader {
  /** @param {string[]} list */
  constructor(list) {
    this.list = list;
    this.next = 0;
    this.depth = 0;
  }

  /** Reads everything to the end. @returns {Element[]} */
  all() {
    const parts = this.until(null);
    if (this.next < this.list.length) throw new Unknown();
    return parts;
  }

  /** Reads everything up to a closing bracket. @param {string | null} end @returns {Element[]} */
  until(end) {
    if (++this.depth > DEEPEST) throw new Unknown();
    /** @type {Element[]} */
    const parts = [];
    while (this.next < this.list.length && this.list[this.next] !== end) {
      if (this.list[this.next] === "}") throw new Unknown();
      const part = this.part();
      if (part) parts.push(part);
    }
    if (end !== null && this.list[this.next++] !== end) throw new Unknown();
    this.depth--;
    return parts;
  }

  /** Reads one part with its superscript and subscript. @returns {Element | null} */
  part() {
    const base = this.atom();
    if (!base) return null;
    let below = null, above = null;
    for (;;) {
      this.skip();
      const sign = this.list[this.next];
      if (sign === "_" && !below) below = this.argumentAfterSign();
      else if (sign === "^" && !above) above = this.argumentAfterSign();
      else if (sign === "'" && !above) { this.next++; above = m("mo", "′"); }
      else break;
    }
    if (below && above) return m("msubsup", base, below, above);
    if (below) return m("msub", base, below);
    return above ? m("msup", base, above) : base;
  }

  skip() {
    while (this.next < this.list.length && /^\s/.test(this.list[this.next])) this.next++;
  }

  argumentAfterSign() {
    this.next++;
    return this.argument();
  }

  /** Reads the argument of a command: a group in braces, or the next part. @returns {Element} */
  argument() {
    this.skip();
    if (this.list[this.next] === "{") {
      this.next++;
      return m("mrow", ...this.until("}"));
    }
    const part = this.atom();
    if (!part) throw new Unknown();
    return part;
  }

  /** Reads the text in braces unchanged. */
  words() {
    this.skip();
    if (this.list[this.next++] !== "{") throw new Unknown();
    let words = "";
    while (this.next < this.list.length && this.list[this.next] !== "}") {
      const word = this.list[this.next++];
      if (word === "{" || (word.startsWith("\\") && word.length > 2)) throw new Unknown();
      words += word.startsWith("\\") ? word.slice(1) : word;
    }
    if (this.list[this.next++] !== "}") throw new Unknown();
    return words;
  }

  /** @returns {Element | null} */
  atom() {
    const word = this.list[this.next++];
    if (word === undefined) throw new Unknown();
    if (/^\s/.test(word)) return null;
    if (word === "{") return m("mrow", ...this.until("}"));
    if (word.startsWith("\\")) return this.command(word.slice(1));
    if (/^\d/.test(word)) return m("mn", word);
    if (/^\p{L}$/u.test(word)) return m("mi", word);
    if ("&#%$~\\^_".includes(word)) throw new Unknown();
    return m("mo", word === "-" ? "−" : word === "*" ? "∗" : word);
  }

  /** @param {string} name @returns {Element | null} */
  command(name) {
    if (name in LETTERS) return m("mi", LETTERS[name]);
    if (name in OPERATORS) return m("mo", OPERATORS[name]);
    if (FUNCTIONS.has(name)) return m("mi", name);
    if (TEXTS.has(name)) return m("mtext", this.words());
    if (IGNORED.has(name)) {
      if (this.list[this.next] === ".") this.next++;
      return null;
    }
    if (name === "frac" || name === "dfrac" || name === "tfrac") return m("mfrac", this.argument(), this.argument());
    if (name === "binom") return this.binomial();
    if (name === "sqrt") return this.root();
    if (name === "boxed") return this.boxed();
    if (name === "overline" || name === "bar") return m("mover", this.argument(), m("mo", "‾"));
    if (name === "hat") return m("mover", this.argument(), m("mo", "^"));
    if (name === "vec") return m("mover", this.argument(), m("mo", "→"));
    throw new Unknown();
  }

  binomial() {
    const fraction = m("mfrac", this.argument(), this.argument());
    fraction.setAttribute("linethickness", "0");
    return m("mrow", m("mo", "("), fraction, m("mo", ")"));
  }

  root() {
    this.skip();
    if (this.list[this.next] !== "[") return m("msqrt", this.argument());
    this.next++;
    const degree = m("mrow", ...this.until("]"));
    return m("mroot", this.argument(), degree);
  }

  boxed() {
    const row = m("mrow", this.argument());
    row.setAttribute("class", "boxed");
    return row;
  }
}
