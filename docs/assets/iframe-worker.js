// The search of the site runs in a worker, and browsers give none to a page that was opened from a file.
// There, a hidden frame runs the worker's script instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(script) {
      super()
      this.frame = document.body.appendChild(document.createElement("iframe"))
      this.frame.hidden = true
      const inside = this.frame.contentWindow
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.ready = new Promise(resolve => {
        const element = inside.document.createElement("script")
        element.src = script
        element.onload = resolve
        inside.document.body.append(element)
      })
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
