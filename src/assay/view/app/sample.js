// @ts-check
/** The page of a sample: the conversation, the extracted answer, the verdicts with their reasons, and the raw record. */

import { asText, count, duration, h, num, outcomeClass, outcomeWords, plural, replace, scoreTone } from "./dom.js";
import { waveform } from "./charts.js";
import { formatted, isFormatted } from "./markdown.js";

/**
 * @typedef {object} Place
 * @property {import("./source.js").Source} source
 * @property {string} id
 * @property {number} row
 * @property {any} [cell]
 * @property {number | null} [value]
 * @property {boolean} [blind] whether it is shown to a person who labels it
 * @property {(() => void)[]} [redraws] what draws each formatted text again
 */

const MEDIA = new Set(["image", "audio", "video"]);
const WHY = ["rule", "reason", "error", "reply", "replies"];
/** Arguments and results with more characters are folded at first. */
const LONG_CALL = 300;
const LONG_RESULT = 1500;
const FOLDED = 2400;

/** @param {any} sample @param {Place} given */
export function samplePanel(sample, given) {
  /** @type {Place} */
  const place = { ...given, redraws: [] };
  const inner = panel(sample, place);
  if (place.redraws?.length) inner.querySelector(".sample-head")?.append(formatButton(place));
  return inner;
}

const PLAIN = "assay-plain-text";

/** True if texts are shown without formatting. */
function isPlain() {
  try { return localStorage.getItem(PLAIN) === "1"; } catch { return plainHere; }
}
let plainHere = false;

/** Creates a button that switches between formatted and plain text. @param {Place} place */
function formatButton(place) {
  const button = h("button", { type: "button", class: "chip format", "aria-pressed": String(isPlain()), onclick: () => {
    plainHere = !isPlain();
    try { localStorage.setItem(PLAIN, plainHere ? "1" : "0"); } catch { /* a page from a file may have no storage */ }
    button.setAttribute("aria-pressed", String(plainHere));
    for (const redraw of place.redraws ?? []) redraw();
  } }, "Plain text");
  return button;
}

/** @param {any} sample @param {Place} place */
function panel(sample, place) {
  const last = sample.rounds[sample.rounds.length - 1];
  const verdict = sample.verdicts[0];
  return h("div", { class: "sample" },
    h("div", { class: "sample-head" }, h("h1", null, sample.id, sample.epoch ? h("span", { class: "muted" }, ` · answer ${sample.epoch + 1}`) : null),
      ...sample.verdicts.slice(0, 4).map((/** @type {any} */ v) => verdictBadge(v, place.cell)),
      place.blind ? null : h("p", { class: "muted small" }, `${sample.task} · ${sample.model}`)),
    sample.damage ? h("div", { class: "notice bad", role: "alert" }, h("p", null, sample.damage)) : null,
    tagChips(verdict),
    conversation(sample, place),
    sample.target !== undefined && sample.target !== null ? section("Target", h("div", { class: "target", dir: "auto" }, text(asText(sample.target), place))) : null,
    place.blind ? null : sample.verdicts.length ? section("Verdict", ...sample.verdicts.map((/** @type {any} */ v) => verdictBox(v, place))) : section("Verdict", h("p", { class: "muted" }, "This sample has no verdict yet.")),
    sample.calls.length ? section(sample.calls.every((/** @type {any} */ c) => c.role.startsWith("judge")) ? "Judge" : "Helpers", ...sample.calls.map((/** @type {any} */ c) => callBox(c, place))) : null,
    last && !place.blind ? section("Cost and time", costs(sample.rounds)) : null,
    place.blind ? null : rawBox(sample, place));
}

/** @param {string} title @param {...any} inner */
function section(title, ...inner) {
  return h("section", null, h("h2", null, title), ...inner);
}

