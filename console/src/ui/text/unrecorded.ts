/** On an element whose inside must be in no recording of a session that hit an error, not even masked: configurations, commands, keys (`api/report-sentry.ts`). */
export const unrecorded = { 'data-unrecorded': '' } as const
