// Loaded before the program (`NODE_OPTIONS=--import`). Shifts the program's clock by the
// milliseconds in the file CLOCK_SHIFT_FILE; the clock jumps when the file changes. Timers use the
// monotonic clock, so they don't jump. The same is true on a real machine whose clock is set.
import { readFileSync } from 'node:fs'

const file = process.env.CLOCK_SHIFT_FILE
const Real = Date
let shiftMs = 0
let readAt = -Infinity
function shift() {
  if (performance.now() - readAt > 100) {
    readAt = performance.now()
    try {
      shiftMs = Number(readFileSync(file, 'utf8'))
    } catch {
      // The file is being written: keep the last value.
    }
  }
  return shiftMs
}
globalThis.Date = class Date extends Real {
  constructor(...args) {
    if (args.length === 0) super(Real.now() + shift())
    else super(...args)
  }
  static now() {
    return Real.now() + shift()
  }
}
