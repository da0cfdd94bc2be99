/** Who waits to be dialled is looked after in parts, each by one process at a time, so that one that hangs delays few others. */
export const joinQueue = 'join'
export const shards = 8

/** By the first digit of a random UUID. */
export const shardOf = (arrivalId: string): number => Number.parseInt(arrivalId[0]!, 16) % shards
