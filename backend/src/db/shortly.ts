/**
 * Work outside the database for which a transaction waits. Others wait for its rows and its
 * connection meanwhile, so it waits shortly: if the work takes longer, the transaction is rolled
 * back, and it begins again when the work is done.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Db, Tx } from './db.ts'

/** How long a transaction waits for such work, in ms. */
const shortMs = 100
/**
 * How often a transaction begins again for such work. Then it waits as long as the work takes, so
 * that it ends.
 */
const mostAgain = 10

/** Ends a transaction that begins again when the work is done. */
class TakesLong extends Error {
  constructor() {
    super('The transaction begins again when the work that it waits for is done')
  }
}

/** The work of one transaction, with what was done when it last began. */
export class OutsideWork {
  readonly #asked: { readonly question: unknown; readonly answer: Promise<unknown> }[] = []
  #long: Promise<unknown> | undefined
  #again = 0

  /** The answer to a question, for which `work` is called once. */
  answer<T>(question: unknown, work: () => Promise<T>): Promise<T> {
    const known = this.#asked.find((asked) => isDeepStrictEqual(asked.question, question))
    const answer = (known?.answer ?? work()) as Promise<T>
    if (!known) this.#asked.push({ question, answer })
    return this.#again === mostAgain ? answer : this.#shortly(answer)
  }

  async #shortly<T>(answer: Promise<T>): Promise<T> {
    const { promise: tooLong, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      this.#long = answer
      reject(new TakesLong())
    }, shortMs)
    try {
      return await Promise.race([answer, tooLong])
    } finally {
      clearTimeout(timer)
    }
  }

  /** @throws TakesLong although the change has caught it */
  demandDone(): void {
    if (this.#long) throw new TakesLong()
  }

  /** Whether the transaction failed because work took long. Waits until that is done. */
  async wasLong(): Promise<boolean> {
    if (!this.#long) return false
    await this.#long.catch(() => undefined)
    this.#long = undefined
    this.#again++
    return true
  }
}

const works = new WeakMap<Db | Tx, OutsideWork>()

/** Notes the work of a transaction that begins. */
export const beginWork = (tx: Tx, work: OutsideWork): void => void works.set(tx, work)

/**
 * Does `work`, for which a transaction waits shortly. Without a transaction it is just done.
 * @param question tells what the work is: equal questions have equal answers
 */
export const shortly = <T>(on: Db | Tx, question: unknown, work: () => Promise<T>): Promise<T> =>
  works.get(on)?.answer(question, work) ?? work()
