import { randomBytes } from 'node:crypto'
import type { Account } from './kept.ts'
import { Refusal } from './refusal.ts'

/** Sessions that a BMC holds at the same time. Makers have between 8 and 16. */
export const MOST_SESSIONS = 8

export interface Session {
  readonly id: string
  readonly token: string
  readonly accountId: string
  readonly userName: string
  readonly from: string
  /** Wall-clock times in ms. */
  readonly createdAt: number
  usedAt: number
}

/** The sessions of a BMC. They end with the BMC, as those of real ones do. */
export class Sessions {
  readonly #now: () => number
  readonly #timeoutMs: () => number
  readonly #byId = new Map<string, Session>()
  #next = 1
  /** How many were open at the same time at most. */
  most = 0

  constructor(now: () => number, timeoutMs: () => number) {
    this.#now = now
    this.#timeoutMs = timeoutMs
  }

  get all(): readonly Session[] {
    this.#expire()
    return [...this.#byId.values()]
  }

  /** Opens a session. Throws `Refusal` if all are taken. */
  open(account: Account, from: string): Session {
    this.#expire()
    if (this.#byId.size >= MOST_SESSIONS)
      throw new Refusal('SessionLimitExceeded', [], { headers: { 'Retry-After': '60' } })
    const now = this.#now()
    const session: Session = {
      id: String(this.#next++),
      token: randomBytes(20).toString('hex'),
      accountId: account.id,
      userName: account.userName,
      from,
      createdAt: now,
      usedAt: now,
    }
    this.#byId.set(session.id, session)
    this.most = Math.max(this.most, this.#byId.size)
    return session
  }

  /** The session with this token, which counts as used now. */
  withToken(token: string): Session | undefined {
    const found = this.all.find((session) => session.token === token)
    if (found) found.usedAt = this.#now()
    return found
  }

  end(id: string): void {
    this.#byId.delete(id)
  }

  endOf(accountId: string): void {
    for (const session of this.#byId.values())
      if (session.accountId === accountId) this.#byId.delete(session.id)
  }

  clear(): void {
    this.#byId.clear()
  }

  #expire(): void {
    const oldest = this.#now() - this.#timeoutMs()
    for (const { id, usedAt } of this.#byId.values()) if (usedAt < oldest) this.#byId.delete(id)
  }
}
