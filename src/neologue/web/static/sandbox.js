// @ts-check
// The sandbox page, kept up to date while the campaign runs.
import { listen, replace } from "./events.js";

const live = /** @type {HTMLElement} */ (document.getElementById("live"));
const announcement = /** @type {HTMLElement} */ (document.getElementById("announcement"));

/** Show what was found by now. */
async function showFindings() {
  const reply = await fetch(live.dataset.findings ?? "");
  if (reply.ok) replace("findings", await reply.text());
}

if (["draft", "running", "paused"].includes(live.dataset.state ?? ""))
  listen(live.dataset.events ?? "", {
    now: (html) => replace("now", html),
    layers: () => showFindings(),
    announcement: (sentence) => {
      announcement.textContent = sentence;
    },
    state: (state) => {
      if (state !== live.dataset.state) location.reload();
    },
  });
