/** For each rule: patches that violate it, and one that doesn't. */
export type Cases = Readonly<
  Record<string, { bad: readonly string[]; good: readonly string[]; on?: 'worker' }>
>
