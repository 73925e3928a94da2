// @ts-check
// What the service tells a page while it is open.

/**
 * Hear events by their names; each is told when it is another than the last.
 * @param {string} address
 * @param {Record<string, (text: string) => void>} hears
 */
export function listen(address, hears) {
  const source = new EventSource(address);
  const last = new Map();
  for (const [name, hear] of Object.entries(hears))
    source.addEventListener(name, (event) => {
      const text = JSON.parse(event.data);
      if (last.get(name) === text) return;
      last.set(name, text);
      hear(text);
    });
  // A stream that ends is asked for again by the browser; one that is refused is over, with the session.
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) location.reload();
  });
  addEventListener("pagehide", () => source.close());
}

/**
 * Put a piece of a page, as the service has rendered it, in the place of what an element holds.
 * @param {string} id
 * @param {string} html
 */
export function replace(id, html) {
  const place = /** @type {HTMLElement} */ (document.getElementById(id));
  const focused = place.contains(document.activeElement);
  place.replaceChildren(...new DOMParser().parseFromString(html, "text/html").body.childNodes);
  if (focused) /** @type {HTMLElement | null} */ (place.querySelector("[tabindex]"))?.focus();
}
