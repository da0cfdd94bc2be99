export function hashOfConsole(environment: Readonly<Record<string, string | undefined>>): string

/** Changes with the sources of the bundled program. */
export function hashOfProgram(): string
