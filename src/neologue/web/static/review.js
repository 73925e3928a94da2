// @ts-check
// The review by keyboard. Everything here can be done with the forms of the page too.

const VERDICT_OF = { a: "accepted", r: "rejected", h: "hidden", o: "open" };
const KEPT = "neologue-review-keys";

const review = /** @type {HTMLElement} */ (document.getElementById("review"));
const said = /** @type {HTMLElement} */ (document.getElementById("said"));
const note = /** @type {HTMLInputElement | null} */ (document.getElementById("note"));
const keys = /** @type {HTMLInputElement} */ (document.getElementById("keys"));
const every = /** @type {HTMLInputElement | null} */ (document.getElementById("every"));
const rows = /** @type {HTMLTableRowElement[]} */ ([...review.querySelectorAll("tbody tr[data-word]")]);

/** The tick of a row. */
function tick(/** @type {HTMLTableRowElement} */ row) {
  return /** @type {HTMLInputElement} */ (row.querySelector('input[name="word"]'));
}

/** The row that has the focus, or something in it. */
function current() {
  return rows.find((row) => row.contains(document.activeElement));
}

/** Bring the focus to a row: the one so many places further on, or the first. */
function move(/** @type {number} */ step) {
  const here = current();
  const place = here ? rows.indexOf(here) + step : 0;
  rows[Math.max(0, Math.min(rows.length - 1, place))]?.focus();
}

/** Count a word more, or less, among those with a verdict. */
function count(/** @type {string | null} */ verdict, /** @type {number} */ change) {
  const figure = review.querySelector(`[data-count="${verdict}"]`);
  const before = Number(figure?.textContent?.replaceAll(",", ""));
  if (figure) figure.textContent = (before + change).toLocaleString("en-US");
}

/** Rule on the word of a row, and show what the service says. */
async function rule(/** @type {HTMLTableRowElement} */ row, /** @type {string} */ verdict) {
  const token = /** @type {HTMLMetaElement} */ (document.querySelector('meta[name="form-token"]')).content;
  const word = row.dataset.word ?? "";
  const body = new URLSearchParams({ form_token: token, word, verdict, note: note?.value ?? "" });
  try {
    const reply = await fetch(review.dataset.one ?? "", { method: "POST", body });
    const told = await reply.json();
    if (!reply.ok) throw new Error(told.error.message);
    const shown = /** @type {HTMLElement} */ (row.querySelector(".verdict span"));
    count(shown.textContent, -1);
    count(told.verdict, 1);
    shown.textContent = told.verdict;
    shown.className = `is-${told.verdict}`;
    said.className = "unseen";
    said.textContent = `${word}: ${told.verdict}`;
  } catch (error) {
    said.textContent = `Not decided: ${error instanceof Error ? error.message : error}`;
    said.className = "problem";
  }
}

/** Whether a key is meant for a field, not for us. */
function isTyping(/** @type {EventTarget | null} */ target) {
  return target instanceof Element && target.matches('input:not([type="checkbox"]), select, textarea');
}

document.addEventListener("keydown", (event) => {
  if (!keys.checked || event.ctrlKey || event.altKey || event.metaKey || isTyping(event.target)) return;
  const row = current();
  if (event.key === "j" || (event.key === "ArrowDown" && row)) move(1);
  else if (event.key === "k" || (event.key === "ArrowUp" && row)) move(-1);
  else if (event.key === "/") document.getElementById("search")?.focus();
  else if (row && event.key in VERDICT_OF) {
    rule(row, VERDICT_OF[/** @type {"a"} */ (event.key)]);
    move(1); // at once: whoever is quick means the next word with the next key
  } else if (row && event.key === "x") tick(row).checked = !tick(row).checked;
  else return;
  event.preventDefault();
});

for (const row of rows) row.tabIndex = -1;
if (rows[0]) rows[0].tabIndex = 0;

for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (review.querySelectorAll("button[data-verdict]"))) {
  button.addEventListener("click", (event) => {
    event.preventDefault();
    const row = /** @type {HTMLTableRowElement} */ (button.closest("tr"));
    rule(row, button.dataset.verdict ?? "");
  });
}

every?.addEventListener("change", () => {
  for (const row of rows) tick(row).checked = every.checked;
});

keys.checked = localStorage.getItem(KEPT) !== "off";
keys.addEventListener("change", () => localStorage.setItem(KEPT, keys.checked ? "on" : "off"));