/** @param {any} v @param {any} [cell] */
function verdictBadge(v, cell) {
  const values = Object.entries(v.values ?? {});
  const first = values[0]?.[1];
  const words = v.outcome === "scored" ? values.slice(0, 3).map(([name, value]) => `${name} ${value === null ? "–" : num(/** @type {number} */ (value)).replace(/\.?0+$/, "")}`).join(", ") : `${v.scorer}: ${outcomeWords(v.outcome)}`;
  const tone = v.outcome !== "scored" ? outcomeClass(v.outcome) : scoreTone(/** @type {number | null | undefined} */ (first), cell ?? { higher_is_better: true });
  return h("span", { class: `verdict ${tone}` }, words || outcomeWords(v.outcome));
}

/** @param {any} verdict */
function tagChips(verdict) {
  const tags = Object.entries(verdict?.tags ?? {});
  return tags.length ? h("p", { class: "tags" }, tags.map(([name, value]) => h("span", { class: "tag" }, h("span", { class: "muted" }, `${name} `), h("bdi", null, asText(value))))) : null;
}

/** Returns the turns of all rounds; of a later round only those after the earlier prompt and answer. @param {any} sample @param {Place} place */
function conversation(sample, place) {
  const turns = [];
  /** @type {any[] | null} */
  let before = null;
  for (const [i, round] of sample.rounds.entries()) {
    const spoken = (round.prompt ?? []).filter((/** @type {any} */ t) => t.content !== undefined && t.content !== null);
    // A later round of a task with tools contains only new turns: the previous answer and what followed.
    const isTail = round.follows && before;
    const goesOn = !isTail && before && before.length < spoken.length && before.every((t, k) => JSON.stringify(t) === JSON.stringify(spoken[k]));
    const shown = isTail ? spoken.slice(1) : goesOn ? spoken.slice(/** @type {any[]} */ (before).length + 1) : spoken;
    if (sample.rounds.length > 1) turns.push(h("h3", { class: "round" }, `Round ${i + 1}`));
    turns.push(...shown.map((/** @type {any} */ turn) => turnBox(turn.role, turn.content, place)));
    if (round.continuations) turns.push(continuations(round));
    turns.push(...answers(round, i === sample.rounds.length - 1 ? sample.verdicts : [], place));
    before = spoken;
  }
  // The results of the last calls, such as a submitted answer, are in no later prompt.
  if (sample.results?.length) turns.push(turnBox("tool", sample.results, place));
  return h("section", { class: "conversation", "aria-label": "Conversation" }, turns.length ? turns : h("p", { class: "muted" }, "This sample was never asked: its row could not be used."));
}

/** @param {string} role @param {any} content @param {Place} place */
function turnBox(role, content, place) {
  const kind = role === "system" || role === "developer" ? "system" : role === "assistant" ? "assistant" : role === "tool" ? "tool" : "user";
  const folded = kind === "system" && typeof content === "string" && content.length > 600;
  const inner = parts(content, place);
  return h("div", { class: `turn ${kind}` }, h("span", { class: "role" }, role || "text"), folded ? h("details", null, h("summary", null, `${content.slice(0, 140)} …`), ...inner) : inner);
}

/** @typedef {{ read: string | null, span?: number[] }} Mark what was read as the answer, and where if its scorer said so */

/** @param {any} content @param {Place} place @param {Mark} [mark] @returns {HTMLElement[]} */
function parts(content, place, mark) {
  if (typeof content === "string") return content ? [text(content, place, mark)] : [];
  const found = [];
  const all = Array.isArray(content) ? content : [content];
  const images = all.filter((p) => p?.type === "image" && p.sha256);
  const words = all.filter((p) => typeof p === "string" || p?.type === "text").length;
  for (const part of all) {
    if (part?.type === "image" && images.length > 1) {
      if (part === images[0]) found.push(h("div", { class: "gallery" }, images.map((p) => medium(p, place))));
    } else if (MEDIA.has(part?.type) && part.sha256) found.push(medium(part, place));
    else if (part?.type === "reasoning") found.push(h("details", { class: "thought" }, h("summary", null, `Reasoning (${count((part.text ?? "").length)} characters)`), text(part.text ?? "", place)));
    else if (part?.type === "tool_call") found.push(callBlock(part));
    else if (part?.type === "tool_result") found.push(resultBlock(part, place));
    else if (part?.type === "json") found.push(h("pre", null, asText(part.value)));
    else found.push(text(typeof part === "string" ? part : part?.text ?? asText(part), place, words === 1 ? mark : mark && { read: mark.read }));
  }
  return found;
}

