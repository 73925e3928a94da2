// @ts-check
// The price beside the form: asked for whenever what is typed has changed.
import { replace } from "./events.js";

const PAUSE = 500; // milliseconds without typing
const AGAIN = 1000; // milliseconds until a service is asked again that works out another price
const form = /** @type {HTMLFormElement} */ (document.getElementById("new"));
let timer = 0;
let asking = new AbortController();

/**
 * @param {string} what
 * @param {AbortSignal} signal
 * @returns {Promise<boolean>}
 */
async function ask(what, signal) {
  const place = /** @type {HTMLElement} */ (document.getElementById(what));
  place.setAttribute("aria-busy", "true");
  const body = new URLSearchParams(/** @type {any} */ (new FormData(form)));
  const answer = await fetch(`/create/${what}`, { method: "POST", body, signal });
  if (answer.status === 401) location.reload();
  const told = await answer.json();
  if (told.again) {
    await new Promise((resume) => setTimeout(resume, AGAIN));
    signal.throwIfAborted();
    return ask(what, signal);
  }
  if (told.html) replace(what, told.html);
  else {
    const sentence = document.createElement("p");
    sentence.className = "hint";
    sentence.textContent = told.error?.message ?? Object.values(told.problems).join(" ");
    place.replaceChildren(sentence);
  }
  place.removeAttribute("aria-busy");
  return Boolean(told.html);
}

async function tell() {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  try {
    if (await ask("price", signal)) await ask("expected", signal);
  } catch (error) {
    // What was asked before is of no interest any more; a service that is away is asked again at the next change.
    if (!signal.aborted) for (const id of ["price", "expected"]) document.getElementById(id)?.removeAttribute("aria-busy");
  }
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(tell, PAUSE);
});
if (/** @type {HTMLInputElement} */ (form.elements.namedItem("devices")).value) tell();
