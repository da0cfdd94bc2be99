/** Whether the fault tests run in full, as by `npm run faults`: every effect point, more kills, more moments. `npm test` has 17 minutes for everything. */
export const isAtLength = process.env['FAULTS'] === 'at-length'
