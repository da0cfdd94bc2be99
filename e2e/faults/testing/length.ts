/** Whether the fault tests run in full: kills before and after every effect, and at more random times. `npm run faults` sets this; `npm test` doesn't. */
export const isAtLength = process.env['FAULTS'] === 'at-length'