/** Shows a call as a block that can be folded: the tool, and its arguments by name. @param {any} call */
function callBlock(call) {
  const isReadable = call.arguments && typeof call.arguments === "object";
  const values = isReadable ? Object.entries(call.arguments) : [];
  const line = isReadable ? values.map(([name, value]) => `${name}: ${asText(value)}`).join(", ") : asText(call.arguments);
  const inner = values.length ? h("dl", null, values.flatMap(([name, value]) => [h("dt", null, name), h("dd", { class: "pre", dir: "auto" }, asText(value))])) : h("pre", null, line || "no arguments");
  return h("details", { class: "call", open: line.length < LONG_CALL }, h("summary", null, h("b", null, "call "), h("code", null, call.name), line.length < LONG_CALL ? null : h("span", { class: "muted" }, ` ${line.slice(0, 80)} …`)), inner);
}

/** Shows the result of a tool as a block that can be folded. @param {any} result @param {Place} place */
function resultBlock(result, place) {
  const content = result.content ?? [];
  const words = content.map((/** @type {any} */ p) => p?.text ?? "").join("");
  return h("details", { class: result.error ? "call failed" : "call", open: words.length < LONG_RESULT }, h("summary", null, h("b", null, result.error ? `result (${result.error}) ` : "result "), words.length < LONG_RESULT ? null : h("span", { class: "muted" }, `${words.slice(0, 80)} … (${count(words.length)} characters)`)), ...parts(content, place));
}

/** Shows the continuations that were scored after the prompt, with their likelihoods. @param {any} round */
function continuations(round) {
  const weights = (round.output?.likelihoods ?? []).map((/** @type {any} */ l) => Number(l[0]));
  const best = Math.max(...weights);
  const total = weights.reduce((/** @type {number} */ sum, /** @type {number} */ w) => sum + Math.exp(w - best), 0);
  return h("table", { class: "plain weights" }, h("caption", null, "Continuations and their likelihoods"), h("tbody", null, round.continuations.map((/** @type {string} */ words, /** @type {number} */ i) => {
    const share = weights.length ? Math.exp(weights[i] - best) / total : 0;
    return h("tr", { class: weights[i] === best ? "best" : "" }, h("td", { class: "pre", dir: "auto" }, words), h("td", { class: "number mono small" }, weights.length ? weights[i].toFixed(3) : ""),
      h("td", { class: "share" }, h("span", { class: "meter", style: { width: `${(share * 100).toFixed(1)}%` } })), h("td", { class: "number small muted" }, weights.length ? `${(share * 100).toFixed(1)} %` : ""));
  })));
}

/** @param {any} round @param {any[]} verdicts @param {Place} place */
function answers(round, verdicts, place) {
  const output = round.output ?? {};
  const boxes = [];
  if (output.error) boxes.push(h("div", { class: "turn failed" }, h("span", { class: "role" }, "no answer"), h("p", null, h("b", null, output.error.kind), ` ${output.error.message ?? ""}`)));
  const candidates = output.candidates ?? [];
  const each = candidates.map((/** @type {any} */ c, /** @type {number} */ i) => {
    const details = verdicts[0]?.details;
    const first = verdicts.find((v) => v.answer !== undefined && v.answer !== null);
    const read = candidates.length > 1 ? details?.answers?.[i] : first?.answer;
    const span = candidates.length > 1 ? details?.candidates?.[i]?.span : first?.details?.span;
    const stop = c.stop_reason && c.stop_reason !== "stop" ? h("span", { class: "stop" }, c.stop_reason === "length" ? "cut at the token limit" : c.stop_reason) : null;
    const score = candidates.length > 1 ? verdicts[0]?.candidates?.[i] : undefined;
    const title = candidates.length > 1 ? `answer ${i + 1}` : "answer";
    return h("div", { class: "turn assistant answer-box" }, h("span", { class: "role" }, title, score !== undefined && score !== null ? h("b", { class: score === 1 ? "t-good" : score === 0 ? "t-bad" : "t-mid" }, ` ${num(score).replace(/\.?0+$/, "")}`) : null, stop), parts(c.text ?? c.parts ?? "", place, { read: typeof read === "string" ? read : null, span }), tokenStrip(c.tokens));
  });
  if (each.length > 1) boxes.push(h("div", { class: "beside" }, each));
  else boxes.push(...each);
  if (!each.length && !output.error && !round.continuations) boxes.push(h("p", { class: "muted" }, "The answer is empty."));
  return boxes;
}

