export function holdAlone(file: string, waits: () => void): Promise<() => void>
