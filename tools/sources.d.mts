export function hashOfConsole(environment: Readonly<Record<string, string | undefined>>): string
