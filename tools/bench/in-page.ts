/**
 * A script that runs in the page before the page's own scripts. A string, because this script can't
 * import modules.
 */
export const inPage = String.raw`
const frame = () => new Promise((resolve) => requestAnimationFrame(() => resolve(performance.now())))
// This task runs after the frame that is being made.
const afterFrame = () => new Promise((resolve) => {
  const channel = new MessageChannel()
  channel.port1.onmessage = () => resolve(performance.now())
  channel.port2.postMessage(null)
})
// Looks at the end of a frame's scripts, so that the frame in which the element is found is the one
// that paints the element.
const appears = async (selector) => {
  do await frame()
  while (!document.querySelector(selector))
  return afterFrame()
}
const bench = {
  firstRow: appears('tbody tr[data-row]'),
  /** Resolves after ten frames in a row that were on time and changed nothing. */
  async rests() {
    let changed = false
    const changes = new MutationObserver(() => (changed = true))
    changes.observe(document.body, { childList: true, subtree: true, attributes: true })
    for (let calm = 0, last = await frame(); calm < 10; ) {
      const now = await frame()
      calm = changed || now - last > 34 ? 0 : calm + 1
      changed = false
      last = now
    }
    changes.disconnect()
  },
  /**
   * Scrolls the list down and up at an even speed, by script in every frame, so that each frame
   * needs the page's own thread.
   */
  async scroll(pxPerSecond, ms) {
    const box = document.querySelector('[data-tablescroll]')
    const rows = box.getElementsByTagName('tbody')[0]
    const head = box.querySelector('thead').offsetHeight
    const { top, bottom } = box.getBoundingClientRect()
    const most = box.scrollHeight - box.clientHeight
    const began = performance.now()
    let frames = 0
    let blank = 0
    for (let now = began; now - began < ms; frames++) {
      const way = ((now - began) / 1000 * pxPerSecond) % (2 * most)
      box.scrollTop = way < most ? way : 2 * most - way
      now = await frame()
      // Not a list of all rows: looking at a thousand in every frame would be measured, too.
      const first = rows.querySelector(':scope > [data-row]')
      let last = rows.lastElementChild
      while (!last.hasAttribute('data-row')) last = last.previousElementSibling
      if (first.getBoundingClientRect().top > top + head + 1 || last.getBoundingClientRect().bottom < bottom - 1) blank++
    }
    return { fps: frames / ((performance.now() - began) / 1000), blank: (100 * blank) / frames }
  },
  /**
   * Measures from the next input of this type until the element is painted, in ms; \`opened\` has
   * the result.
   */
  expect(type, selector) {
    bench.opened = new Promise((resolve) => addEventListener(type, async ({ timeStamp }) => resolve(await appears(selector) - timeStamp), { capture: true, once: true }))
  },
  keystroke: 0,
}
// From the key to the next paint, rounded to 8 ms by the browser (Event Timing).
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (entry.name.startsWith('key')) bench.keystroke = Math.max(bench.keystroke, entry.duration)
}).observe({ type: 'event', durationThreshold: 16 })
globalThis.bench = bench
`
