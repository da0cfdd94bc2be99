/** Whether the fault tests run at length, as `npm run faults` has them: every effect point, more kills, more moments. `npm test` has 17 minutes for everything. */
export const isAtLength = process.env['FAULTS'] === 'at-length'
