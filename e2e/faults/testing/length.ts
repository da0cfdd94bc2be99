/** Whether the fault tests run in full, as `npm run faults` does: kills before and after every effect, and at more random times. `npm test` runs fewer to save time. */
export const isAtLength = process.env['FAULTS'] === 'at-length'