/** Shows tokens shaded by their probability. @param {any[] | undefined} tokens */
function tokenStrip(tokens) {
  if (!tokens?.length) return null;
  return h("details", { class: "tokens" }, h("summary", null, `${plural(tokens.length, "token")} with their likelihoods`), h("p", { class: "mono small" }, tokens.map(([words, logprob]) => {
    const p = Math.exp(Number(logprob));
    return h("span", { class: p > 0.9 ? "sure4" : p > 0.5 ? "sure3" : p > 0.1 ? "sure2" : "sure1", title: `${(p * 100).toFixed(1)} %` }, words);
  })));
}

/**
 * Shows a text: formatted if it is Markdown, unless the user prefers plain text; folded if it is long; with the extracted answer marked.
 * @param {string} words @param {Place} place @param {Mark} [mark]
 */
function text(words, place, mark) {
  const [start, end] = marked(words, mark);
  const box = h("div", { class: "text", dir: "auto" });
  const isLong = words.length > FOLDED * 1.5 && start <= FOLDED;
  let shown = isLong ? words.slice(0, FOLDED) : words;
  const draw = () => {
    const isMarked = start >= 0 && end <= shown.length;
    const isMarkdown = isFormatted(shown) && !isPlain();
    box.classList.toggle("formatted", isMarkdown);
    if (isMarkdown) replace(box, isMarked ? formatted(shown, start, end) : formatted(shown));
    else if (isMarked) replace(box, shown.slice(0, start), h("mark", { title: "read as the answer" }, shown.slice(start, end)), shown.slice(end));
    else replace(box, shown);
  };
  draw();
  if (isFormatted(words)) place.redraws?.push(draw);
  if (!isLong) return box;
  const more = h("button", { type: "button", class: "quiet", onclick: () => { shown = words; draw(); more.remove(); } }, `${count(words.length - FOLDED)} more characters`);
  return h("div", null, box, more);
}

/** Returns start and end of the extracted answer: as the scorer gave them, else its most likely position. @param {string} words @param {Mark} [mark] */
export function marked(words, mark) {
  const [start, end] = Array.isArray(mark?.span) ? mark.span.map((n) => units(words, n)) : [-1, -1];
  const whole = words.trim().length;
  if (start >= 0 && start < end && end <= words.length) return words.slice(start, end).trim().length < whole ? [start, end] : [-1, -1];
  const read = mark?.read?.trim();
  const place = read && read.length < whole ? locate(words, read) : -1;
  return [place, place + (read?.length ?? 0)];
}

/** Converts Python's character positions to JavaScript's, in which some characters count as two. @param {string} words @param {number} characters */
function units(words, characters) {
  return /[\ud800-\udfff]/.test(words) ? [...words].slice(0, characters).join("").length : characters;
}

/** Returns the most likely position of an extracted answer: its last occurrence as a whole word. @param {string} words @param {string} read */
export function locate(words, read) {
  const edge = (/** @type {string} */ c) => !c || !/[\p{L}\p{N}]/u.test(c);
  for (const [hay, needle] of [[words, read], [words.toLowerCase(), read.toLowerCase()]]) {
    if (hay.length !== words.length) continue;
    let last = -1;
    for (let at = hay.lastIndexOf(needle); at >= 0; at = at > 0 ? hay.lastIndexOf(needle, at - 1) : -1) {
      if (last < 0) last = at;
      if (edge(hay[at - 1] ?? "") && edge(hay[at + needle.length] ?? "")) return at;
    }
    if (last >= 0 && needle.length > 3) return last;
  }
  return -1;
}

