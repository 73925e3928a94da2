"use strict";
// The explorer of the trie: a tree to open prefix by prefix, and a picture of what is below the one looked at.
//
// Layers come as parallel lists. `children` says how many candidates follow each living prefix of the layer before, so
// that a node is a place in a layer, and its text is known on the way down.
(() => {
  const SOME = 40, COLUMNS = 5, HEIGHT = 400, SMALLEST = 1.5, LABELLED = 11;
  const SVG = "http://www.w3.org/2000/svg";
  const data = JSON.parse(document.getElementById("trie-data").textContent);
  const [explorer, tree, icicle, crumbs, facts, status, query] =
    ["explorer", "tree", "icicle", "crumbs", "facts", "status", "query"].map((id) => document.getElementById(id));
  if (!data.layers.length) return;

  const whole = (number) => Math.round(number).toLocaleString("en");
  const plural = (number, one, many) => `${whole(number)} ${number === 1 ? one : many}`;
  const symbols = (text) => Array.from(text);
  // What is blank or steers the display is shown as a sign, as in the rest of the page.
  const visible = (text) => text
    .replace(/[\u0000-\u0020]/g, (sign) => String.fromCodePoint(0x2400 + sign.codePointAt(0)))
    .replace(/(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Z}]/gu,
      (sign) => `⟨${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
  const dressed = (element, attributes, inside) => {
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...inside);
    return element;
  };
  const make = (tag, attributes = {}, ...inside) => dressed(document.createElement(tag), attributes, inside);
  const drawn = (tag, attributes = {}, ...inside) => dressed(document.createElementNS(SVG, tag), attributes, inside);

  // Nodes. Each has a text, a kind and children. Stems have no votes of their own: the first characters, and the
  // beginnings in between where a layer adds several characters at once.

  const passes = [];
  data.layers.forEach((layer, number) => {
    if (layer.layer === 1) passes.push({ first: number, name: layer.pass });
    layer.starts = [0];
    for (const count of layer.children) layer.starts.push(layer.starts.at(-1) + count);
    layer.known = new Set(layer.known);
    let lived = 0;
    layer.ordinal = layer.tails.map((tail, place) =>
      layer.votes[place] >= layer.needed[place] && symbols(tail).length === layer.extension ? lived++ : -1);
  });
  const stem = (text, parent, rest = {}) =>
    ({ text, tail: text.slice(parent.text.length), kind: "stem", parent, ...rest });
  const tops = passes.map(({ first, name }) => {
    const top = { text: "", kind: "root", label: passes.length > 1 ? `pass ${name}` : "all words", parent: null };
    top.children = data.layers[first].roots.map((text, below) => stem(text, top, { layer: first, below }));
    top.children.sort((one, other) => !living(one) - !living(other));
    return top;
  });
  const root = tops.length === 1
    ? tops[0] : { text: "", kind: "root", label: "all passes", parent: null, children: tops };
  if (tops.length > 1) for (const top of tops) top.parent = root;

  function voted(parent, number, place) {
    const layer = data.layers[number], next = data.layers[number + 1], tail = layer.tails[place];
    const votes = layer.votes[place], needed = layer.needed[place], passed = votes >= needed;
    const ends = symbols(tail).length < layer.extension, known = layer.known.has(place);
    return {
      text: parent.text + tail, tail, parent, ends, passed, known, votes, needed, at: layer,
      held: layer.held[place],
      kind: !passed || known ? "died" : ends ? "word" : "lived",
      estimate: (votes - layer.noise) * layer.scale,
      margin: (votes - needed) / layer.deviation,
      layer: number + 1,
      below: next && next.layer > layer.layer ? layer.ordinal[place] : -1,
    };
  }

  function childrenOf(node) {
    if (!node.children) {
      const { starts, extension } = data.layers[node.layer] || {}, below = [];
      const last = node.below >= 0 ? starts[node.below + 1] : 0;
      for (let place = node.below >= 0 ? starts[node.below] : 0; place < last; place++)
        below.push(voted(node, node.layer, place));
      node.children = grouped(node, below, extension);
    }
    return node.children;
  }

  // Candidates under the stems that they share, the living first.
  function grouped(parent, nodes, symbolsLeft) {
    const stems = new Map(), children = [];
    for (const node of nodes) {
      const next = symbolsLeft > 1 && symbols(node.text.slice(parent.text.length))[0];
      if (!next) children.push(node);
      else if (stems.has(next)) stems.get(next).push(node);
      else stems.set(next, [node]);
    }
    for (const [next, members] of stems) {
      const between = stem(parent.text + next, parent);
      between.children = grouped(between, members, symbolsLeft - 1);
      children.push(between);
    }
    for (const node of children) {
      node.parent = parent;
      node.tail = node.text.slice(parent.text.length);
    }
    const dead = (node) => node.kind === "died" || (node.kind === "stem" && !living(node));
    const order = (one, other) =>
      one.kind === "died" && other.kind === "died" ? other.margin - one.margin : weight(other) - weight(one);
    return children.sort((one, other) => dead(one) - dead(other) || order(one, other));
  }

  function counted(node, counts) {
    const each = (child) => (child.kind === "stem" ? counted(child, counts) : Number(counts(child)));
    return childrenOf(node).reduce((sum, child) => sum + each(child), 0);
  }
  function living(node) { return counted(node, (child) => child.kind !== "died"); }
  function dying(node) { return counted(node, (child) => child.kind === "died"); }
  function leftOut(node) { return node.below >= 0 ? data.layers[node.layer].more[node.below] || 0 : 0; }
  function leads(node) { return !node.at || node.below >= 0; }
  function weight(node) {
    if (node.at) return Math.sqrt(Math.max(1, node.estimate));
    return Math.sqrt(childrenOf(node).reduce((sum, child) => sum + weight(child) ** 2, 1));
  }
  function path(node) { return node ? [...path(node.parent), node] : []; }

  // The node of a word or prefix, or the last one shown on the way to it.
  function find(text) {
    let best = root;
    for (const top of tops) {
      let node = top, next = top;
      while (next) {
        node = next;
        next = childrenOf(node).find((child) =>
          (child.ends ? child.text === text : node.text !== text && text.startsWith(child.text)));
      }
      if (node.kind === "word" && node.text === text) return node;
      if (node.text.length > best.text.length) best = node;
    }
    return best;
  }

  // What is said of a node.

  function figures(node) {
    if (node.kind === "stem")
      return [`${whole(living(node) + leftOut(node))} lived`, plural(dying(node), "near miss", "near misses")];
    if (node.known) return ["a known word", `spelled by noise: ${whole(node.votes)} votes`];
    const size = Math.abs(node.margin), distance = `${size < 100 ? size.toFixed(1) : whole(size)} σ`;
    const users = `about ${whole(Math.max(0, node.estimate))} users`;
    return node.passed ? [`+${distance}`, users] : [`−${distance}`, node.held ? users : "nobody holds it"];
  }

  function spoken(node) {
    if (node.label) return node.label;
    const [first, second] = figures(node), text = visible(node.text);
    if (node.kind === "stem") return `${text}, beginning, ${first}, ${second}`;
    if (node.known) return `${text}, ${first}, ${second}`;
    const thing = node.ends ? "word" : "prefix";
    const became = { word: "found", lived: "that lived", died: "that died" }[node.kind];
    const distance = first.slice(1).replace("σ", "standard deviations");
    const side = node.passed ? "above" : "below";
    return `${text}, ${thing} ${became}, ${second}, ${distance} ${side} the ${whole(node.needed)} votes it needed`;
  }

  function details(node) {
    const { layer, noise, deviation } = node.at;
    const truth = node.ends
      ? `in truth ${node.held ? plural(node.held, "user holds it", "users hold it") : "nobody holds it"}`
      : `in truth ${plural(node.held, "held word begins", "held words begin")} so`;
    return `layer ${layer}: ${plural(node.votes, "vote", "votes")}, ${whole(node.needed)} needed, `
      + `noise ${noise.toFixed(1)} ± ${deviation.toFixed(1)}; `
      + truth;
  }

  // The tree.

  function row(node) {
    const twist = make("span", { class: "twist", "aria-hidden": "true" }, leads(node) ? "▸" : "");
    if (node.kind === "root") return [twist, make("b", {}, node.label)];
    const head = make("span", { class: "head" }, visible(node.parent.text));
    const term = make("bdi", { class: "term" }, head, make("b", {}, visible(node.tail) + (node.ends ? "" : "…")));
    const [first, second] = figures(node);
    if (node.kind === "stem")
      return [twist, term, make("span"), make("span", { class: "figures" }, `${first}, ${second}`)];
    // The threshold is at 30 %; from there the bar grows with the logarithm of the distance, to either side.
    const size = Math.min(1, Math.log1p(Math.abs(node.margin)) / Math.log1p(node.passed ? 3000 : 30));
    const fill = make("i");
    fill.style.left = `${node.passed ? 30 : 30 - 30 * size}%`;
    fill.style.width = `${Math.max(2, (node.passed ? 70 : 30) * size)}%`;
    const state = make("span", { class: "state" }, first);
    return [twist, term, make("span", { class: "bar", "aria-hidden": "true" }, fill),
      make("span", { class: "figures" }, state, ` ${second}`)];
  }

  function item(node, level) {
    const attributes = { role: "treeitem", "aria-level": level, tabindex: -1, "aria-label": spoken(node) };
    if (leads(node)) attributes["aria-expanded"] = "false";
    node.element = make("li", { ...attributes, class: `is-${node.kind}` }, make("div", { class: "row" }, ...row(node)));
    node.element.node = node;
    return node.element;
  }

  function list(node, group, level, from) {
    const children = childrenOf(node), until = Math.min(children.length, from + SOME);
    for (const child of children.slice(from, until)) group.append(item(child, level));
    const left = children.length - until;
    if (left) {
      const text = `show ${whole(Math.min(SOME, left))} more of ${whole(left)}`;
      const attributes = { class: "note", role: "treeitem", "aria-level": level, tabindex: -1, "aria-label": text };
      const more = make("li", attributes, make("button", { type: "button", tabindex: -1 }, text));
      more.more = () => {
        more.remove();
        list(node, group, level, until);
        return children[until].element;
      };
      group.append(more);
    } else if (node.below >= 0) {
      const died = dying(node) ? "the others that died were further away" : "all others died, far away";
      const lived = leftOut(node) ? `; ${whole(leftOut(node))} more lived and are left out of this page` : "";
      group.append(make("li", { class: "note", role: "none" }, `${died}${lived}.`));
    }
  }

  function open(element) {
    if (element.getAttribute("aria-expanded") !== "false") return;
    element.setAttribute("aria-expanded", "true");
    const group = element.querySelector(":scope > ul") || make("ul", { role: "group" });
    group.hidden = false;
    if (group.isConnected) return;
    list(element.node, group, Number(element.getAttribute("aria-level")) + 1, 0);
    element.append(group);
  }
  function close(element) {
    if (element.getAttribute("aria-expanded") !== "true") return;
    element.setAttribute("aria-expanded", "false");
    element.querySelector(":scope > ul").hidden = true;
  }
  function turn(element) {
    if (element.getAttribute("aria-expanded") === "true") close(element);
    else open(element);
  }

  let current = null;
  function focus(element, { move = true, lift = false } = {}) {
    if (current) current.tabIndex = -1;
    current = element;
    element.tabIndex = 0;
    if (move) element.focus({ preventScroll: true });
    const line = element.firstElementChild.getBoundingClientRect(), box = tree.getBoundingClientRect();
    if (lift) tree.scrollTop += line.top - box.top - box.height / 4;
    else if (line.top < box.top) tree.scrollTop += line.top - box.top - 8;
    else if (line.bottom > box.bottom) tree.scrollTop += line.bottom - box.bottom + 8;
    const { node } = element;
    if (!node) return;
    draw(node);
    facts.textContent = node.at ? `${spoken(node)}; ${details(node)}.` : `${spoken(node)}.`;
  }

  // Bring a node into the tree, whatever is closed or not yet listed above it, and look at it.
  function go(node, options = {}) {
    for (const step of path(node)) {
      while (!step.element) [...step.parent.element.lastElementChild.children].find((each) => each.more).more();
      if (leads(step)) open(step.element);
    }
    focus(node.element, { lift: true, ...options });
  }

  // The picture: columns of ever longer prefixes.

  function draw(node) {
    while (!leads(node)) node = node.parent;
    const width = Math.max(280, icicle.clientWidth), column = width / COLUMNS, fits = Math.floor((column - 8) / 7);
    const picture = drawn("svg", { viewBox: `0 0 ${width} ${HEIGHT}` });

    function piece(each, place, top, height) {
      const kind = each.kind === "stem" && !living(each) ? "barren" : each.kind, x = place * column;
      const size = { width: column - 1, height: Math.max(0.2, height - (height > 4 ? 1 : 0.3)) };
      const title = drawn("title", {}, each.at ? `${spoken(each)} (${details(each)})` : spoken(each));
      const box = drawn("rect", { x, y: top, ...size, class: kind }, title);
      if (kind !== "rest") box.addEventListener("click", () => go(each));
      picture.append(box);
      if (height < LABELLED) return;
      const text = symbols(each.label || visible(each.text));
      const cut = text.length > fits ? `…${text.slice(1 - fits).join("")}` : text.join("");
      picture.append(drawn("text", { x: x + 4, y: top + Math.min(height / 2, 14) + 4, class: kind }, cut));
    }

    function fill(each, place, top, height) {
      piece(each, place, top, height);
      if (place + 1 === COLUMNS || !leads(each)) return;
      const children = childrenOf(each), total = children.reduce((sum, child) => sum + weight(child), 0);
      let from = top, small = 0;
      for (const child of children) {
        const tall = height * weight(child) / total;
        if (tall < SMALLEST) {
          small++;
        } else {
          fill(child, place + 1, from, tall);
          from += tall;
        }
      }
      if (small) piece({ kind: "rest", label: `${whole(small)} smaller` }, place + 1, from, top + height - from);
    }

    fill(node, 0, 0, HEIGHT);
    icicle.replaceChildren(picture);
    crumbs.replaceChildren(...path(node).flatMap((each, place) => {
      const step = make("button", { type: "button" }, each.label || visible(each.text));
      step.addEventListener("click", () => go(each));
      return place ? [" › ", step] : [step];
    }));
  }

  // What readers do.

  document.getElementById("search").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = query.value.normalize("NFC").trim();
    if (!text) return;
    const node = find(text), shown = `“${visible(text)}”`, end = `“${visible(node.text)}”`;
    if (node.text === text) status.textContent = `${spoken(node)}.`;
    else if (node.kind === "root") status.textContent = `Nothing beginning with ${shown} is shown.`;
    else if (node.kind === "died") status.textContent = `${shown} is not here: the way to it ends at ${end}, which died.`;
    else status.textContent =
      `${shown} is not here: the way to it ends at ${end}, and what it went on with died or is left out of this page.`;
    go(node);
  });

  tree.addEventListener("click", (event) => {
    const element = event.target.closest("li[role=treeitem]");
    if (!element) return;
    if (element.more) {
      focus(element.more());
    } else {
      turn(element);
      focus(element);
    }
  });

  tree.addEventListener("keydown", (event) => {
    const element = event.target.closest("li[role=treeitem]");
    if (!element || event.altKey || event.ctrlKey || event.metaKey) return;
    const items = [...tree.querySelectorAll("li[role=treeitem]")]
      .filter((each) => !each.parentElement.closest("[hidden]"));
    const place = items.indexOf(element), expanded = element.getAttribute("aria-expanded");
    const above = element.parentElement.closest("li");
    const act = (change) => { change(element); return element; };
    const keys = {
      ArrowDown: () => items[place + 1],
      ArrowUp: () => items[place - 1],
      Home: () => items[0],
      End: () => items.at(-1),
      ArrowRight: () => (expanded === "false" ? act(open) : expanded && items[place + 1]),
      ArrowLeft: () => (expanded === "true" ? act(close) : above),
      Enter: () => (element.more ? element.more() : act(turn)),
      " ": () => (element.more ? element.more() : act(turn)),
    };
    if (!(event.key in keys)) return;
    event.preventDefault();
    const next = keys[event.key]();
    if (next) focus(next);
  });

  document.getElementById("outline").hidden = true;
  explorer.hidden = false;
  tree.append(item(root, 1));
  // The first character with the most to see is open to begin with.
  go(tops[0].children.reduce((best, each) => (weight(each) > weight(best) ? each : best)), { move: false });
  addEventListener("resize", () => current.node && draw(current.node));
})();
