// @ts-check
// The explorer of the trie: a tree whose branches are fetched when they are opened.
import { listen } from "./events.js";

/** @typedef {{ text: string, below: number, estimate: number | null, share: number | null }} Branch */

const part = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const [explorer, tree, status] = ["explorer", "tree", "status"].map(part);
const query = /** @type {HTMLInputElement} */ (part("query"));

const whole = (/** @type {number} */ number) => Math.round(number).toLocaleString("en");
/** A share as people write it: two digits that count, and no more than is known. */
const percent = (/** @type {number} */ share) => `${Number((100 * share).toPrecision(2))} %`;
const symbols = (/** @type {string} */ text) => Array.from(text);
/** Show blank and control characters as signs, as all pages do. */
const visible = (/** @type {string} */ text) =>
  text
    .replace(/[\u0000-\u0020]/g, (sign) => String.fromCodePoint(0x2400 + (sign.codePointAt(0) ?? 0)))
    .replace(
      /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Z}]/gu,
      (sign) => `⟨${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`,
    );

/**
 * An element with text in it, never markup.
 * @param {string} tag
 * @param {string} className
 * @param {string} text
 */
function make(tag, className, text) {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

/**
 * Fetch the continuations of a prefix.
 * @param {string} prefix
 * @param {number} start
 * @returns {Promise<{ branches: Branch[], more: number }>}
 */
async function fetchBranches(prefix, start = 0) {
  const search = new URLSearchParams({ prefix, start: String(start) });
  const answer = await fetch(`${explorer.dataset.branches}?${search}`);
  if (answer.status === 401) location.reload();
  const result = await answer.json();
  if (!answer.ok) throw new Error(result.error.message);
  return result;
}

/** @param {Branch} branch */
function item({ text, below, estimate, share }) {
  const made = document.createElement("li");
  const row = make("div", "branch", "");
  const shown = make("bdi", "term", "");
  const tail = symbols(text).at(-1) ?? "";
  shown.append(
    make("span", "before", visible(text.slice(0, text.length - tail.length))),
    make("span", estimate === null ? "" : "is-word", visible(tail)),
  );
  if (estimate !== null) shown.className += " is-word";
  const figures = [];
  if (estimate !== null) figures.push(`word, ${whole(estimate)} users`);
  if (share !== null) figures.push(`${percent(share)} of users have other words`);
  if (below) figures.push(`${whole(below)} below`);
  row.append(make("span", "twist", below ? "▸" : ""), shown, make("span", "figures", figures.join(" · ")));
  row.firstElementChild?.setAttribute("aria-hidden", "true");
  made.setAttribute("role", "treeitem");
  made.setAttribute("aria-label", [visible(text), ...figures].join(", "));
  made.dataset.text = text;
  made.tabIndex = -1;
  if (below) made.setAttribute("aria-expanded", "false");
  made.append(row);
  return made;
}

/**
 * Append the branches of a prefix to a list; one more item stands for those not listed yet.
 * @param {HTMLElement} list
 * @param {string} prefix
 * @param {number} start
 */
async function fill(list, prefix, start = 0) {
  const { branches, more } = await fetchBranches(prefix, start);
  list.append(...branches.map(item));
  if (!more) return;
  const rest = make("li", "", "");
  rest.append(make("div", "branch hint", `${whole(more)} more`));
  rest.setAttribute("role", "treeitem");
  rest.tabIndex = -1;
  rest.dataset.next = String(start + branches.length);
  rest.dataset.prefix = prefix;
  list.append(rest);
}

/** @param {HTMLElement} node */
async function open(node) {
  if (node.dataset.next) {
    const list = /** @type {HTMLElement} */ (node.parentElement);
    const index = list.children.length - 1;
    await fill(list, node.dataset.prefix ?? "", Number(node.dataset.next));
    node.remove();
    focus(list.children[index]);
    return;
  }
  if (node.getAttribute("aria-expanded") !== "false") return;
  node.setAttribute("aria-expanded", "true");
  if (node.querySelector("ul")) return;
  const list = document.createElement("ul");
  list.setAttribute("role", "group");
  await fill(list, node.dataset.text ?? "");
  node.querySelector("ul")?.remove();
  node.append(list);
  // A single continuation is opened too.
  const [only, ...others] = /** @type {HTMLElement[]} */ (Array.from(list.children));
  if (only && !others.length) await open(only);
}

/** @param {HTMLElement} node */
function close(node) {
  if (node.getAttribute("aria-expanded") === "true") node.setAttribute("aria-expanded", "false");
}

const shown = () =>
  /** @type {HTMLElement[]} */ (Array.from(tree.querySelectorAll("[role=treeitem]"))).filter(
    (node) => !node.parentElement?.closest('[aria-expanded="false"]'),
  );

/** @param {Element | null | undefined} node */
function focus(node) {
  if (!(node instanceof HTMLElement)) return;
  for (const other of tree.querySelectorAll('[tabindex="0"]')) other.setAttribute("tabindex", "-1");
  node.tabIndex = 0;
  node.focus();
}

/** @param {unknown} error */
const showError = (error) => {
  status.textContent = error instanceof Error ? error.message : String(error);
};

tree.addEventListener("keydown", (event) => {
  const node = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[role=treeitem]"));
  if (!node || event.altKey || event.ctrlKey || event.metaKey) return;
  const all = shown();
  const index = all.indexOf(node);
  const isOpen = node.getAttribute("aria-expanded") === "true";
  const moves = {
    ArrowDown: () => focus(all[index + 1]),
    ArrowUp: () => focus(all[index - 1]),
    Home: () => focus(all[0]),
    End: () => focus(all.at(-1)),
    ArrowRight: () => (isOpen ? focus(node.querySelector("[role=treeitem]")) : open(node).catch(showError)),
    ArrowLeft: () => (isOpen ? close(node) : focus(node.parentElement?.closest("[role=treeitem]"))),
    Enter: () => (isOpen ? close(node) : open(node).catch(showError)),
    " ": () => (isOpen ? close(node) : open(node).catch(showError)),
  };
  const move = moves[/** @type {keyof moves} */ (event.key)];
  if (!move) return;
  event.preventDefault();
  move();
});

tree.addEventListener("click", (event) => {
  const node = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[role=treeitem]"));
  if (!node) return;
  focus(node);
  if (node.getAttribute("aria-expanded") === "true") close(node);
  else open(node).catch(showError);
});

/**
 * Open the path to a word or prefix, as far as it exists.
 * @param {string} text
 * @returns {Promise<HTMLElement | null>}
 */
async function reach(text) {
  let [found, list] = [/** @type {HTMLElement | null} */ (null), tree];
  for (let length = 1; length <= symbols(text).length; length++) {
    const prefix = symbols(text).slice(0, length).join("");
    const children = /** @type {HTMLElement[]} */ (Array.from(list.children));
    const next = children.find((node) => node.dataset.text === prefix);
    if (!next) return found;
    found = next;
    if (length === symbols(text).length) return found;
    await open(next);
    list = /** @type {HTMLElement} */ (next.querySelector("ul") ?? document.createElement("ul"));
  }
  return found;
}

part("search").addEventListener("submit", async (event) => {
  event.preventDefault();
  const wanted = query.value.trim();
  try {
    const found = await reach(wanted);
    const text = found?.dataset.text ?? "";
    status.textContent =
      text === wanted ? `“${visible(text)}” was kept.` : `Nothing beginning with “${visible(wanted)}” was kept.`;
    if (found) focus(found);
  } catch (error) {
    showError(error);
  }
});

/** Rebuild the tree and open what was open. */
async function rebuild() {
  const opened = Array.from(tree.querySelectorAll('[aria-expanded="true"]'), (node) =>
    String(/** @type {HTMLElement} */ (node).dataset.text),
  );
  const at = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.text : undefined;
  const fresh = document.createElement("ul");
  await fill(fresh, "");
  tree.replaceChildren(...fresh.children);
  tree.firstElementChild?.setAttribute("tabindex", "0");
  for (const text of opened) {
    const node = await reach(text);
    if (node?.dataset.text === text) await open(node);
  }
  if (at !== undefined) focus(await reach(at));
  const count = tree.children.length;
  status.textContent = count ? `${whole(count)} first characters.` : "Nothing has been kept yet.";
}

await rebuild().catch(showError);
if (["draft", "running", "paused"].includes(explorer.dataset.state ?? "")) {
  let first = true;
  listen(explorer.dataset.events ?? "", {
    layers: () => (first ? (first = false) : rebuild().catch(showError)),
    state: (state) => {
      if (state === "released") location.reload();
    },
  });
}
