/**
 * `peer_silent`: another side gave no usable answer, and may give one later. `peer_refused`: it has
 * answered that it refuses. `refused`: no other side is concerned.
 */
export type Meaning = 'peer_silent' | 'peer_refused' | 'refused'

export interface ToldOptions extends ErrorOptions {
  readonly meaning?: Meaning
}

/**
 * An error whose message is a sentence for people. Messages of all other errors may contain
 * anything, and are shown to nobody.
 */
export class Told extends Error {
  readonly meaning: Meaning

  constructor(message: string, { meaning = 'refused', ...options }: ToldOptions = {}) {
    super(message, options)
    this.meaning = meaning
  }
}
