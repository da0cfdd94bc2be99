/** Arrivals are split into shards, each worked on by one process at a time, so that a hanging machine delays few others. */
export const joinQueue = 'join'
export const shards = 8

/** By the first digit of a random UUID. */
export const shardOf = (arrivalId: string): number => Number.parseInt(arrivalId[0]!, 16) % shards
