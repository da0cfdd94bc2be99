export function whyNotInstalled(
  output: string,
  where: { readonly folder: string; readonly registry: string },
): string | undefined

export function wrongClock(now: number): string | undefined

export function diskFull(
  folder: string,
  freeBytes: number,
  when: 'before' | 'after',
): string | undefined
