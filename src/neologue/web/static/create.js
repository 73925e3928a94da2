// @ts-check
// The cost beside the form, fetched again whenever the form has changed.
import { replace } from "./events.js";

const PAUSE = 500; // milliseconds without typing
const AGAIN = 1000; // milliseconds until a busy service is asked again
const form = /** @type {HTMLFormElement} */ (document.getElementById("new"));
let timer = 0;
let asking = new AbortController();

/**
 * @param {string} what
 * @param {AbortSignal} signal
 * @returns {Promise<boolean>}
 */
async function ask(what, signal) {
  const element = /** @type {HTMLElement} */ (document.getElementById(what));
  element.setAttribute("aria-busy", "true");
  const body = new URLSearchParams(/** @type {any} */ (new FormData(form)));
  const answer = await fetch(`/create/${what}`, { method: "POST", body, signal });
  if (answer.status === 401) location.reload();
  const result = await answer.json();
  if (result.again) {
    await new Promise((resume) => setTimeout(resume, AGAIN));
    signal.throwIfAborted();
    return ask(what, signal);
  }
  if (result.html) replace(what, result.html);
  else {
    const sentence = document.createElement("p");
    sentence.className = "hint";
    sentence.textContent = result.error?.message ?? Object.values(result.problems).join(" ");
    element.replaceChildren(sentence);
  }
  element.removeAttribute("aria-busy");
  return Boolean(result.html);
}

async function update() {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  try {
    if (await ask("price", signal)) await ask("expected", signal);
  } catch (error) {
    // An aborted request is superseded; an unreachable service is asked again at the next change.
    if (!signal.aborted) for (const id of ["price", "expected"]) document.getElementById(id)?.removeAttribute("aria-busy");
  }
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(update, PAUSE);
});
if (/** @type {HTMLInputElement} */ (form.elements.namedItem("devices")).value) update();
