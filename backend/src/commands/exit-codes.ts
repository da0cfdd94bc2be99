/** What the program's own commands end with: the same numbers as the command line's (docs/cli.md). */
export const exitCodes = { ok: 0, failure: 1, usage: 2, conflict: 6, unreachable: 7 } as const
