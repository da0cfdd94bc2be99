/** The number that was typed; NaN for any other text, which the schemas refuse with their sentence. */
export const wholeOf = (text: string): number =>
  /^\d{1,9}$/.test(text.trim()) ? Number(text.trim()) : NaN
