// The demo page. An app needs three lines of this: import, open, and `typed` with `tick`; the rest makes them visible.
import { Device } from "./neologue-device.js";

const SHOWN_VOTES = 500;
const LONGEST_WAIT = 30; // seconds after which the page asks for another click instead
const FOLLOW_SECONDS = 3; // between two questions about what became of a report
const EDGES = /^[\p{P}\p{S}]+|[\p{P}\p{S}]+$/gu;

const part = (id) => document.getElementById(id);
const number = (value, digits = 4) => value.toLocaleString("en-US", { maximumSignificantDigits: digits });

let device = null;
let noted = new Map();
let timer = null;
let followed = ""; // where to ask what became of a report, in a sandbox
let following = null;
let running = 0;

/** Show what happened, also to screen readers. */
function say(sentence) {
  part("status").textContent = sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

/** Run an action and show its error, which never quotes what was typed; the page is marked busy until it is done. */
async function run(action) {
  running += 1;
  part("main").setAttribute("aria-busy", "true");
  try {
    await action();
  } catch (error) {
    say(error.message);
  }
  running -= 1;
  if (running === 0) part("main").removeAttribute("aria-busy");
}

/** An event handler that runs an action, and then shows how things are. */
function handler(action) {
  return async (event) => {
    event?.preventDefault();
    await run(async () => {
      await run(() => action(event));
      await show();
    });
  };
}

function element(name, text, className) {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

/** Count the words of a text; the last one is still being typed, unless the field was left. */
function wordsOf(text, left) {
  const pieces = text.split(/\s+/u);
  if (!left && !/\s$/u.test(text)) pieces.pop();
  const counts = new Map();
  for (const piece of pieces) {
    const word = piece.replace(EDGES, "");
    if (word) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}

/** Pass the new words of the field to the device. */
async function note(left) {
  const counts = wordsOf(part("type").value, left);
  const fresh = [...counts]
    .map(([word, times]) => [word, times - (noted.get(word) ?? 0)])
    .filter(([, times]) => times > 0);
  noted = counts;
  for (const [word, times] of fresh) await device.typed(word, { times, private: part("private").checked });
  if (fresh.length > 0) await show();
}

function wordRow(word, times, preview) {
  const row = document.createElement("tr");
  const verdict = { true: "yes", false: "no", null: "not known yet" }[preview.counts];
  const cell = element("td", `${verdict}: ${preview.why}`, preview.counts ? "counts" : "counts-not");
  const forget = element("button", "Forget");
  forget.type = "button";
  forget.setAttribute("aria-label", `Forget ${word}`);
  forget.addEventListener(
    "click",
    handler(async () => {
      await device.forget(word);
      say("the word is forgotten");
      part("type").focus();
    }),
  );
  const last = document.createElement("td");
  last.append(forget);
  row.append(element("td", word), element("td", number(times)), cell, last);
  return row;
}

async function show() {
  const isIn = (await device?.optedIn()) ?? false;
  part("consent").textContent = isIn
    ? "You have opted in: words are remembered here, and one report may be sent."
    : "You have not opted in: nothing is remembered and nothing is sent.";
  part("opt-in").disabled = !device || isIn;
  part("opt-out").disabled = !isIn;
  for (const id of ["look", "answer"]) part(id).disabled = !isIn;
  if (!device) return;
  const words = [...(await device.words())].sort(([a], [b]) => a.localeCompare(b));
  const rows = await Promise.all(words.map(async ([word, times]) => wordRow(word, times, await device.preview(word))));
  part("words").replaceChildren(...rows);
  part("no-words").hidden = rows.length > 0;
  const receipts = await device.receipts();
  part("receipts").replaceChildren(...receipts.map((sentence) => element("li", sentence)));
  part("spent").textContent = `ε spent so far, in all campaigns: ${number(await device.spent())}.`;
}

/** Say what became of the report, as the service of a sandbox tells, until its words are released. */
async function follow(meaning, words) {
  if (!followed) return;
  clearTimeout(following);
  const reply = await fetch(followed).catch(() => null);
  if (!reply?.ok) return;
  const { state, reports, needed, kept } = await reply.json();
  const noise = Math.sqrt(reports * meaning.chanceOther * (1 - meaning.chanceOther));
  part("outcome").hidden = false;
  part("outcome-sum").textContent = {
    waiting: "The service has your report, and waits for the next one: it stores only sums of several reports.",
    added:
      `Your report was added to the sum of its layer and deleted. The sum has ${number(reports, 9)} of ` +
      `${number(needed, 9)} reports; the layer is decided when all have come.`,
    decided: `The layer was decided by the sum of ${number(reports, 9)} reports. These beginnings of words stand out:`,
    released: `The campaign is over. Your report was one of ${number(reports, 9)} in its layer. The words are released:`,
  }[state];
  const own = words.map((word) => {
    const longest = kept.filter((text) => word.startsWith(text)).sort((a, b) => b.length - a.length)[0];
    if (longest === word) return `“${word}” stands out: enough people reported it.`;
    return longest
      ? `Of “${word}”, the beginning “${longest}” stands out: enough people reported words that begin so.`
      : `Nothing of “${word}” stands out. Your vote is one; noise alone moves the sum of votes for a word by about ` +
          `${number(noise, 2)}.`;
  });
  if (["decided", "released"].includes(state))
    part("outcome-own").replaceChildren(...own.map((text) => element("li", text)));
  if (state !== "released") following = setTimeout(() => follow(meaning, words), 1000 * FOLLOW_SECONDS);
}

/** Show the bytes that were sent, and what their reader can conclude. */
async function showReport(bytes, words) {
  const meaning = await device.explain(bytes);
  const names = meaning.votes.map(({ prefix, ends }) => (ends ? prefix : `${prefix}…`));
  part("report").hidden = false;
  part("report-size").textContent =
    `${number(bytes.length, 9)} bytes, the same length for every device in this layer.`;
  part("report-bytes").textContent = Array.from(bytes, (octet) => octet.toString(16).padStart(2, "0")).join(" ");
  part("report-meaning").textContent =
    `It votes for ${number(names.length, 9)} of ${number(meaning.candidates, 9)} beginnings of words. Chance alone gives about ` +
    `${number(meaning.noise)} such votes. A beginning of one of your words gets a vote with a probability of ` +
    `${number(100 * meaning.chanceHeld)} %, any other with ${number(100 * meaning.chanceOther)} %. For any word, this ` +
    `report is at most e^${number(meaning.epsilon)} times likelier from somebody who typed it than from somebody who typed ` +
    "another one instead.";
  const own = words.map((word) => {
    const voted = meaning.votes.some(({ prefix, ends }) => (ends ? word === prefix : word.startsWith(prefix)));
    return element(
      "li",
      voted ? `It votes for a beginning of “${word}”.` : `It does not vote for “${word}”, although you typed it.`,
    );
  });
  part("report-own").replaceChildren(...own);
  const more = names.length > SHOWN_VOTES ? ` and ${number(names.length - SHOWN_VOTES, 9)} more` : "";
  part("report-votes").textContent = names.slice(0, SHOWN_VOTES).join(", ") + more;
  await follow(meaning, words);
}

async function answer() {
  clearTimeout(timer);
  const all = [...(await device.words()).keys()];
  say("working: a report leaves at a moment that is drawn before it is made");
  const tick = await device.tick();
  say(tick.message);
  if (tick.report) {
    const previews = await Promise.all(all.map((word) => device.preview(word)));
    await showReport(
      tick.report,
      previews.filter(({ counts }) => counts).map(({ word }) => word),
    );
  }
  // By the clock, as an app would.
  if (tick.again !== null && tick.again <= LONGEST_WAIT) timer = setTimeout(handler(answer), 1000 * tick.again);
}

/** Open the device that the form describes. */
async function open() {
  device?.close();
  device = null;
  const operators = [part("operator").value].filter(Boolean);
  // Sooner than an app would, so that nobody waits long for a demo.
  device = await Device.open({ server: part("server").value, operators, sendingWindow: [1, 3] });
}

async function join() {
  await open();
  await device.join(part("credential").value);
  part("joined").textContent = "This browser has joined the campaign.";
  say("joined: check what is asked, or answer");
}

part("join").addEventListener("submit", handler(join));
part("opt-in").addEventListener(
  "click",
  handler(async () => {
    await device.optIn();
    say("you have opted in");
  }),
);
part("opt-out").addEventListener(
  "click",
  handler(async () => {
    clearTimeout(timer);
    clearTimeout(following);
    await device.optOut();
    noted = new Map();
    part("outcome").hidden = true;
    part("outcome-own").replaceChildren();
    part("type").value = "";
    say("you have opted out, and all words are forgotten");
  }),
);
part("forget-me").addEventListener(
  "click",
  handler(async () => {
    clearTimeout(timer);
    await device.forgetMe();
    noted = new Map();
    part("type").value = "";
    clearTimeout(following);
    part("report").hidden = true;
    part("outcome").hidden = true;
    part("outcome-own").replaceChildren();
    part("joined").textContent = "";
    say("everything is erased except what was spent");
  }),
);
part("look").addEventListener(
  "click",
  handler(async () => say((await device.look()).message)),
);
part("answer").addEventListener("click", handler(answer));
part("type").addEventListener("input", () => run(() => note(false)));
part("type").addEventListener("blur", () => run(() => note(true)));

// The values of a link stay in the browser: a fragment is not sent to any server.
const given = new URLSearchParams(location.hash.slice(1));
part("server").value = given.get("server") ?? location.origin;
part("operator").value = given.get("operator") ?? "";
part("credential").value = given.get("credential") ?? "";
// Only an address of this very service: a link must not make the page ask anybody else.
followed = /^\/[a-z]+\/vote$/.test(given.get("follow") ?? "") ? given.get("follow") : "";
if (given.size > 0) history.replaceState(null, "", location.pathname);

await handler(async () => {
  await open();
  say((await device.optedIn()) ? "ready" : "ready; opt in if you like");
})();
