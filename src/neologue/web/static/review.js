// @ts-check
// The review by keyboard. Everything here can also be done with the forms of the page.

const VERDICT_OF = { a: "accepted", r: "rejected", h: "hidden", o: "open" };
const STORAGE_KEY = "neologue-review-keys";

const review = /** @type {HTMLElement} */ (document.getElementById("review"));
const announcement = /** @type {HTMLElement} */ (document.getElementById("announcement"));
const note = /** @type {HTMLInputElement | null} */ (document.getElementById("note"));
const keys = /** @type {HTMLInputElement} */ (document.getElementById("keys"));
const every = /** @type {HTMLInputElement | null} */ (document.getElementById("every"));
const rows = /** @type {HTMLTableRowElement[]} */ ([...review.querySelectorAll("tbody tr[data-word]")]);

/** The checkbox of a row. */
function checkbox(/** @type {HTMLTableRowElement} */ row) {
  return /** @type {HTMLInputElement} */ (row.querySelector('input[name="word"]'));
}

/** The row that has the focus, or something in it. */
function current() {
  return rows.find((row) => row.contains(document.activeElement));
}

/** Move the focus by so many rows, or to the first one. */
function move(/** @type {number} */ step) {
  const here = current();
  const index = here ? rows.indexOf(here) + step : 0;
  rows[Math.max(0, Math.min(rows.length - 1, index))]?.focus();
}

/** Change the count of the words with a verdict. */
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
    const result = await reply.json();
    if (!reply.ok) throw new Error(result.error.message);
    const shown = /** @type {HTMLElement} */ (row.querySelector(".verdict span"));
    count(shown.textContent, -1);
    count(result.verdict, 1);
    shown.textContent = result.verdict;
    shown.className = `is-${result.verdict}`;
    announcement.className = "unseen";
    announcement.textContent = `${word}: ${result.verdict}`;
  } catch (error) {
    announcement.textContent = `Not decided: ${error instanceof Error ? error.message : error}`;
    announcement.className = "problem";
  }
}

/** Whether a key press is input for a field. */
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
    move(1); // at once: the next key of a quick reviewer is for the next word
  } else if (row && event.key === "x") checkbox(row).checked = !checkbox(row).checked;
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
  for (const row of rows) checkbox(row).checked = every.checked;
});

keys.checked = localStorage.getItem(STORAGE_KEY) !== "off";
keys.addEventListener("change", () => localStorage.setItem(STORAGE_KEY, keys.checked ? "on" : "off"));
