// @ts-check
// The page of a campaign, kept up to date by the service as long as it is looked at.
import { listen, replace } from "./events.js";

const live = /** @type {HTMLElement} */ (document.getElementById("live"));
const said = /** @type {HTMLElement} */ (document.getElementById("said"));

if (["draft", "running", "paused"].includes(live.dataset.state ?? ""))
  listen(live.dataset.events ?? "", {
    now: (html) => replace("now", html),
    layers: (html) => replace("layers", html),
    said: (sentence) => {
      said.textContent = sentence;
    },
    // Another state has other buttons, and perhaps words.
    state: (state) => {
      if (state !== live.dataset.state) location.reload();
    },
  });
