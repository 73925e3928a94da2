// @ts-check
// The page of the sandbox, kept up to date as long as the campaign runs.
import { listen, replace } from "./events.js";

const live = /** @type {HTMLElement} */ (document.getElementById("live"));
const said = /** @type {HTMLElement} */ (document.getElementById("said"));

/** Show what has stood out by now. */
async function grow() {
  const reply = await fetch(live.dataset.growing ?? "");
  if (reply.ok) replace("growing", await reply.text());
}

if (["draft", "running", "paused"].includes(live.dataset.state ?? ""))
  listen(live.dataset.events ?? "", {
    now: (html) => replace("now", html),
    layers: () => grow(),
    said: (sentence) => {
      said.textContent = sentence;
    },
    state: (state) => {
      if (state !== live.dataset.state) location.reload();
    },
  });
