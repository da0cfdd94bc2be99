/**
 * Excludes an element from session replays, for configurations, commands and keys. Not even the
 * masked text is recorded (`api/report-sentry.ts`).
 */
export const unrecorded = { 'data-unrecorded': '' } as const
