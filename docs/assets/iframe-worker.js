// Browsers start no workers for pages opened from disk (file://). There the search runs in a hidden frame instead,
// behind the part of the interface of a Worker that the theme uses.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const inside = (this.inside = frame.contentWindow)
      const page = inside.document
      page.open()
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      inside.importScripts = (...urls) => urls.reduce((before, one) => before.then(() => load(page, one)), Promise.resolve())
      page.write("<html><body></body></html>")
      page.close()
      this.loaded = load(page, url)
    }

    postMessage(data) {
      this.loaded.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
  }

  function load(page, url) {
    return new Promise((done, fail) => {
      const script = page.createElement("script")
      script.src = url
      script.onload = done
      script.onerror = fail
      page.body.append(script)
    })
  }
}