/** @param {any} v @param {Place} place */
function verdictBox(v, place) {
  const values = Object.entries(v.values ?? {});
  const why = WHY.flatMap((name) => {
    const value = v.details?.[name];
    if (value === undefined || value === null || ((name === "reply" || name === "replies") && v.details?.asked)) return [];
    return [h("div", { class: "why" }, h("span", { class: "muted small" }, name), text(Array.isArray(value) ? value.map(asText).join("\n") : asText(value), place))];
  });
  const rest = Object.fromEntries(Object.entries(v.details ?? {}).filter(([name]) => !WHY.includes(name) && name !== "asked"));
  return h("div", { class: "card verdict-box" },
    h("div", { class: "verdict-line" }, h("b", null, v.scorer), h("span", { class: `verdict ${v.outcome === "scored" ? "" : outcomeClass(v.outcome)}` }, outcomeWords(v.outcome)),
      values.map(([name, value]) => h("span", { class: "pair" }, h("span", { class: "muted small" }, name === v.scorer ? "value" : name.replace(`${v.scorer}.`, "")), h("b", { class: "mono" }, value === null ? "–" : String(Number(Number(value).toPrecision(6)))))),
      v.answer !== undefined && v.answer !== null ? h("span", { class: "pair" }, h("span", { class: "muted small" }, "read"), h("span", { class: "read", dir: "auto" }, v.answer.length > 160 ? `${v.answer.slice(0, 160)}…` : v.answer)) : null),
    why,
    Object.keys(rest).length ? h("details", null, h("summary", null, "Details"), h("pre", null, asText(rest))) : null);
}

/** Shows the prompt of a judge and its reply. @param {any} call @param {Place} place */
function callBox(call, place) {
  return h("div", { class: "card judge" }, h("div", { class: "verdict-line" }, h("b", null, call.role), h("span", { class: "muted" }, call.model), call.output?.seconds !== undefined ? h("span", { class: "muted small" }, duration(call.output.seconds)) : null),
    h("details", null, h("summary", null, "Its prompt"), (call.prompt ?? []).filter((/** @type {any} */ t) => t.content !== undefined).map((/** @type {any} */ t) => turnBox(t.role, t.content, place))),
    answers(call, [], place));
}

/** @param {any[]} rounds */
function costs(rounds) {
  const sum = (/** @type {(r: any) => number | undefined} */ of) => { const all = rounds.map(of).filter((v) => typeof v === "number"); return all.length ? all.reduce((a, b) => /** @type {number} */ (a) + /** @type {number} */ (b), 0) : undefined; };
  const pairs = [["time", sum((r) => r.output?.seconds), duration], ["tokens in", sum((r) => r.output?.usage?.input_tokens), count], ["tokens out", sum((r) => r.output?.usage?.output_tokens), count], ["from cache", sum((r) => r.output?.usage?.cached_tokens), count], ["thinking", sum((r) => r.output?.usage?.reasoning_tokens), count], ["cost", sum((r) => r.output?.usage?.cost), (/** @type {number} */ c) => c.toFixed(5)]];
  const known = pairs.filter(([, value]) => value !== undefined);
  return h("p", { class: "pairs" }, known.length ? known.map(([name, value, show]) => h("span", { class: "pair" }, h("span", { class: "muted small" }, String(name)), h("b", { class: "mono" }, /** @type {any} */ (show)(value)))) : h("span", { class: "muted" }, "No usage was recorded."));
}

/** @param {any} sample @param {Place} place */
function rawBox(sample, place) {
  const url = place.source.raw(place.id, place.row);
  const pre = h("pre");
  const box = h("details", { class: "raw", ontoggle: () => { if (!pre.textContent) pre.textContent = JSON.stringify(sample, null, 1).slice(0, 400000); } }, h("summary", null, "Raw record"), pre);
  return h("section", null, box, url ? h("a", { href: url, class: "quiet-link", download: "record.txt" }, "Save the journal lines") : null);
}

