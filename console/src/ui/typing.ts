/** After each change of a field the user counts as typing for this long, in ms. */
const typingMs = 250
let typedAt = -typingMs
// There is no document in tests of pure functions.
globalThis.document?.addEventListener('input', () => (typedAt = performance.now()), {
  capture: true,
  passive: true,
})

/**
 * Milliseconds until work that would delay the next letter may run; 0 or less while the user
 * doesn't type.
 */
export const typingEndsInMs = (): number => typedAt + typingMs - performance.now()
