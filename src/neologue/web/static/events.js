// @ts-check
// Events that the service sends to an open page.

/**
 * Call a handler for each event by its name, if its data differs from the last.
 * @param {string} address
 * @param {Record<string, (text: string) => void>} handlers
 */
export function listen(address, handlers) {
  const source = new EventSource(address);
  const last = new Map();
  for (const [name, handle] of Object.entries(handlers))
    source.addEventListener(name, (event) => {
      const text = JSON.parse(event.data);
      if (last.get(name) === text) return;
      last.set(name, text);
      handle(text);
    });
  // The browser reopens a stream that ends; one that is refused means that the session is over.
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) location.reload();
  });
  addEventListener("pagehide", () => source.close());
}

/**
 * Replace the content of an element by HTML that the service has rendered.
 * @param {string} id
 * @param {string} html
 */
export function replace(id, html) {
  const element = /** @type {HTMLElement} */ (document.getElementById(id));
  const focused = element.contains(document.activeElement);
  element.replaceChildren(...new DOMParser().parseFromString(html, "text/html").body.childNodes);
  if (focused) /** @type {HTMLElement | null} */ (element.querySelector("[tabindex]"))?.focus();
}
