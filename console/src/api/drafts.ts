/**
 * What was typed and not yet sent, kept in IndexedDB under the user's id: it outlasts a reload and an ended session. An explicit Log out deletes it.
 * Where the browser has no IndexedDB (a private window of some), drafts are not kept and nothing else fails.
 */
const database = 'steelyard'
const store = 'drafts'

/** How long typing pauses, in ms, before it is kept. A form that goes away keeps what it has at once. */
export const keepAfterMs = 250

/** Whose drafts were deleted: a form of theirs that goes away after that must not bring one back. */
let forgotten: string | null = null

let opened: Promise<IDBDatabase> | undefined

/**
 * One connection, opened anew once it has ended: the browser ends it from its side when the site's storage is cleared, which the answer to a Log out
 * asks for (Clear-Site-Data), and a page of a newer version waits for it to be closed.
 */
function open(): Promise<IDBDatabase> {
  opened ??= new Promise<IDBDatabase>((resolve, reject) => {
    const request = indexedDB.open(database, 1)
    request.addEventListener('upgradeneeded', () => request.result.createObjectStore(store))
    request.addEventListener('success', () => {
      const db = request.result
      db.addEventListener('close', forgetConnection)
      db.addEventListener('versionchange', () => {
        db.close()
        forgetConnection()
      })
      resolve(db)
    })
    request.addEventListener('error', () => reject(request.error ?? new Error('IndexedDB can not be opened')))
  }).catch((error: unknown) => {
    forgetConnection()
    throw error
  })
  return opened
}

function forgetConnection(): void {
  opened = undefined
}

async function run<T>(mode: IDBTransactionMode, what: (drafts: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const db = await open()
  return new Promise<T>((resolve, reject) => {
    const transaction = db.transaction(store, mode)
    const request = what(transaction.objectStore(store))
    transaction.addEventListener('complete', () => resolve(request.result))
    transaction.addEventListener('abort', () => reject(transaction.error ?? new Error('IndexedDB refused')))
  })
}

/** Tried a second time on a new connection: not every browser says that one was ended, and the next use of it fails then. */
async function ask<T>(mode: IDBTransactionMode, what: (drafts: IDBObjectStore) => IDBRequest<T>): Promise<T | undefined> {
  try {
    return await run(mode, what)
  } catch {
    forgetConnection()
  }
  try {
    return await run(mode, what)
  } catch {
    return undefined
  }
}

export interface Draft<T> {
  value: T
  /** Milliseconds since the epoch. */
  savedAt: number
}

/** `name` says what it is a draft of: "patch/{server}/{patch}". What comes back was written by an older page perhaps: check it. */
export function readDraft(userId: string, name: string): Promise<Draft<unknown> | undefined> {
  // A form that begins belongs to somebody who has signed in again.
  if (forgotten === userId) forgotten = null
  return ask('readonly', (drafts) => drafts.get([userId, name]) as IDBRequest<Draft<unknown> | undefined>)
}

export async function writeDraft(userId: string, name: string, value: unknown): Promise<void> {
  if (forgotten === userId) return
  await ask('readwrite', (drafts) => drafts.put({ value, savedAt: Date.now() } satisfies Draft<unknown>, [userId, name]))
}

export const removeDraft = (userId: string, name: string): Promise<unknown> => ask('readwrite', (drafts) => drafts.delete([userId, name]))

/** Everything of one user, at Log out. */
export function removeDrafts(userId: string): Promise<unknown> {
  forgotten = userId
  return ask('readwrite', (drafts) => drafts.delete(IDBKeyRange.bound([userId], [userId, []])))
}
