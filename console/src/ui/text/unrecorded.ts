/** Excludes an element from session replays, even masked: configurations, commands, keys (`api/report-sentry.ts`). */
export const unrecorded = { 'data-unrecorded': '' } as const
