/**
 * Each tone has its own shape, readable without colour: disc, ring, half disc, triangle, square,
 * diamond, dash. Only what needs attention in time has the diamond.
 */
export type Tone = 'ok' | 'idle' | 'busy' | 'warn' | 'danger' | 'attention' | 'off'
