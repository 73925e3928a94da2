// @ts-check
// The page of a campaign, kept up to date while it is open.
import { listen, replace } from "./events.js";

const live = /** @type {HTMLElement} */ (document.getElementById("live"));
const announcement = /** @type {HTMLElement} */ (document.getElementById("announcement"));

if (["draft", "running", "paused"].includes(live.dataset.state ?? ""))
  listen(live.dataset.events ?? "", {
    now: (html) => replace("now", html),
    timeline: (html) => replace("timeline", html),
    layers: (html) => replace("layers", html),
    announcement: (sentence) => {
      announcement.textContent = sentence;
    },
    // Another state has other buttons, and perhaps words.
    state: (state) => {
      if (state !== live.dataset.state) location.reload();
    },
  });
