// Loaded before the program (`NODE_OPTIONS=--import`): its clock is as many milliseconds ahead as the file CLOCK_SHIFT_FILE says, and jumps when that changes.
// Timers go on as they do when somebody sets the clock of a machine: they count by the monotonic clock.
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
      // Being written at this moment: as before.
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