/** Shows an image, audio or video, or the reason why it cannot be shown. @param {any} part @param {Place} place */
export function medium(part, place) {
  const url = place.source.medium(place.id, place.row, part, "full");
  const facts = [part.format, part.width && `${part.width} × ${part.height}`, part.seconds && duration(part.seconds), part.rate && `${part.rate} Hz`, part.bytes && `${count(Math.ceil(part.bytes / 1000))} kB`].filter(Boolean).join(" · ");
  const box = h("figure", { class: `medium ${part.type}` });
  const failed = async () => replace(box, h("p", { class: "notice" }, `This ${part.type} cannot be shown: ${await place.source.why(url)}.`));
  if (!url) { failed(); return box; }
  if (part.type === "image") {
    const image = h("img", { src: url, class: part.width && part.width < 64 ? "pixels" : "", alt: `Image ${part.sha256.slice(0, 8)} of sample`, loading: "lazy", onerror: failed });
    replace(box, h("button", { type: "button", class: "zoom", "aria-label": "Enlarge the image", onclick: () => enlarge(url) }, image));
  } else if (part.type === "audio") replace(box, player(part, url, place, failed));
  else replace(box, h("video", { src: url, controls: true, preload: "metadata", onerror: failed }));
  if (facts) box.append(h("figcaption", { class: "muted small" }, facts));
  return box;
}

/** @param {string} url */
function enlarge(url) {
  const close = () => { dialog.close(); dialog.remove(); };
  const dialog = /** @type {HTMLDialogElement} */ (h("dialog", { class: "large", "aria-label": "Image", onclick: close, oncancel: () => dialog.remove() }, h("img", { src: url, alt: "The image in full size" }), h("button", { type: "button", class: "button", onclick: close }, "Close")));
  document.body.append(dialog);
  dialog.showModal();
}

/** Creates a waveform that is also the slider of an audio player. @param {any} part @param {string} url @param {Place} place @param {() => void} failed */
function player(part, url, place, failed) {
  const audio = /** @type {HTMLAudioElement} */ (h("audio", { src: url, preload: "metadata", onerror: failed }));
  const time = h("span", { class: "mono small" }, part.seconds ? clock(part.seconds) : "–:––");
  const button = h("button", { type: "button", class: "play", "aria-label": "Play", onclick: () => { if (audio.paused) audio.play().catch(failed); else audio.pause(); } }, "▶");
  const bed = h("div", { class: "wave-box", role: "slider", tabindex: "0", "aria-label": "Position in the audio", "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": 0 });
  const played = h("div", { class: "played", "aria-hidden": "true" });
  const length = () => (Number.isFinite(audio.duration) ? audio.duration : part.seconds ?? 0);
  const seek = (/** @type {number} */ share) => { if (length()) audio.currentTime = Math.max(0, Math.min(1, share)) * length(); };
  bed.addEventListener("click", (event) => { const at = bed.getBoundingClientRect(); seek((event.clientX - at.left) / at.width); });
  bed.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 0.05, ArrowLeft: -0.05 }[event.key];
    if (event.key === " ") { event.preventDefault(); button.click(); }
    if (step && length()) { event.preventDefault(); seek(audio.currentTime / length() + step); }
  });
  const tell = () => {
    const share = length() ? audio.currentTime / length() : 0;
    played.style.width = `${share * 100}%`;
    bed.setAttribute("aria-valuenow", String(Math.round(share * 100)));
    bed.setAttribute("aria-valuetext", clock(audio.currentTime));
    time.textContent = `${clock(audio.currentTime)} / ${clock(length())}`;
  };
  for (const name of ["timeupdate", "loadedmetadata", "seeked"]) audio.addEventListener(name, tell);
  audio.addEventListener("play", () => { button.textContent = "❚❚"; button.setAttribute("aria-label", "Pause"); });
  audio.addEventListener("pause", () => { button.textContent = "▶"; button.setAttribute("aria-label", "Play"); });
  place.source.wave(place.id, place.row, part).then((peaks) => { if (peaks.length) bed.append(waveform(peaks), played); else bed.append(played); }, () => bed.append(played));
  return h("div", { class: "player" }, button, bed, time, audio);
}

/** @param {number} seconds */
function clock(seconds) {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
}
