/** The day in UTC, as `2026-11-27`. @param ms since 1970 */
export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** The start of the step that contains this time. */
export const floor = (ms: number, step: number): number => Math.floor(ms / step) * step
